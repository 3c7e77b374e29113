"""Queries for documents that a model writes for a question, of three kinds (PROPHET, A.3).

What is not in the published text is decided here: how many queries, and how long.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class Queries(Reply):
    """Reply to ``queries``."""

    queries: Annotated[list[Text], Field(min_length=1)]


def _short(prompted: Prompted) -> object:
    texts = (sentence(prompted.seed, number) for number in range(QUERIES))
    return {"queries": [" ".join(text.split()[:3]) for text in texts]}


TASK = Task("queries", Queries, stand_in=_short)

KINDS = ("entities", "steps", "similar")
"""What the question names; the steps that would settle it; like events elsewhere or before."""
MAX_WORDS = {"entities": 5, "steps": 8, "similar": 8}
QUERIES = 5
"""Of each kind; of entities at most."""


async def queries(question: str, ask: Asker) -> tuple[str, ...]:
    """The queries of all kinds, in their order, each once. Raises ModelError.

    The kinds are asked for in a call each, so that a reply of the wrong form is mended by itself.
    """

    async def of(kind: str) -> list[str]:
        def check(reply: Any) -> None:
            if problems := problems_of(kind, reply.queries):
                raise ValueError("; ".join(problems))

        values: dict[str, Any] = {"kind": kind, "count": QUERIES, "words": MAX_WORDS[kind]}
        completion = await ask.ask(TASK, check=check, question=question, **values)
        return [" ".join(query.split()) for query in completion.parsed.queries]

    distinct = {
        query.casefold(): query for part in await together(map(of, KINDS)) for query in part
    }
    return tuple(distinct.values())


def problems_of(kind: str, proposed: list[str]) -> list[str]:
    """What is wrong with the queries of a kind, in words that a model can act on."""
    most = MAX_WORDS[kind]
    problems = [
        f"'{query}' has more than {most} words" for query in proposed if len(query.split()) > most
    ]
    if len({" ".join(query.split()).casefold() for query in proposed}) < len(proposed):
        problems.append("give each query once")
    if kind == "entities":
        dated = [query for query in proposed if any(map(_is_date, query.split()))]
        problems += [f"'{query}' holds a date: name what it is about" for query in dated]
    if len(proposed) > QUERIES or (kind != "entities" and len(proposed) < QUERIES):
        problems.append(f"give {QUERIES} queries, not {len(proposed)}")
    return problems


def _is_date(word: str) -> bool:
    """A year, a day such as 2024-08-01 or 1/8/24, a time such as 12:30."""
    parts = word.strip(".,;()").replace("/", "-").replace(":", "-").split("-")
    numbers = all(part.isdecimal() for part in parts)
    return numbers and (len(parts) > 1 or len(parts[0]) == 4)
