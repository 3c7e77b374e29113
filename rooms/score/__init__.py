"""The measures of SCORE (arXiv 2602.10017): answers scored without a reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import Listing, PartOfReport, hookimpl

if TYPE_CHECKING:
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
    """Return its folder of prompts, within the project's."""
    return folder / "score"


@hookimpl
def report_part() -> PartOfReport:
    """Return its section of the report, and what that reads."""
    from rooms.score.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def listed_commands() -> Listing:
    """List ``simulrag score``, ``label rate`` and ``label ratings``."""
    return {
        ("Look", "rooms.score.commands"): {
            "score": "Score answers without a reference: specificity, relevance, use of evidence, "
            "readability.",
        },
        ("Labels by people", "rooms.score.commands"): {
            "label": "Labels by people, which override the judge's.",
        },
    }
