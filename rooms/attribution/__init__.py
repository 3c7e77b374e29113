"""Which evidence supports a claim: documents, the simulator, or one item of them.

``game`` and ``intervention`` are pure arithmetic over chances; ``attribute`` asks a model for the
chances of a question's claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import PartOfReport, hookimpl

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from rooms.attribution.page import Why
    from rooms.attribution.settings import AttributionParams
    from simulrag.records import Answer


@hookimpl
def stage_modules() -> Mapping[str, str]:
    """Name the modules of its stages."""
    return {
        "attribution": "rooms.attribution.stage",
        "planted": "rooms.attribution.planted",
    }


@hookimpl
def params_section() -> tuple[str, type[AttributionParams]]:
    """Return the section ``attribution`` of params.yaml."""
    from rooms.attribution.settings import AttributionParams

    return "attribution", AttributionParams


@hookimpl
def prompt_folder(folder: Path) -> Path:
    """Return its folder of prompts, within the project's."""
    return folder / "attribution"


@hookimpl
def report_part() -> PartOfReport:
    """Return its section of the report, and what that reads."""
    from rooms.attribution.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def explain(project: Project, params: Params, question: str, answer: Answer) -> Why:
    """Attribute by source and by verdicts."""
    from rooms.attribution.page import why

    return why(project, params, question, answer)
