"""Whether the share falls to the evidence that decides: planted among that of other questions.

The evidence of a question decides its reference's claims and stands as one passage among four of
other questions, which are about other scenarios. What leaving out each one costs should be all
that evidence adds for the decisive one, and nothing for the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import partial

from rooms.attribution.chances import Chances
from rooms.attribution.game import leave_one_out, sets_asked
from simulrag.errors import ModelError
from simulrag.models.base import Asker
from simulrag.records import Question, Record

OTHERS = 4
CLAIMS = 6
"""Claims of a reference that are asked about, at most."""


class PlantedClaim(Record):
    """One claim's chance with no passage and with all, and what leaving out each of them costs."""

    text: str
    none: float
    all: float
    left_out: tuple[float, ...]


class Planted(Record):
    """What was found for one question. ``place``: of the decisive passage, from 0."""

    question_id: str
    scenario_id: str
    place: int
    claims: tuple[PlantedClaim, ...] = ()
    failure: str | None = None

    @property
    def largest(self) -> list[bool]:
        """By claim: whether the decisive passage is the one that costs most to leave out."""
        costs = [claim.left_out for claim in self.claims]
        return [max(some) > 0 and some.index(max(some)) == self.place for some in costs]


def plantable(questions: Sequence[Question]) -> list[Question]:
    """Those with evidence of their own, and with a claim that gives a number."""
    return [one for one in questions if one.evidence and _claims(one)]


async def planted(question: Question, others: Iterable[Question], ask: Asker, seed: int) -> Planted:
    """The chances of a question's claims with its evidence among four others'.

    Every chance is stated once. A failed call is the result's ``failure``. Raises CallsPending.
    """
    draw = random.Random(f"{seed} {question.question_id}")  # noqa: S311 no secret
    apart = [one for one in others if one.scenario_id != question.scenario_id]
    passages = [_text(one) for one in draw.sample(apart, min(OTHERS, len(apart)))]
    place = draw.randint(0, len(passages))
    passages.insert(place, _text(question))
    found = Planted(question_id=question.question_id, scenario_id=question.scenario_id, place=place)
    texts, count = _claims(question), len(passages)
    chances = Chances(question.text, texts, ask, kind="stated", repeats=1)

    def context(shown: frozenset[int]) -> str:
        return "\n\n".join(passages[i] for i in sorted(shown))

    every = frozenset(range(count))
    sets = [frozenset[int](), *sets_asked(lambda value: leave_one_out(value, count))]
    try:
        await chances.prepare(map(context, sets))
    except ModelError as error:
        return found.model_copy(update={"failure": str(error)})

    def stated(claim: int, shown: frozenset[int]) -> float:
        return chances.of(context(shown), claim).chance or 0.0  # a stated one is always there

    claims = tuple(
        PlantedClaim(
            text=text,
            none=stated(number, frozenset()),
            all=stated(number, every),
            left_out=tuple(leave_one_out(partial(stated, number), count)),
        )
        for number, text in enumerate(texts)
    )
    return found.model_copy(update={"claims": claims})


def _claims(question: Question) -> list[str]:
    told = [one for one in question.reference_claims if one.kind == "quantitative"]
    return [one.text for one in told if one.source != "open"][:CLAIMS]


def _text(question: Question) -> str:
    return "\n\n".join(run.text for run in question.evidence)
