"""The rooms: other systems beside the method, each whole in one folder of ``simulrag/rooms``.

Found by being there, and known by the names of their modules: ``settings`` (its section of
params.yaml), ``stages``, ``commands``, ``page`` (its part of the report), ``replies`` (of the test
double) and others that who asks for them says. Nothing else imports a room.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGE = "simulrag.rooms"
FOLDER = Path(__file__).with_name("rooms")


@cache
def rooms() -> tuple[str, ...]:
    """Their names, without importing them."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules([str(FOLDER)])))


def rooms_with(part: str) -> tuple[str, ...]:
    """The rooms that have a module of this name, without importing it."""
    return tuple(room for room in rooms() if (FOLDER / room / f"{part}.py").is_file())


def each(part: str) -> Iterator[ModuleType]:
    """A module of every room that has it."""
    for room in rooms_with(part):
        yield import_module(f"{PACKAGE}.{room}.{part}")


@cache
def stage_modules() -> dict[str, str]:
    """By the name of a stage its module: the modules in the folder ``stages`` of a room."""
    return {
        found.name: f"{PACKAGE}.{room}.stages.{found.name}"
        for room in rooms()
        for found in pkgutil.iter_modules([str(FOLDER / room / "stages")])
    }
