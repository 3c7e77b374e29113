"""Questions by form from documents: a seed passage, what is like it, a base question, its heirs."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rooms.forms.generation import (
    Maker,
    Seed,
    Written,
    WrittenFreeform,
    WrittenStatement,
    attempt,
    in_form,
    in_turn,
)
from rooms.forms.records import Formed, Level, Rejection, SourceText
from simulators.library.corpus import Corpus
from simulators.library.index import open_ranking
from simulrag.errors import InputError
from simulrag.method.asking import both
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.stand_in import Prompted
from simulrag.task import Task


class WrittenChoice(Reply):
    """Reply to ``forms_write``: a stem, its right option and three wrong ones."""

    question: Text
    correct: Text
    distractors: Annotated[list[Text], Field(min_length=3, max_length=3)]


class WrittenTerm(Reply):
    """Reply to ``forms_term``."""

    term: Text


def _last_word(prompted: Prompted) -> object:
    return {"term": prompted.text("statement").split()[-1].rstrip(".")}


FORMS_WRITE = Task(
    "forms_write",
    WrittenFreeform,
    tokens=110,
    stand_in=in_form,
    others=(WrittenChoice, WrittenStatement),
)
FORMS_TERM = Task("forms_term", WrittenTerm, tokens=8, stand_in=_last_word)
SHORTEST_SEED = 200
"""Characters; a shorter passage is a heading or a leftover, and holds nothing to ask about."""


@dataclass(frozen=True)
class Documents:
    """The passages of a corpus, and how to find those that are like a text.

    ``similar``: numbers of passages with their scores, the best first, at most so many.
    """

    passages: Sequence[SourceText]
    similar: Callable[[str, int], Sequence[tuple[int, float]]]


def documents_of(folder: Path) -> Documents:
    """Open the passages of a corpus and its lexical ranking. Raises CorpusError."""
    corpus = Corpus(folder)
    corpus.open()
    ranking = open_ranking(folder, "bm25", None)
    passages = []
    for number in range(corpus.manifest.passages):
        stored = corpus.passage(number)
        part = f", part {stored.part} of {stored.parts}" if stored.parts > 1 else ""
        passages.append(
            SourceText(
                id=hashlib.sha256(stored.text.encode()).hexdigest()[:12],
                text=stored.text,
                locator=f"{stored.document}, {stored.locator}{part}",
                licence=stored.licence,
                attribution=stored.attribution,
            )
        )
    return Documents(passages, ranking.top)


def seed_passages(documents: Documents, seed: int) -> list[int]:
    """Return every passage worth asking about, once, in an order that depends on the seed alone.

    Raises InputError where there is none.
    """
    long = [i for i, passage in enumerate(documents.passages) if len(passage.text) >= SHORTEST_SEED]
    if not long:
        raise InputError(
            f"no passage of the documents has {SHORTEST_SEED} characters: there is nothing to ask "
            "about; add documents with text"
        )
    random.Random(seed).shuffle(long)  # noqa: S311 - a sample, not a secret
    return long


def contexts_of(
    documents: Documents, number: int, count: int, threshold: float
) -> tuple[SourceText, ...]:
    """Return the seed passage, then at most ``count`` others that are like it; the best first.

    A passage is like it that scores at least ``threshold`` of what the seed itself scores for its
    own text. The seed is left out by its id, wherever it ranks. None passes: the seed alone.
    """
    own = documents.passages[number]
    ranked = documents.similar(own.text, count + 2)
    scores = [score for place, score in ranked if documents.passages[place].id == own.id]
    best = max(scores, default=0.0)
    alike = {
        documents.passages[place].id: documents.passages[place]
        for place, score in ranked
        if documents.passages[place].id != own.id and best and score >= threshold * best
    }
    return (own, *list(alike.values())[:count])


def from_documents(
    documents: Documents, ask: Asker, source: str, *, seed: int, contexts: int, threshold: float
) -> list[Seed]:
    """Return a seed a passage, each giving a base question, one that evolves from it, a cloze."""

    def one(rank: int, number: int) -> Seed:
        scenario_id = f"{source}-{documents.passages[number].id}"

        async def write() -> Written:
            shown = contexts_of(documents, number, contexts, threshold)
            make = Maker(source, scenario_id, shown, seed)
            choice, level = in_turn(rank)
            family = _family(ask, make, level, choice=choice)
            questions, cloze = await both(family, attempt(_cloze(ask, make)))
            return Written([*questions, cloze])

        return Seed(scenario_id, write)

    return [one(rank, number) for rank, number in enumerate(seed_passages(documents, seed))]


async def _family(
    ask: Asker, make: Maker, level: Level, *, choice: bool
) -> list[Formed | Rejection]:
    """Write a base question, and the one of ``level`` that evolves from it."""
    base = await attempt(_written(ask, make, "base", choice=choice))
    if isinstance(base, Rejection):
        return [base]
    return [base, await attempt(_written(ask, make, level, choice=choice, base=base.text))]


async def _written(
    ask: Asker, make: Maker, level: Level, *, choice: bool, base: str = ""
) -> Formed:
    reply = await ask.ask(
        FORMS_WRITE.replying(WrittenChoice) if choice else FORMS_WRITE,
        contexts=[context.text for context in make.contexts],
        form="choice" if choice else "freeform",
        level=level,
        base=base,
    )
    written = reply.parsed
    if isinstance(written, WrittenChoice):
        return make.choice(level, written.question, written.correct, written.distractors)
    return make.freeform(level, written.question, written.answer)


async def _cloze(ask: Asker, make: Maker) -> Formed | Rejection:
    """Write a statement, then choose the term to take out of it."""
    shown = [context.text for context in make.contexts]
    reply = await ask.ask(
        FORMS_WRITE.replying(WrittenStatement),
        contexts=shown,
        form="cloze",
        level="base",
        base="",
    )
    statement: str = reply.parsed.statement
    term = await ask.ask(FORMS_TERM, statement=statement)
    return make.cloze(statement, term.parsed.term)
