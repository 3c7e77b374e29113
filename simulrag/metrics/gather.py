"""A domain's data from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from simulrag.errors import InputError
from simulrag.judging.people.labels import Key, Settled
from simulrag.method.settings import ClaimsPerCall, Merging
from simulrag.metrics.asked import Asks, asks_of
from simulrag.metrics.data import Answered, DomainData, Written
from simulrag.metrics.exports import Exported
from simulrag.metrics.frames import claim_rows, claims_frame, final_row, finals_frame
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.pool import LabelsOfQuestion
from simulrag.metrics.settings import MetricSettings
from simulrag.questions.open.records import Template
from simulrag.records import (
    Answer,
    FinalClaims,
    FinalText,
    LabelValue,
    Line,
    Question,
    Standing,
    Statement,
    Usage,
    claim_hash,
)

if TYPE_CHECKING:
    import polars as pl


def collect(
    domain: str,
    settings: MetricSettings,
    *,
    questions: Iterable[Question],
    answers: Iterable[Answer],
    finals: Iterable[FinalClaims],
    judge: Mapping[str, LabelsOfQuestion],
    templates: Mapping[str, Template] | None = None,
    settled: Mapping[Key, Settled] | None = None,
    exported: Mapping[str, Exported] | None = None,
    pricing: Pricing = no_prices,
    claims_per_call: ClaimsPerCall = ClaimsPerCall(),  # noqa: B008 immutable
    merging: Merging = "joint",
) -> DomainData:
    """A domain's data from its records, each let go: held they would take 9 GB of 20,000 questions.

    ``templates`` of the questions, by id: without them nobody knows which values are asked.
    ``settled``: labels by people, which override the judge's; those of other questions count
    nowhere. ``exported``: the exports of calls, by stage. ``claims_per_call`` and ``merging``: how
    the answers were made, which decides what a method by itself would cost.
    Raises InputError for records that contradict each other or do not belong together.
    """
    asked: dict[str, Question] = {}
    asks: dict[str, Asks] = {}
    for one in questions:
        asks[one.question_id] = asks_of(one, templates or {})
        asked[one.question_id] = one.model_copy(update={"evidence": ()})
    people = {key: one for key, one in (settled or {}).items() if key[0] in asked}
    labels = dict(judge)
    for (name, claim), said in people.items():
        labels[name] = {**labels.get(name, {}), claim: said.label}
    answered: dict[str, Answered] = {}
    scenarios: dict[str, int] = {}

    def rows_of_claims() -> Iterator[tuple[Any, ...]]:
        for answer in answers:
            name = answer.question_id
            if name in answered:
                raise InputError(f"answers: question '{name}' is there twice: remove one row")
            if name not in asked:
                raise InputError(
                    f"question '{name}' has an answer and is not in the benchmark: "
                    "answer and benchmark files must belong together"
                )
            scenario_id, of_question = asked[name].scenario_id, labels.get(name, {})
            scenario = scenarios.setdefault(scenario_id, len(scenarios))
            answered[name] = _answered(answer, scenario, len(asks[name].values), of_question)
            if answer.failure is None:
                yield from claim_rows(answer, scenario_id, of_question, settings.centralities)

    def rows_of_finals() -> Iterator[dict[str, Any]]:
        seen: set[tuple[str, Line]] = set()
        for final in finals:
            name, line = final.question_id, final.line
            if name not in answered:
                raise InputError(_stranger("final claims", name))
            if (name, line) in seen:
                raise InputError(
                    f"final claims: question '{name}' is there twice for {line.method} at "
                    f"m = {line.samples}: remove one row"
                )
            seen.add((name, line))
            of_question = labels.get(name, {})
            yield final_row(final, answered[name], asked[name].scenario_id, asks[name], of_question)

    claims = claims_frame(rows_of_claims(), settings.centralities)
    for question in judge:
        if question not in answered:
            raise InputError(_stranger("labels", question))
    final_claims = finals_frame(rows_of_finals())
    of_answered = {name: found for name, found in labels.items() if name in answered}
    missing, unknown = _unmatched(claims, final_claims, of_answered)
    return DomainData(
        domain=domain,
        settings=settings,
        questions=tuple(asked.values()),
        answers=tuple(answered.values()),
        scenarios=len(scenarios),
        claims=claims,
        finals=final_claims,
        judge={key: judge.get(key[0], {}).get(key[1]) for key in people},
        settled=people,
        labels_missing=missing,
        labels_unknown=unknown,
        exported=exported or {},
        pricing=pricing,
        claims_per_call=claims_per_call,
        merging=merging,
    )


def _unmatched(
    claims: pl.DataFrame, finals: pl.DataFrame, labels: Mapping[str, LabelsOfQuestion]
) -> tuple[int, int]:
    """How many distinct claim texts have no label, and how many labels no such text."""
    unknown = {(name, claim) for name, found in labels.items() for claim in found}
    missing: set[Key] = set()
    for frame, claim, label in (
        (claims, "hash_before", "label_before"),
        (claims, "hash_after", "label_after"),
        (finals.drop_nulls("claim"), "claim_hash", "label"),
    ):
        texts = frame.select("question_id", claim)
        unknown.difference_update(texts.iter_rows())
        missing.update(texts.filter(frame[label].is_null()).iter_rows())
    return len(missing), len(unknown)


def _answered(answer: Answer, scenario: int, asked: int, labels: LabelsOfQuestion) -> Answered:
    def written(final: FinalText, usage: Mapping[str, Usage]) -> Written:
        standings = {} if answer.failure else _standings(answer, final.statements, labels)
        return Written(usage, len(final.text.split()), _sent(answer, final), standings)

    retrieval, samples = answer.retrieval, max(1, len(answer.closed_book))
    # What failed has no final answer: it counts as the published method's at its m.
    failed = Line(method="simulrag", samples=samples)
    own = failed if answer.failure else answer.final.line
    text = answer.closed_book[0] if answer.closed_book else ""
    alone = FinalText(line=Line(method="closed_book", samples=1), text=text)
    finals = {own: written(answer.final, answer.usage)}
    finals |= {one.line: written(one, one.usage) for one in (alone, *answer.baselines)}
    return Answered(
        question_id=answer.question_id,
        scenario=scenario,
        completed=answer.failure is None,
        samples=samples,
        retrieval=retrieval.status if retrieval else None,
        attempts=retrieval.attempts if retrieval else 0,
        calls=tuple(one.call for one in answer.evidence),
        usage=answer.usage,
        simulator_runs=answer.simulator_runs,
        from_first=sum(any(sample == 0 for sample, _ in one.sources) for one in answer.claims),
        asked=asked,
        finals={_shared(line): one for line, one in finals.items()},
    )


@cache
def _shared(line: Line) -> Line:
    """One and the same object for equal lines, of which there are few."""
    return line


def _standings(
    answer: Answer, statements: Sequence[Statement], labels: LabelsOfQuestion
) -> Mapping[tuple[Standing, LabelValue | None], int]:
    """How many statements have a standing and a label.

    A checked statement may have the simulator's value behind it, which its claim has not.
    """
    counts = Counter[tuple[Standing, LabelValue | None]]()
    for one in statements:
        own = one.claim is None or one.standing == "corrected"
        text = one.text if own else answer.claims[one.claim or 0].text
        counts[one.standing, labels.get(claim_hash(text))] += 1
    return dict(counts)


def _sent(answer: Answer, final: FinalText) -> int:
    """How many claims a final answer sent to verification."""
    return sum(answer.claims[index].verdict is not None for index in final.selected)


def _stranger(kind: str, question: str) -> str:
    return (
        f"{kind}: question '{question}' has no answer: answer and label files must belong together"
    )
