"""Final answers by other ways than SimulRAG's, from the same question and the same evidence.

Closed book answers without a simulator; input-layer RAG shows the simulator's text before the model
answers; output-layer RAG shows it afterwards, to revise the answer. With m samples each takes its m
texts apart, merges their claims and writes one answer from them, by the prompts that SimulRAG uses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from simulrag.errors import ModelError
from simulrag.method.concurrency import together
from simulrag.method.decomposition import decompose
from simulrag.method.merging import Merging, merge_claims
from simulrag.method.selection import Candidates, select_among
from simulrag.method.synthesis import synthesize
from simulrag.models.base import Asker
from simulrag.models.counting import Counted
from simulrag.records import Answer, FinalMethod, FinalText

Way = Callable[[Asker], Awaitable[str]]


async def baseline_texts(
    question: str,
    answer: Answer,
    chosen: tuple[int, ...],
    ask: Asker,
    *,
    limit: int,
    merging: Merging = "chain",
) -> tuple[FinalText, ...]:
    """Every baseline's final answer at m = 1 and, where there are more samples, at m.

    ``answer`` is complete up to verification; its closed-book samples, claims and evidence are used
    again and only further calls are made, each counted in the text that needs it. ``chosen``: the
    claims of its first sample that SimulRAG at m = 1 verifies (``first_sample_selection``), which
    is left out where one of them has no verdict. ``limit``: claims taken from one text at most.
    ``merging``: how the claims of m texts become one set. A model's failure fails the one text.
    """
    given = _Given(question, answer, limit, merging)
    samples = len(answer.closed_book)
    ways: dict[tuple[FinalMethod, int], Way] = {
        ("input_rag", 1): lambda own: _input_layer(given, 0, own),
        ("output_rag", 1): lambda own: _output_layer(given, 0, own),
    }
    if samples > 1:
        ways["closed_book", samples] = lambda own: _closed_book(given, own)
        ways["input_rag", samples] = lambda own: _several(given, _input_layer, own)
        ways["output_rag", samples] = lambda own: _several(given, _output_layer, own)
        if all(answer.claims[i].verdict is not None for i in chosen):
            ways["simulrag", 1] = lambda own: _one_sample(given, chosen, own)
    return tuple(
        await together(
            _final_text(method, m, way, ask, chosen if method == "simulrag" else ())
            for (method, m), way in ways.items()
        )
    )


@dataclass(frozen=True)
class _Given:
    question: str
    answer: Answer
    limit: int
    merging: Merging

    @property
    def context(self) -> str:
        return self.answer.retrieval.context if self.answer.retrieval is not None else ""


_Layer = Callable[[_Given, int, Asker], Awaitable[str]]


def first_sample(answer: Answer) -> tuple[int, ...]:
    """The claims of the first sample, by their indices among the merged ones."""
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
    """What SimulRAG verifies at m = 1: indices into each question's claims, by the same budget.

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


async def _final_text(
    method: FinalMethod, samples: int, way: Way, ask: Asker, selected: tuple[int, ...]
) -> FinalText:
    own = Counted(ask)
    text, failure = "", None
    try:
        text = await way(own)
    except ModelError as error:
        failure = str(error)
    usage = dict(sorted(own.usage.items()))
    return FinalText(
        method=method,
        samples=samples,
        text=text,
        selected=selected,
        usage=usage,
        failure=failure,
    )


async def _input_layer(given: _Given, sample: int, ask: Asker) -> str:
    """One answer with the evidence in sight; without evidence it is the closed-book one."""
    if not given.context:
        return given.answer.closed_book[sample]
    completion = await ask.ask(
        "input_rag", sample_index=sample, question=given.question, context=given.context
    )
    return completion.text.strip()


async def _output_layer(given: _Given, sample: int, ask: Asker) -> str:
    """A closed-book answer revised by the evidence; without evidence it stays as it is."""
    text = given.answer.closed_book[sample]
    if not given.context:
        return text
    completion = await ask.ask(
        "output_rag", question=given.question, answer=text, context=given.context
    )
    return completion.text.strip()


async def _several(given: _Given, layer: _Layer, ask: Asker) -> str:
    """All samples of one way as one answer: their claims merged, then synthesised."""
    samples = range(len(given.answer.closed_book))
    texts = await together(layer(given, sample, ask) for sample in samples)
    sets = await together(decompose(given.question, t, ask, limit=given.limit) for t in texts)
    merged = await merge_claims(tuple(sets), ask, given.merging)
    return await synthesize(given.question, tuple(claim.text for claim in merged), ask)


async def _closed_book(given: _Given, ask: Asker) -> str:
    """All merged claims as they were before any verification."""
    return await synthesize(given.question, tuple(c.text for c in given.answer.claims), ask)


async def _one_sample(given: _Given, chosen: tuple[int, ...], ask: Asker) -> str:
    """The first sample's claims, those chosen as verified; all are kept, being equally sure."""
    claims = given.answer.claims
    texts = (
        claims[i].updated_text if i in chosen else claims[i].text
        for i in first_sample(given.answer)
    )
    return await synthesize(given.question, tuple(dict.fromkeys(texts)), ask)
