"""SUMO's programs: where they are, which version, and one process with a timeout and a log."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from simulators.base import MissingEngineError, RunError, engine_version, files_fingerprint

INSTALL = "install it with 'pip install eclipse-sumo', or point SUMO_HOME at an installation"
RUN_LOG_VARIABLE = "SIMULRAG_URBAN_RUN_LOG"


def program(name: str) -> Path:
    """Path of ``sumo`` or ``netconvert``: from SUMO_HOME, else the Python package, else PATH."""
    home = os.environ.get("SUMO_HOME")
    if home:
        path = Path(home) / "bin" / name
        if not path.is_file():
            raise MissingEngineError(f"SUMO_HOME is {home}, which has no bin/{name}: {INSTALL}")
        return path
    packaged = _packaged(name)
    if packaged is not None:
        return packaged
    found = shutil.which(name)
    if found is None:
        raise MissingEngineError(f"SUMO's program '{name}' is not on this machine: {INSTALL}")
    return Path(found)


def _packaged(name: str) -> Path | None:
    """Where the Python package has this program, if it is installed."""
    spec = find_spec("sumo")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "bin" / name
    return path if path.is_file() else None


def identity() -> str:
    """What tells one SUMO from another, without starting it: of the Python package its version,
    of any other installation the hash of the program."""
    sumo = program("sumo")
    if sumo == _packaged("sumo"):
        return engine_version("eclipse-sumo")
    status = sumo.stat()
    return _hash(sumo, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _hash(sumo: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001 a new file, a new hash
    return files_fingerprint([sumo])


def version() -> str:
    """First line of ``sumo --version``."""
    return _version(program("sumo"))


@lru_cache(maxsize=8)
def _version(sumo: Path) -> str:
    done = call([str(sumo), "--version"], timeout_s=60, what="sumo --version")
    return done.stdout.strip().splitlines()[0]


def call(
    command: Sequence[str], *, timeout_s: float, what: str
) -> subprocess.CompletedProcess[str]:
    """Run one of SUMO's programs; a RunError carries the program's own last error line."""
    home = Path(command[0]).resolve().parent.parent
    environment = {"SUMO_HOME": str(home), **os.environ}
    try:
        done = subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunError(
            f"{what} ran longer than {timeout_s:g} s and was stopped: raise timeout_s of the urban "
            "simulator, or ask for less traffic"
        ) from None
    except OSError as error:
        raise MissingEngineError(f"{command[0]} does not start ({error}): {INSTALL}") from None
    if done.returncode != 0:
        raise RunError(f"{what} failed (exit {done.returncode}): {last_error(done.stderr)}")
    return done


def last_error(text: str) -> str:
    """The last line that starts with Error, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("Error")]
    return (errors or lines or ["it said nothing"])[-1]


def log_run(run_log: Path | None, entry: Mapping[str, object]) -> None:
    """Append one JSON line for one SUMO process; a single O_APPEND write, so lines never mix."""
    target = run_log or (Path(p) if (p := os.environ.get(RUN_LOG_VARIABLE)) else None)
    if target is None:
        return
    line = (json.dumps(entry, sort_keys=True) + "\n").encode()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(f"the run log {target} cannot be written ({error})") from None
    try:
        os.write(handle, line)
    finally:
        os.close(handle)
