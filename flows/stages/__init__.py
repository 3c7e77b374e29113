"""The stages, found by being here: a module of this folder, or of a room's, with ``STAGE`` is one.

A package of one's own brings further ones as a room does: see ``flows.hooks``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from flows.hooks import stages_of_rooms

if TYPE_CHECKING:
    from flows.params import Params
    from simulrag.stage import Stage

ORDER = ("simulators", "benchmark", "answer", "label")
"""Stages that stand first in dvc.yaml; metrics and report stand last, the others by name."""
_LAST = ("metrics", "report")


@cache
def stage_names() -> tuple[str, ...]:
    """Return the names of all stages, without importing them."""
    own = [module.name for module in pkgutil.iter_modules(__path__)]
    between = sorted({*own, *stages_of_rooms()} - {*ORDER, *_LAST})
    return (*ORDER, *between, *_LAST)


def stage_of(name: str) -> Stage:
    """Return a stage by its name; only its module is imported."""
    place = stages_of_rooms().get(name, f"{__name__}.{name}")
    stage: Stage = import_module(place).STAGE
    return stage


def stages() -> tuple[Stage, ...]:
    """Return all of them."""
    return tuple(map(stage_of, stage_names()))


def exports(params: Params, given: Iterable[Stage] | None = None) -> list[str]:
    """Return the names of all runs of stages whose calls are exported, such as answer-urban.

    ``given``: of these stages alone.
    """
    asking = (stage for stage in given or stages() if stage.role is not None)
    return [stage.named(item) for stage in asking for item in stage.items(params)]
