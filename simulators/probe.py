"""A simulator in a fresh process: which files its fingerprint reads, and which its runs need.

``python -m simulators.probe`` reads a ``ProbeTask`` from its input and prints a ``Probed``, both as
JSON. Files are seen by Python's own audit of what is opened, so nothing is asked of the simulator.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simulators.base import MissingEngineError, SimulatorError, validate_call
from simulators.json_schema import text_of
from simulators.registry import load, no_package

HOUSE = "simulators"


@dataclass(frozen=True)
class ProbeTask:
    """A simulator, and calls by tool that it accepts."""

    name: str
    settings: dict[str, Any]
    calls: dict[str, list[dict[str, Any]]]


@dataclass
class Probed:
    """``hashed``: files that fingerprint() read; ``missed``: files of the simulator's own package
    that its runs loaded or opened and fingerprint() did not read; ``outputs`` by tool and call;
    ``script``: the simulator's one file, where it is in no package."""

    fingerprint: str = ""
    hashed: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    script: str = ""
    error: str = ""


class Opened:
    """Files that this process opens."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            self.paths.add(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())

    def take(self) -> set[Path]:
        """Take those since the last time, as real paths."""
        taken, self.paths = self.paths, set()
        return {Path(path).resolve() for path in taken}


def probe(task: ProbeTask) -> Probed:
    """Try the task and tell what was seen. Raises SimulatorError."""
    opened = Opened()
    simulator = load(task.name, task.settings)
    opened.take()
    seen = Probed(fingerprint=simulator.fingerprint())
    hashed = opened.take()
    for tool, calls in task.calls.items():
        for call in calls:
            arguments = validate_call(simulator, tool, call)
            outputs = simulator.run(tool, arguments, 0)
            seen.outputs[f"{tool} {json.dumps(call)}"] = text_of(outputs)
    root = package_root(type(simulator).__module__)
    own = {path for path in opened.take() | _loaded() if _belongs(path, root)}
    seen.hashed = sorted(map(str, hashed))
    seen.missed = sorted(_short(path, root) for path in own - hashed)
    seen.script = root.name if root.is_file() else ""
    return seen


def package_root(module: str) -> Path:
    """Find the folder of the package that a simulator's class belongs to, or its one file.

    Raises MissingEngineError for a folder without an ``__init__.py``.
    """
    parts = module.split(".")
    top = sys.modules[".".join(parts[: 2 if parts[0] == HOUSE else 1])]
    if why := no_package(module):
        raise MissingEngineError(why)
    file = Path(str(top.__file__)).resolve()
    return file.parent if hasattr(top, "__path__") else file


def _loaded() -> set[Path]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {Path(file).resolve() for file in files if file}


def _belongs(path: Path, root: Path) -> bool:
    if "__pycache__" in path.parts or not path.is_file():
        return False
    return path == root or root in path.parents


def _short(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root else path.name


def main() -> int:
    """Run the command line; 1 where the simulator refuses or fails."""
    try:
        print(json.dumps(asdict(probe(ProbeTask(**json.load(sys.stdin))))))
    except SimulatorError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
