"""What a model can be asked, each a value beside the function that asks it.

A step makes its task and asks with it; the prompt is the file of the task's name::

    MERGE = Task("merge", ClaimPairs, tokens=(1320, 20))

    completion = await ask.ask(MERGE, existing=existing, new=new)

``tasks`` finds those of every step, so nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from pydantic import BaseModel

_ROOMS = ("simulrag.method", "simulrag.questions", "simulrag.judging")
_TASKS: dict[str, Task] = {}


@dataclass(frozen=True)
class Task:
    """One thing that a model is asked. Raises ValueError where another one has the name.

    ``name``: of its prompt, of its usage, and of its settings in params.yaml. ``reply``: what the
    reply must look like, None for prose. ``step``: the task that it does for several claims at
    once, by default itself. ``handbook``: its prompt shows a simulator's handbook. ``tokens``: of
    a prompt without that and of a reply, where a call of the step speaks of one claim; a plan
    assumes them where nothing is stored.
    """

    name: str
    reply: type[BaseModel] | None = None
    step: str = ""
    handbook: bool = False
    tokens: tuple[int, int] = (500, 200)

    def __post_init__(self) -> None:
        if self.name in _TASKS:
            raise ValueError(f"there is a task '{self.name}' already")
        object.__setattr__(self, "step", self.step or self.name)
        _TASKS[self.name] = self

    def replying(self, reply: type[BaseModel] | None) -> Task:
        """The same task, asked for a reply of another shape."""
        other = copy(self)
        object.__setattr__(other, "reply", reply)
        return other


def tasks() -> Mapping[str, Task]:
    """Every task of every step, by name."""
    _import_steps()
    return MappingProxyType(_TASKS)


@cache
def _import_steps() -> None:
    for room in map(importlib.import_module, _ROOMS):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
