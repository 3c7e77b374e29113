"""Questions by form from end to end: seeds in turn, what is written of each, and its audits."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from rooms.forms.audits import audited, masked, repeats
from rooms.forms.records import (
    ChoiceQuestion,
    ClozeQuestion,
    Form,
    Formed,
    FreeformQuestion,
    Level,
    Rejection,
    SourceText,
    question_id,
)
from simulrag.errors import InputError, ModelError
from simulrag.method.asking import together
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text, unusable
from simulrag.records import Domain, Record
from simulrag.stand_in import RIGHT, Prompted, sentence

PER_SEED = 3
"""Questions of one seed: a base one, its heir and a cloze."""
DRAWS = 3
"""So many times the seeds that would do are drawn before generation gives up."""


class WrittenFreeform(Reply):
    """Reply to ``forms_write`` and ``forms_run``: a question and its answer."""

    question: Text
    answer: Text


class WrittenStatement(Reply):
    """Reply to ``forms_write`` and ``forms_run``: the statement of a cloze."""

    statement: Text


def in_form(prompted: Prompted) -> object:
    """A question of the shape prompted for; the right option is the one that says so."""
    texts = [sentence(prompted.seed, number) for number in range(5)]
    result = prompted.text("result")  # of a run, whose options and answer are given
    return {
        "WrittenStem": {"question": texts[0]},
        "WrittenChoice": {
            "question": texts[0],
            "correct": f"{RIGHT} {texts[1]}",
            "distractors": texts[2:],
        },
        "WrittenFreeform": {"question": texts[0], "answer": result or texts[1]},
        "WrittenStatement": {"statement": f"{texts[0]} {prompted.text('term')}".strip()},
    }[prompted.shape]


class Written(NamedTuple):
    """What was written of a seed; ``given``: texts beside the contexts that may give numbers."""

    questions: Sequence[Formed | Rejection]
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seed:
    """What several questions are made from, and how they are written."""

    scenario_id: str
    write: Callable[[], Awaitable[Written]]


class Refused(Record):
    """A question that an audit refuses, or a seed's question that was never written."""

    scenario_id: str
    rejections: tuple[Rejection, ...]
    question: Formed | None = None


class FormsSummary(Record):
    """What generation asked for and got; ``rejected_by_reason``: questions that show a kind."""

    source: Domain
    requested: int
    accepted: int
    seeds: int
    by_form: dict[str, int]
    rejected: int
    rejected_by_reason: dict[str, int]
    exhausted: bool


class Made(NamedTuple):
    """What generation made."""

    questions: list[Formed]
    refused: list[Refused]
    summary: FormsSummary


async def generate(
    ask: Asker,
    seeds: Sequence[Seed],
    source: Domain,
    *,
    n: int,
    concurrency: int = 16,
    accepted: Callable[[], None] = lambda: None,
) -> Made:
    """Make ``n`` questions that pass the audits, or fewer where the summary says why.

    Questions are in the seeds' order, so that a larger ``n`` keeps those of a smaller one. A reply
    that stays unusable refuses its question. Raises ModelError where the provider is not reached.

    Args:
        ask: Who audits.
        seeds: What questions are written of, in their order.
        source: The domain or corpus that the summary names.
        n: Questions wanted.
        concurrency: Seeds that are written of at a time.
        accepted: Called for each question that passes its audits.
    """
    if n < 1:
        raise InputError(f"{n} questions cannot be made; ask for 1 or more")
    slots = asyncio.Semaphore(concurrency)

    async def one(seed: Seed) -> list[Formed | Refused]:
        async with slots:
            written = await seed.write()
            audited = await _audited(ask, written)
            for question in audited:
                if not isinstance(question, Refused):
                    accepted()
            lost = [item for item in written.questions if isinstance(item, Rejection)]
            return [
                *audited,
                *(Refused(scenario_id=seed.scenario_id, rejections=(r,)) for r in lost),
            ]

    limit = min(len(seeds), DRAWS * ceil(n / PER_SEED))
    results: list[Formed | Refused] = []
    questions: list[Formed] = []
    refused: list[Refused] = []
    drawn = 0
    while len(questions) < n and drawn < limit:
        batch = seeds[drawn : min(limit, drawn + ceil((n - len(questions)) / PER_SEED))]
        drawn += len(batch)
        for part in await together(one(seed) for seed in batch):
            results += part
        questions, refused = _sifted(results)
    summary = FormsSummary(
        source=source,
        requested=n,
        accepted=min(n, len(questions)),
        seeds=drawn,
        by_form=_counted(f"{question.form} {question.level}" for question in questions[:n]),
        rejected=len(refused),
        rejected_by_reason=_counted(k for one in refused for k in {r.kind for r in one.rejections}),
        exhausted=drawn == len(seeds),
    )
    return Made(questions[:n], refused, summary)


