"""The reservoir that `simulrag simulators new` writes, in a folder of the import path."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def source(*changes: tuple[str, str]) -> str:
    """Its code with changes; each must find its place."""
    code = (ROOT / "simulators" / "starter" / "simulator.py").read_text(encoding="utf-8")
    code = code.replace("Starter", "Reservoir").replace('"starter"', '"reservoir"')
    for old, new in changes:
        assert old in code, old
        code = code.replace(old, new)
    return code


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, **files: str) -> None:
    """A package ``own_plugin`` with the code and more files, registered as ``reservoir``."""
    package, information = folder / "own_plugin", folder / "own-0.1.dist-info"
    package.mkdir()
    information.mkdir()
    (package / "__init__.py").write_text(code)
    for name, text in files.items():
        (package / name.replace("_py", ".py")).write_text(text)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 0.1\n")
    (information / "entry_points.txt").write_text(
        "[simulrag.simulators]\nreservoir = own_plugin:Reservoir\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT}")
    monkeypatch.delitem(__import__("sys").modules, "own_plugin", raising=False)
