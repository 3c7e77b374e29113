"""SUMO's programs: where they are, which version, one process with its limits, a network of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from simulators.base import MissingEngineError, RunError, engine_version, files_fingerprint

INSTALL = "install it with 'pip install eclipse-sumo', or point SUMO_HOME at an installation"
NETWORK_FILE = "network.net.xml"
RUN_LOG_VARIABLE = "SIMULRAG_URBAN_RUN_LOG"


def program(name: str) -> Path:
    """Find ``sumo`` or ``netconvert``: from SUMO_HOME, else the Python package, else PATH."""
    home = os.environ.get("SUMO_HOME")
    if home:
        path = Path(home) / "bin" / name
        if not path.is_file():
            raise MissingEngineError(f"SUMO_HOME is {home}, which has no bin/{name}: {INSTALL}")
        return path
    packaged = _packaged(name)
    if packaged is not None:
        return packaged
    on_path = shutil.which(name)
    if on_path is None:
        raise MissingEngineError(f"SUMO's program '{name}' is not on this machine: {INSTALL}")
    return Path(on_path)


def _packaged(name: str) -> Path | None:
    """Find where the Python package has this program, if it is installed."""
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
    """Return the first line of ``sumo --version``."""
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
    """Return the last line that starts with Error, else the last line."""
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


def converted(
    plain: dict[str, str], options: list[str], *, cache_dir: Path, timeout_s: float
) -> Path:
    """Run netconvert on these files and options, or take its network from the cache.

    The folder is named by the content and moved into place whole, so two processes that build the
    same network at once both end with a complete one.
    """
    key = hashlib.sha256(
        "\0".join([version(), *options, *(f"{k}\0{plain[k]}" for k in sorted(plain))]).encode()
    ).hexdigest()[:32]
    folder = cache_dir / key
    if (folder / NETWORK_FILE).is_file():
        return folder / NETWORK_FILE
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=cache_dir))
    except OSError as error:
        raise RunError(
            f"the network cache {cache_dir} cannot be written ({error}): set cache_dir of the "
            "urban simulator to a folder that can"
        ) from None
    try:
        for name, text in plain.items():
            (work / name).write_text(text, encoding="utf-8")
        files = [_in_folder(option, work, plain) for option in options]
        command = [str(program("netconvert")), *files, f"--output-file={work / NETWORK_FILE}"]
        call(command, timeout_s=timeout_s, what="netconvert")
        if not (work / NETWORK_FILE).is_file():
            raise RunError("netconvert ended without writing a network")
        try:
            work.rename(folder)
        except OSError:  # another process was first; a folder in place is always complete
            if not (folder / NETWORK_FILE).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder / NETWORK_FILE


def _in_folder(option: str, folder: Path, plain: dict[str, str]) -> str:
    name, _, value = option.partition("=")
    return f"{name}={folder / value}" if value in plain else option
