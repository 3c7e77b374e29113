"""Questions of three forms (choice, freeform, cloze) at three levels: made, answered, measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import LineageNote, Listing, PartOfReport, hookimpl

if TYPE_CHECKING:
    from rooms.forms.settings import FormsParams


@hookimpl
def stage_modules() -> Mapping[str, str]:
    """Name the modules of its stages."""
    return {
        "corpus": "rooms.forms.corpus",
        "forms_answer": "rooms.forms.answer",
        "forms_benchmark": "rooms.forms.benchmark",
        "forms_metrics": "rooms.forms.metrics",
    }


@hookimpl
def params_section() -> tuple[str, type[FormsParams]]:
    """Return the section ``forms`` of params.yaml."""
    from rooms.forms.settings import FormsParams

    return "forms", FormsParams


@hookimpl
def prompt_folder(folder: Path) -> Path:
    """Return its folder of prompts, within the project's."""
    return folder / "forms"


@hookimpl
def report_part() -> PartOfReport:
    """Return its section of the report, and what that reads."""
    from rooms.forms.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def lineage_note() -> LineageNote:
    """Note the hashes of the documents that questions are made from."""
    from rooms.forms.corpus import MAKES, write

    return LineageNote(MAKES, write)


@hookimpl
def listed_commands() -> Listing:
    """List ``simulrag forms``."""
    return {
        ("Questions and evidence", "rooms.forms.commands"): {
            "forms": "Choice, freeform and cloze questions.",
        }
    }
