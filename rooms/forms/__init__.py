"""Questions of three forms (choice, freeform, cloze) at three levels: made, answered, measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import LineageNote, PartOfReport, hookimpl

if TYPE_CHECKING:
    import typer

    from rooms.forms.settings import FormsParams


@hookimpl
def stage_modules() -> Mapping[str, str]:
    """Its stages."""
    return {
        "corpus": "rooms.forms.corpus",
        "forms_answer": "rooms.forms.answer",
        "forms_benchmark": "rooms.forms.benchmark",
        "forms_metrics": "rooms.forms.metrics",
    }


@hookimpl
def params_section() -> tuple[str, type[FormsParams]]:
    """The section ``forms`` of params.yaml."""
    from rooms.forms.settings import FormsParams

    return "forms", FormsParams


@hookimpl
def prompt_folder(folder: Path) -> Path:
    """With the project's."""
    return folder / "forms"


@hookimpl
def report_part() -> PartOfReport:
    """Its measures on the page."""
    from rooms.forms.page import READS, SECTION, read

    return PartOfReport(SECTION, READS, read)


@hookimpl
def lineage_note() -> LineageNote:
    """The hashes of the documents that questions are made from."""
    from rooms.forms.corpus import MAKES, write

    return LineageNote(MAKES, write)


@hookimpl
def register_commands(app: typer.Typer) -> None:
    """``simulrag forms``."""
    from rooms.forms.commands import register

    register(app)