async def attempt(writing: Awaitable[Formed | Rejection]) -> Formed | Rejection:
    """Return what was written, or a rejection of a reply that stays unusable."""
    try:
        return await writing
    except ModelError as error:
        return Rejection(kind=unusable(error), detail=str(error))


def in_turn(rank: int) -> tuple[bool, Level]:
    """Tell of the n-th seed whether its first question is a choice, and its heir's level."""
    return rank % 2 == 0, ("reasoning", "hypothetical")[rank // 2 % 2]


@dataclass(frozen=True)
class Maker:
    """Makes the questions of one seed; options are shuffled by the seed number and the stem."""

    source: Domain
    scenario_id: str
    contexts: tuple[SourceText, ...]
    seed: int

    def choice(self, level: Level, stem: str, right: str, wrong: Sequence[str]) -> ChoiceQuestion:
        """Make a choice of the right option and three wrong ones."""
        options = [right, *wrong]
        random.Random(f"{self.seed} {stem}").shuffle(options)  # noqa: S311 - no secret
        return ChoiceQuestion(
            **self.common("choice", level, stem, right, *sorted(wrong)),
            options=(options[0], options[1], options[2], options[3]),
            answer=options.index(right),
        )

    def freeform(self, level: Level, text: str, answer: str) -> FreeformQuestion:
        """Make a question with an answer in words."""
        return FreeformQuestion(**self.common("freeform", level, text, answer), answer=answer)

    def cloze(self, statement: str, term: str, choices: str = "") -> ClozeQuestion | Rejection:
        """Make a cloze of a statement and its term, or say why that cannot be.

        ``choices``: a sentence to follow, with the words that the term is one of.
        """
        text = masked(statement, term)
        if isinstance(text, Rejection):
            return text
        text = f"{text} {choices}".strip()
        return ClozeQuestion(**self.common("cloze", "base", text, term), answer=term.strip())

    def common(self, form: Form, level: Level, text: str, *answers: str) -> dict[str, Any]:
        """Return the fields that all forms share."""
        return {
            "question_id": question_id(self.source, self.scenario_id, form, level, text, *answers),
            "level": level,
            "scenario_id": self.scenario_id,
            "source": self.source,
            "text": text,
            "contexts": self.contexts,
        }


async def _audited(ask: Asker, written: Written) -> list[Formed | Refused]:
    """Audit the questions of a seed: those that pass, and those that do not."""
    questions = [question for question in written.questions if not isinstance(question, Rejection)]
    try:
        audits = await audited(ask, questions, written.given)
    except ModelError as error:
        lost = (Rejection(kind=unusable(error), detail=str(error)),)
        return [
            Refused(scenario_id=question.scenario_id, rejections=lost, question=question)
            for question in questions
        ]
    return [question if question.valid.passed else _refused(question) for question in audits]


def _sifted(results: Sequence[Formed | Refused]) -> tuple[list[Formed], list[Refused]]:
    """Return the questions without those that repeat an earlier one, and all that is refused."""
    kept: list[Formed] = []
    refused: list[Refused] = []
    for question in results:
        if isinstance(question, Refused):
            refused.append(question)
        elif (again := repeats(question, kept)) is not None:
            refused.append(_refused(question, again))
        else:
            kept.append(question)
    return kept, refused


def _refused(question: Formed, *more: Rejection) -> Refused:
    rejections = (*question.valid.rejections, *more)
    return Refused(scenario_id=question.scenario_id, rejections=rejections, question=question)


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
