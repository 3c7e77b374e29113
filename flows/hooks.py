"""What a room may bring, as specifications of pluggy, and the rooms that are here.

A room is another system beside the method, whole in one folder: it stands above the pipeline, and
nothing imports it. It implements some of these functions in its ``__init__``, marked ``@hookimpl``,
with its imports inside of them: every command asks them. Rooms of the project are found by being in
``rooms/``, those of other packages by the entry point ``simulrag.rooms``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project, Results
    from flows.report.blocks import ReportSection
    from flows.report.run import LabelTable
    from flows.sections import RoomSection
    from simulrag.models.prompts import Prompts
    from simulrag.records import Answer, Question

GROUP = "simulrag.rooms"
FOLDER = "rooms"
Listing = Mapping[tuple[str, str], Mapping[str, str]]
"""Commands and their lines in the help, by the group of the help and the module whose ``app`` (of
typer) has them. A module is imported when one of its commands is used."""

_specified = pluggy.HookspecMarker("simulrag")
hookimpl = pluggy.HookimplMarker("simulrag")


@dataclass(frozen=True)
class RunOutputs:
    """What a room's part of the page is read from; by domain the labels, and the questions by id.

    ``ours``: the outs are the pipeline's, where what an earlier run left is passed over.
    """

    project: Project
    params: Params
    place: Results
    domains: list[str]
    labels: Mapping[str, LabelTable]
    questions: Mapping[str, Mapping[str, Question]]

    @property
    def ours(self) -> bool:
        return self.place == self.project.results


class PartOfReport(NamedTuple):
    """A room's section; what ``read`` gives it finds as ``run.rooms[section.key]``, unless None.

    ``reads``: the folders of data/ that it rests on.
    """

    section: ReportSection
    reads: tuple[str, ...]
    read: Callable[[RunOutputs], object | None]


class LineageNote(NamedTuple):
    """What the stage ``simulators`` notes of files outside of the project, and its outs."""

    makes: tuple[str, ...]
    write: Callable[[Project, Params, Results], None]


class Specifications(Protocol):
    """The hooks; none is named as a module of a room may be.

    pluggy gives a list with what each room returned, in the order of the rooms' names.
    """

    @_specified
    def stage_modules(self) -> Mapping[str, str]:
        """By name the module whose ``STAGE`` it is; nothing is imported before it runs."""

    @_specified
    def params_section(self) -> tuple[str, type[RoomSection]]:
        """Its section of params.yaml, whose fields all have defaults, and the section's name."""

    @_specified
    def prompt_folder(self, folder: Path) -> Path:
        """Where its templates lie; ``folder``: the project's prompts."""

    @_specified
    def report_part(self) -> PartOfReport:
        """Its part of the report."""

    @_specified
    def lineage_note(self) -> LineageNote:
        """What no dependency of DVC reaches."""

    @_specified
    def listed_commands(self) -> Listing:
        """Its commands, each with the first line of its help.

        Those of a group that is there already go beside the group's own.
        """

    @_specified(firstresult=True)
    def choose_domain(self, project: Project, params: Params, text: str) -> str:
        """For ``ask --domain auto``: the source that a question is sent to; "": to none."""

    @_specified(firstresult=True)
    def explain(self, project: Project, params: Params, question: str, answer: Answer) -> Any:
        """For ``ask --why``: what has ``show()`` and ``as_json()``. Raises ModelError."""


@cache
def rooms() -> pluggy.PluginManager:
    """Return the rooms with their hooks: ``rooms().hook.report_part()``."""
    manager = pluggy.PluginManager("simulrag")
    manager.add_hookspecs(Specifications)
    manager.load_setuptools_entrypoints(GROUP)
    # Called first is what was registered last.
    for name in reversed(room_names()):
        manager.register(import_module(f"{FOLDER}.{name}"), name)
    return manager


@cache
def room_names() -> tuple[str, ...]:
    """Return the project's own, in order."""
    with suppress(ModuleNotFoundError):
        modules = pkgutil.iter_modules(import_module(FOLDER).__path__)
        return tuple(sorted(room.name for room in modules if room.ispkg))
    return ()


@cache
def stages_of_rooms() -> dict[str, str]:
    """Return the modules of all rooms' stages, by the stages' names."""
    return dict(chain.from_iterable(map(dict.items, rooms().hook.stage_modules())))


def prompts_of(folder: Path, overrides: str | None = None) -> Prompts:
    """Return the prompts of a project with those of the rooms."""
    from simulrag.models.prompts import Prompts

    places: Sequence[Path] = rooms().hook.prompt_folder(folder=folder)
    return Prompts(folder, overrides, places)
