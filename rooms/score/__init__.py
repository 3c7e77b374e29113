"""The measures of SCORE (arXiv 2602.10017): answers scored without a reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import PartOfReport, hookimpl

if TYPE_CHECKING:
    import typer

    from rooms.score.settings import ScoreParams


@hookimpl
def stage_modules() -> Mapping[str, str]:
    """Name the modules of its stages."""
    return {"score": "rooms.score.stage"}


@hookimpl
def params_section() -> tuple[str, type[ScoreParams]]:
    """Return the section ``score`` of params.yaml."""
    from rooms.score.settings import ScoreParams

    return "score", ScoreParams


@hookimpl
def prompt_folder(folder: Path) -> Path:
    """Return its folder beside the project's."""
    return folder / "score"


@hookimpl
def report_part() -> PartOfReport:
    """Return its section with what that reads."""
    from rooms.score.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def register_commands(app: typer.Typer) -> None:
    """Add ``simulrag score``, ``profiles``, ``label rate`` and ``label ratings``."""
    from rooms.score.commands import register

    register(app)
