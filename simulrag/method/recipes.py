"""The recipes by name: ways to answer a question, each one object in a file of its own.

``answer.method`` of params.yaml names one. The stage, ``simulrag ask`` and ``simulrag.answer`` call
the same three functions of it. To add one: its file with a ``RECIPE``, a line in ``RECIPES``, and
what a reader is shown of it in ``flows/report/words.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from simulrag.method.settings import MethodSettings
    from simulrag.method.steps import Backends
    from simulrag.records import Answer, Question, Selection


class Registered(NamedTuple):
    """What is known of a recipe before its module is imported, whose steps need numpy.

    ``writes``: the id of its final answers. ``marks``: its text is marked statement by statement,
    and counts its own calls.
    """

    module: str
    writes: str
    marks: bool = False


RECIPES = {
    "grounded": Registered("simulrag.method.grounded", writes="grounded", marks=True),
    "paper": Registered("simulrag.method.paper", writes="simulrag"),
}
MARKED = frozenset(recipe.writes for recipe in RECIPES.values() if recipe.marks)
"""The kinds of final answers whose text is marked."""


@dataclass(frozen=True)
class FinalKind:
    """A kind of final answer, and the calls that stand behind one of it.

    Attributes:
        method: Its id in answers and tables.
        in_turn: Every step behind it. Entries wait for one another; the steps of one entry are
            asked at the same time.
        shares: Of these, the steps that the question makes once for all its final answers.
        by_sample: Of these, a call a sampled answer.
        of_several: Of these, what a single sample does not need.
        looks: Which simulator runs it rests on: of the first look, of those that were planned, or
            all of them.
    """

    method: str
    in_turn: tuple[tuple[str, ...], ...]
    shares: tuple[str, ...]
    by_sample: tuple[str, ...] = ()
    of_several: tuple[str, ...] = ()
    looks: Literal["none", "first", "planned", "all"] = "first"


@dataclass(frozen=True)
class Recipe:
    """One way to answer.

    Attributes:
        final: The kind of answer that it writes.
        draft: What needs no other question, for one question.
        choose: What each budget buys, for every draft. It makes no call.
        conclude: The final answers of one question.
    """

    final: FinalKind
    draft: Callable[[Question, Backends, MethodSettings], Awaitable[Answer]]
    choose: Callable[[Sequence[Answer], MethodSettings], list[tuple[Selection, ...]]]
    conclude: Callable[
        [Question, Answer, Sequence[Selection], Backends, MethodSettings], Awaitable[Answer]
    ]


def recipe_of(name: str) -> Recipe:
    """Import the recipe of a name in ``RECIPES``."""
    recipe: Recipe = import_module(RECIPES[name].module).RECIPE
    return recipe


def final_kinds() -> dict[str, FinalKind]:
    """List final answers' kinds by id, in the order of tables: recipes, then what compares."""
    from simulrag.method.answering import COMPARED

    kinds = [*(recipe_of(name).final for name in RECIPES), *COMPARED]
    return {kind.method: kind for kind in kinds}


async def answer_question(question: Question, use: Backends, settings: MethodSettings) -> Answer:
    """Answer a question by itself; its budgets are shares of its own claims."""
    recipe = recipe_of(settings.method)
    drafted = await recipe.draft(question, use, settings)
    (choices,) = recipe.choose([drafted], settings)
    return await recipe.conclude(question, drafted, choices, use, settings)
