"""Steps 2 and 10, and what they are compared with: every final answer that a model writes.

Closed book answers without a simulator; input-layer RAG shows the simulator's text before the model
answers; output-layer RAG shows it afterwards, to revise the answer; SimulRAG's is written from the
claims that were kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from simulrag.errors import ModelError
from simulrag.method.asking import together
from simulrag.method.recipes import FinalKind
from simulrag.method.selection import Candidates, select_among
from simulrag.models.base import Asker, Counted
from simulrag.records import Answer, AnswerVariant, FinalMethod, FinalText, Selection
from simulrag.task import Task

CLOSED_BOOK = Task("closed_book", tokens=250)
FINAL = Task("final", tokens=290)


async def closed_book_answers(question: str, ask: Asker, samples: int) -> tuple[str, ...]:
    """``samples`` answers by a model that is not shown the simulator.

    The sample index is part of each call's key, so they are as many calls.
    """
    completions = await together(
        ask.ask(CLOSED_BOOK, sample_index=j, question=question) for j in range(samples)
    )
    return tuple(completion.text.strip() for completion in completions)


async def synthesize(question: str, claims: tuple[str, ...], ask: Asker) -> str:
    """Connected prose from the kept claims alone; the simulator's context is not shown."""
    completion = await ask.ask(FINAL, question=question, claims=list(claims))
    return completion.text.strip()


INPUT_RAG = Task("input_rag", tokens=190)
OUTPUT_RAG = Task("output_rag", tokens=240)

COMPARED = (
    FinalKind(
        "rag_looks",
        in_turn=(("plan",), ("more_calls",), ("input_rag",)),
        shares=("plan", "more_calls"),
        looks="planned",
    ),
    FinalKind(
        "output_rag",
        in_turn=(("plan", "closed_book"), ("output_rag",)),
        shares=("plan", "closed_book"),
        by_sample=("closed_book",),
    ),
    FinalKind("input_rag", in_turn=(("plan",), ("input_rag",)), shares=("plan",)),
    FinalKind(
        "closed_book",
        in_turn=(("closed_book",),),
        shares=("closed_book",),
        by_sample=("closed_book",),
        looks="none",
    ),
)
"""What the recipes are compared with, in the order of tables."""

Write = Callable[[Asker], Awaitable[str]]


@dataclass(frozen=True)
class FinalWay:
    """A final answer that is to be written: what is known of it, and how it becomes whole."""

    about: FinalText
    write: Callable[[Asker], Awaitable[FinalText]]


def by_text(about: FinalText, write: Write) -> FinalWay:
    """Make a way that makes nothing but the text."""

    async def whole(ask: Asker) -> FinalText:
        return about.model_copy(update={"text": await write(ask)})

    return FinalWay(about, whole)


async def final_texts(ways: Sequence[FinalWay], ask: Asker) -> tuple[FinalText, ...]:
    """Write the texts in order, each with the calls that it needed; a failure fails the one."""
    return tuple(await together(_final_text(way, ask) for way in ways))


def baseline_ways(question: str, answer: Answer) -> list[FinalWay]:
    """Return every baseline, of one sample and by the evidence of the first look.

    ``answer`` has its closed-book samples and its evidence; only further calls are made. The
    closed book is the first sample itself.
    """
    ways: list[tuple[FinalMethod, Write]] = [
        ("input_rag", partial(input_layer, question, answer)),
        ("output_rag", partial(_output_layer, question, answer)),
    ]
    return [
        by_text(FinalText(line=AnswerVariant(method=name, samples=1)), write)
        for name, write in ways
    ]


def first_sample_way(question: str, answer: Answer, choice: Selection) -> list[FinalWay]:
    """SimulRAG at m = 1; none where that is the method itself or a chosen claim has no verdict."""
    chosen = choice.first_sample
    if len(answer.closed_book) == 1 or any(answer.claims[i].verdict is None for i in chosen):
        return []

    async def write(ask: Asker) -> str:
        claims = answer.claims
        texts = (claims[i].after if i in chosen else claims[i].text for i in first_sample(answer))
        return await synthesize(question, tuple(dict.fromkeys(texts)), ask)

    line = choice.line.model_copy(update={"samples": 1})
    return [by_text(FinalText(line=line, selected=chosen), write)]


def first_sample(answer: Answer) -> tuple[int, ...]:
    """Return the claims of the first sample, by their indices among the merged ones."""
    # The first wording of a merged claim stays, so their texts are the first sample's own.
    return tuple(
        i for i, claim in enumerate(answer.claims) if any(s == 0 for s, _ in claim.sources)
    )


def first_sample_selection(
    questions: Sequence[Candidates],
    firsts: Sequence[tuple[int, ...]],
    *,
    budget_percent: float,
    by_question: bool,
    seed: int,
) -> list[tuple[int, ...]]:
    """Select what SimulRAG verifies at m = 1: indices into each question's claims, by one budget.

    ``firsts``: each question's ``first_sample``, none where it failed. With a single sample every
    claim is supported by the same answer, so their confidences are equal and say nothing: of the
    claims that the simulator can check, a seeded shuffle takes as many as the budget buys.
    """
    flat = [
        replace(own.part(indices), confidence=[0.0] * len(indices))
        for own, indices in zip(questions, firsts, strict=True)
    ]
    picked = select_among(
        flat,
        budget_percent=budget_percent,
        pool="question" if by_question else "domain",
        seed=seed,
    )
    return [tuple(indices[i] for i in own) for indices, own in zip(firsts, picked, strict=True)]


async def _final_text(way: FinalWay, ask: Asker) -> FinalText:
    own = Counted(ask)
    try:
        final = await way.write(own)
    except ModelError as error:
        final = way.about.model_copy(update={"failure": str(error)})
    return final.model_copy(update={"usage": dict(sorted(own.usage.items()))})


async def input_layer(question: str, answer: Answer, ask: Asker) -> str:
    """Answer with the evidence in sight; without evidence it is the closed-book answer."""
    context = answer.first_look.context
    return await from_evidence(question, context, ask) if context else answer.closed_book[0]


async def from_evidence(question: str, context: str, ask: Asker) -> str:
    """Answer with the evidence in sight."""
    completion = await ask.ask(INPUT_RAG, question=question, context=context)
    return completion.text.strip()


async def _output_layer(question: str, answer: Answer, ask: Asker) -> str:
    """Revise a closed-book answer by the evidence; without evidence it stays as it is."""
    text, context = answer.closed_book[0], answer.first_look.context
    if not context:
        return text
    completion = await ask.ask(OUTPUT_RAG, question=question, answer=text, context=context)
    return completion.text.strip()
