"""What the JSON contracts of the tasks' replies have in common; each stands beside its task.

Types are strict: the string "false" is not a boolean and "0" not an integer. A reply that does
not fit goes back to the model once, with the validation error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

Text = Annotated[StrictStr, Field(min_length=1)]


class Reply(BaseModel):
    """Base of all replies: closed and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Numbered(Reply):
    """What a reply to several claims says of one: ``index`` is the claim's number in the prompt."""

    index: StrictInt


NumberedT = TypeVar("NumberedT", bound=Numbered)


def in_order(items: Sequence[NumberedT], count: int) -> list[NumberedT]:
    """The reply's items by the claim that they speak of, for ``count`` claims numbered from 0.

    Raises ValueError, in words that a model can act on, unless each number stands there exactly
    once: with one missing or doubled, it is open which claims the others were meant for.
    """
    if problems := misnumbered((item.index for item in items), count):
        raise ValueError(
            f"give each claim's index, 0 to {count - 1}, exactly once; {'; '.join(problems)}"
        )
    return sorted(items, key=lambda item: item.index)


def misnumbered(numbers: Iterable[int], count: int) -> list[str]:
    """What is wrong with numbers that should be 0 to ``count`` - 1, each once; nothing: []."""
    times = Counter(numbers)
    problems = {
        "missing": [number for number in range(count) if number not in times],
        "repeated": sorted(number for number, found in times.items() if found > 1),
        "unknown": sorted(number for number in times if not 0 <= number < count),
    }
    return [f"{name}: {', '.join(map(str, which))}" for name, which in problems.items() if which]
