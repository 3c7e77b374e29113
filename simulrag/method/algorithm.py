"""The method of params.yaml: ``answer.method`` names a recipe.

The stage, ``simulrag ask`` and ``simulrag.answer`` call the same three functions of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType

from simulrag.method import grounded, paper
from simulrag.method.settings import MethodSettings
from simulrag.method.steps import Backends
from simulrag.records import Answer, Question, Selection

__all__ = ["Backends", "answer_question", "choose", "conclude", "draft"]

RECIPES: dict[str, ModuleType] = {"grounded": grounded, "paper": paper}


async def draft(question: Question, use: Backends, settings: MethodSettings) -> Answer:
    """What needs no other question, for one question. See ``paper.draft``."""
    drafted: Answer = await RECIPES[settings.method].draft(question, use, settings)
    return drafted


def choose(drafts: Iterable[Answer], settings: MethodSettings) -> list[tuple[Selection, ...]]:
    """What each budget buys, for every draft; no call. See ``paper.choose``."""
    choices: list[tuple[Selection, ...]] = RECIPES[settings.method].choose(list(drafts), settings)
    return choices


async def conclude(
    question: Question,
    drafted: Answer,
    choices: Sequence[Selection],
    use: Backends,
    settings: MethodSettings,
) -> Answer:
    """Verdicts and final answers of one question. See ``paper.conclude``."""
    recipe = RECIPES[settings.method]
    concluded: Answer = await recipe.conclude(question, drafted, choices, use, settings)
    return concluded


async def answer_question(question: Question, use: Backends, settings: MethodSettings) -> Answer:
    """All three for a question by itself, whose budgets are shares of its own claims."""
    drafted = await draft(question, use, settings)
    (choices,) = choose([drafted], settings)
    return await conclude(question, drafted, choices, use, settings)
