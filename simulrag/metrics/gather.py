"""Gathers a domain's data while its records stream by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from simulrag.errors import InputError
from simulrag.judging.people.labels import Key, Settled
from simulrag.metrics.data import (
    Answered,
    Asked,
    DomainData,
    FinalCounts,
    FinalLine,
    Retrieved,
    Written,
)
from simulrag.metrics.exports import Exported, TextTasks
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.pool import LabelLookup, PoolBuilder
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, FinalClaims, Question, claim_hash


def asked_of(question: Question) -> Asked:
    """What is counted of a question."""
    kinds = [claim.kind for claim in question.reference_claims]
    return Asked(
        question_id=question.question_id,
        scenario_id=question.scenario_id,
        words=len(question.reference_answer.split()),
        quantitative=kinds.count("quantitative") if kinds else None,
        qualitative=kinds.count("qualitative") if kinds else None,
        calls=question.calls,
        published=question.source == "published",
    )


def collect(
    domain: str,
    settings: MetricSettings,
    *,
    questions: Iterable[Question],
    answers: Iterable[Answer],
    finals: Iterable[FinalClaims],
    judge: LabelLookup,
    settled: Mapping[Key, Settled] | None = None,
    exported: Callable[[TextTasks], Mapping[str, Exported]] | None = None,
    pricing: Pricing = no_prices,
) -> DomainData:
    """A domain's data from its records, each read once and let go.

    ``settled``: labels by people, which override the judge's; those of other questions count
    nowhere. ``exported`` reads the exports of calls, by stage, once the answers' texts were seen.
    Raises InputError for records that contradict each other or do not belong together.
    """
    asked = tuple(asked_of(question) for question in questions)
    ids = {one.question_id for one in asked}
    people = {key: one for key, one in (settled or {}).items() if key[0] in ids}
    labels = {**judge, **{key: one.label for key, one in people.items()}}
    texts = TextTasks()
    gathering = _Gathering(asked, labels, PoolBuilder(settings.centralities))
    for answer in answers:
        gathering.add(answer)
        texts.see(answer)
    for question, _ in judge:
        if question not in gathering.place:
            raise InputError(_stranger("labels", question))
    for final in finals:
        gathering.add_final(final)
    wanted, known = gathering.wanted, gathering.wanted | gathering.failed_texts
    return DomainData(
        domain=domain,
        settings=settings,
        questions=asked,
        answers=tuple(gathering.answers),
        scenarios=len(gathering.scenarios),
        pool=gathering.pool.build(),
        finals=gathering.final_counts(),
        judge=judge,
        settled=people,
        labels_missing=sum(labels.get(key) is None for key in wanted),
        labels_unknown=sum(key[0] in gathering.place and key not in known for key in labels),
        exported=exported(texts) if exported is not None else {},
        pricing=pricing,
    )


class _Gathering:
    """What has been seen of a domain so far."""

    def __init__(self, asked: tuple[Asked, ...], labels: LabelLookup, pool: PoolBuilder) -> None:
        self.scenario_of = {one.question_id: one.scenario_id for one in asked}
        self.labels = labels
        self.pool = pool
        self.answers: list[Answered] = []
        self.place: dict[str, int] = {}
        self.scenarios: dict[str, int] = {}
        self.wanted: set[Key] = set()
        self.failed_texts: set[Key] = set()
        self._finals: dict[FinalLine, dict[int, tuple[int, int, int, bool]]] = {}

    def add(self, answer: Answer) -> None:
        name = answer.question_id
        if name in self.place:
            raise InputError(f"answers: question '{name}' is there twice: remove one row")
        if name not in self.scenario_of:
            raise InputError(
                f"question '{name}' has an answer and is not in the benchmark: "
                "answer and benchmark files must belong together"
            )
        place = self.place[name] = len(self.place)
        scenario = self.scenarios.setdefault(self.scenario_of[name], len(self.scenarios))
        texts = self.wanted if answer.failure is None else self.failed_texts
        for claim in answer.claims:
            texts |= {(name, claim_hash(claim.text)), (name, claim_hash(claim.updated_text))}
        if answer.failure is None:
            self.pool.add(answer, self.labels, place, scenario)
        self.answers.append(_answered(answer, scenario))

    def add_final(self, final: FinalClaims) -> None:
        """Count one final answer's distinct claims."""
        name = final.question_id
        if name not in self.place:
            raise InputError(_stranger("final claims", name))
        place = self.place[name]
        line = FinalLine(final.method, final.samples, final.budget_percent)
        of_line = self._finals.setdefault(line, {})
        if place in of_line:
            raise InputError(
                f"final claims: question '{name}' is there twice for {final.method} at "
                f"m = {final.samples}: remove one row"
            )
        hashes = dict.fromkeys(claim_hash(text) for text in final.claims)
        self.wanted |= {(name, one) for one in hashes}
        found = [self.labels.get((name, one)) for one in hashes]
        done = self.answers[place].completed and final.failure is None and None not in found
        counts = (found.count("true"), found.count("false"), found.count("undecided"))
        of_line[place] = (*counts, done)

    def final_counts(self) -> dict[FinalLine, FinalCounts]:
        """Arrays over all answers, in order."""
        missing = (0, 0, 0, False)
        return {
            line: FinalCounts(
                *np.array(
                    [of_line.get(place, missing) for place in range(len(self.answers))],
                    dtype=float,
                ).T
            )
            for line, of_line in self._finals.items()
        }


def _answered(answer: Answer, scenario: int) -> Answered:
    retrieval = answer.retrieval
    claims = answer.claims
    verdicts = sum(claim.verdict is not None for claim in claims)
    first = sum(any(sample == 0 for sample, _ in claim.sources) for claim in claims)

    def share(selected: tuple[int, ...]) -> float:
        used = sum(claims[index].verdict is not None for index in selected)
        return used / verdicts if verdicts else 0.0

    samples = max(1, len(answer.closed_book))
    return Answered(
        question_id=answer.question_id,
        scenario=scenario,
        completed=answer.failure is None,
        samples=samples,
        line=FinalLine("simulrag", samples, answer.budget_percent),
        retrieved=None
        if retrieval is None
        else Retrieved(
            retrieval.status, retrieval.attempts, tuple(one.call for one in retrieval.evidence)
        ),
        usage=answer.usage,
        simulator_runs=answer.simulator_runs,
        verdicts=verdicts,
        verified=share(answer.selected),
        from_first=first / len(claims) if claims else 0.0,
        baselines=tuple(
            Written(
                FinalLine(text.method, text.samples, text.budget_percent),
                text.usage,
                share(text.selected),
            )
            for text in answer.baselines
        ),
    )


def _stranger(kind: str, question: str) -> str:
    return (
        f"{kind}: question '{question}' has no answer: answer and label files must belong together"
    )
