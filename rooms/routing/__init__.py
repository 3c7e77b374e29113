"""Which source can answer a question, by the sources' handbooks, before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import Listing, PartOfReport, hookimpl

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from rooms.routing.settings import RoutingParams


@hookimpl
def stage_modules() -> Mapping[str, str]:
    """Name the modules of its stages."""
    return {"routing": "rooms.routing.stage"}


@hookimpl
def params_section() -> tuple[str, type[RoutingParams]]:
    """Return the section ``routing`` of params.yaml."""
    from rooms.routing.settings import RoutingParams

    return "routing", RoutingParams


@hookimpl
def prompt_folder(folder: Path) -> Path:
    """Return its folder of prompts, within the project's."""
    return folder / "routing"


@hookimpl
def report_part() -> PartOfReport:
    """Return its section of the report, and what that reads."""
    from rooms.routing.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def listed_commands() -> Listing:
    """List ``simulrag route``."""
    return {
        ("Questions and evidence", "rooms.routing.commands"): {
            "route": "Name the configured source that can answer a question, without a run.",
        }
    }


@hookimpl
def choose_domain(project: Project, params: Params, text: str) -> str:
    """Choose by the sources' handbooks."""
    from rooms.routing.commands import route_question

    return route_question(project, params, text)[0].chosen or ""
