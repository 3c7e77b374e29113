"""What a model can be asked, each a value beside the function that asks it.

A step makes its task and asks with it; the prompt is the file of the task's name::

    MERGE = Task("merge", ClaimPairs, tokens=20)

    completion = await ask.ask(MERGE, existing=existing, new=new)

``tasks`` finds those of every step here, so nothing else lists them; a room's are there once its
modules are imported.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from simulrag.stand_in import Prompted, filled, prose

_ASKING = ("simulrag.method", "simulrag.questions", "simulrag.judging")
_TASKS: dict[str, Task] = {}
PROSE_TOKENS = 250
"""Of an answer in words."""


@dataclass(frozen=True)
class Task:
    """One thing that a model is asked. Raises ValueError where another one has the name.

    ``name``: of its prompt, of its usage, and of its settings in params.yaml. ``reply``: what the
    reply must look like, None for prose. ``step``: the task that it does for several claims at
    once, by default itself. ``tokens``: of a reply, where a call of the step speaks of one claim; a
    plan assumes them where nothing is stored. ``stand_in``: a reply in the place of a model's,
    where what the step checks does not follow from the schema; of prose None where the prompt is
    another's. ``others``: further shapes of its replies.
    """

    name: str
    reply: type[BaseModel] | None = None
    step: str = ""
    tokens: int = 200
    stand_in: Callable[[Prompted], object] | None = None
    others: tuple[type[BaseModel], ...] = ()

    def __post_init__(self) -> None:
        if self.name in _TASKS:
            raise ValueError(f"there is a task '{self.name}' already")
        object.__setattr__(self, "step", self.step or self.name)
        _TASKS[self.name] = self

    @property
    def shapes(self) -> tuple[type[BaseModel], ...]:
        """What its replies may look like; () for prose."""
        return () if self.reply is None else (self.reply, *self.others)

    def replying(self, reply: type[BaseModel] | None) -> Task:
        """Return the same task, asked for a reply of another shape."""
        other = copy(self)
        object.__setattr__(other, "reply", reply)
        return other


def tasks() -> Mapping[str, Task]:
    """Find every task of every step, by name, with those that others have brought so far."""
    _import_steps()
    return MappingProxyType(_TASKS)


def without_model(prompted: Prompted, schema: Mapping[str, Any], tokens: int = PROSE_TOKENS) -> str:
    """Make a reply in a model's place: by the task of that schema, else by the schema alone.

    ``schema``: {} for prose, which is about so many ``tokens`` long. Of the tasks that are
    imported: whoever asks has imported his.
    """

    def listed(name: str) -> int:
        return len(prompted.listed(name))

    given = [task for task in _TASKS.values() if task.stand_in is not None]
    if not schema:
        replies = (
            task.stand_in(prompted) for task in given if task.reply is None and task.stand_in
        )
        return next((str(text) for text in replies if text), prose(prompted, tokens))
    for task in given:
        if task.stand_in and prompted.shape in (shape.__name__ for shape in task.shapes):
            return json.dumps(task.stand_in(prompted))
    return json.dumps(filled(schema, prompted.seed, listed))


@cache
def _import_steps() -> None:
    for package in map(importlib.import_module, _ASKING):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
