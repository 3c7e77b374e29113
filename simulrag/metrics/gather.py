"""Gathers a domain's data while its records stream by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from simulrag.errors import InputError
from simulrag.judging.people.labels import Key, Settled
from simulrag.method.settings import ClaimsPerCall, Merging
from simulrag.metrics.asked import Asks, asks_of, stated
from simulrag.metrics.consistency import contradictions
from simulrag.metrics.data import (
    Answered,
    Asked,
    Counted,
    DomainData,
    FinalCounts,
    Retrieved,
    Written,
)
from simulrag.metrics.exports import Exported
from simulrag.metrics.intervals import Floats
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.pool import LabelLookup, PoolBuilder
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.topics import Topic, topics_of
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
    claim_hash,
)


def asked_of(question: Question) -> Asked:
    """What is counted of a question."""
    claims = question.reference_claims
    kinds = [claim.kind for claim in claims if claim.source == "evidence"]
    return Asked(
        question_id=question.question_id,
        scenario_id=question.scenario_id,
        words=len(question.reference_answer.split()),
        quantitative=kinds.count("quantitative") if kinds else None,
        qualitative=kinds.count("qualitative") if kinds else None,
        open_claims=len(claims) - len(kinds),
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
    templates: Mapping[str, Template] | None = None,
    settled: Mapping[Key, Settled] | None = None,
    exported: Mapping[str, Exported] | None = None,
    pricing: Pricing = no_prices,
    claims_per_call: ClaimsPerCall = ClaimsPerCall(),  # noqa: B008 immutable
    merging: Merging = "joint",
) -> DomainData:
    """A domain's data from its records, each read once and let go.

    ``templates`` of the questions, by id: without them nobody knows which values are asked.
    ``settled``: labels by people, which override the judge's; those of other questions count
    nowhere. ``exported``: the exports of calls, by stage. ``claims_per_call`` and ``merging``: how
    the answers were made, which decides what a method by itself would cost.
    Raises InputError for records that contradict each other or do not belong together.
    """
    asks: dict[str, Asks] = {}

    def known(question: Question) -> Asked:
        asks[question.question_id] = asks_of(question, templates or {})
        return asked_of(question)

    asked = tuple(map(known, questions))
    ids = {one.question_id for one in asked}
    people = {key: one for key, one in (settled or {}).items() if key[0] in ids}
    labels = {**judge, **{key: one.label for key, one in people.items()}}
    gathering = _Gathering(asked, asks, labels, PoolBuilder(settings.centralities))
    for answer in answers:
        gathering.add(answer)
    for question, _ in judge:
        if question not in gathering.place:
            raise InputError(_stranger("labels", question))
    for final in finals:
        gathering.add_final(final)
    wanted, seen = gathering.wanted, gathering.wanted | gathering.failed_texts
    return DomainData(
        domain=domain,
        settings=settings,
        questions=asked,
        answers=tuple(gathering.answers),
        scenarios=len(gathering.scenarios),
        pool=gathering.pool.build(),
        finals=gathering.final_counts(),
        topics=tuple(gathering.topics),
        judge=judge,
        settled=people,
        labels_missing=sum(labels.get(key) is None for key in wanted),
        labels_unknown=sum(key[0] in gathering.place and key not in seen for key in labels),
        exported=exported or {},
        pricing=pricing,
        claims_per_call=claims_per_call,
        merging=merging,
        standings=gathering.standings(),
    )


class _Gathering:
    """What has been seen of a domain so far."""

    def __init__(
        self,
        asked: tuple[Asked, ...],
        asks: Mapping[str, Asks],
        labels: LabelLookup,
        pool: PoolBuilder,
    ) -> None:
        self.scenario_of = {one.question_id: one.scenario_id for one in asked}
        self.asks = asks
        self.labels = labels
        self.pool = pool
        self.topics: list[Topic] = []
        self.answers: list[Answered] = []
        self.place: dict[str, int] = {}
        self.scenarios: dict[str, int] = {}
        self.wanted: set[Key] = set()
        self.failed_texts: set[Key] = set()
        self._written: list[dict[Line, tuple[int, int]]] = []
        self._finals: dict[Line, dict[int, Counted]] = {}
        self._standings: dict[Line, dict[int, dict[Standing, list[int]]]] = {}

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
            named = self.pool.centralities
            self.topics += topics_of(answer, self.labels, named, place, scenario)
            for final in answer.finals:
                if final.statements:
                    found = self._standings.setdefault(final.line, {})
                    found[place] = _standings(answer, final.statements, self.labels)
        self.answers.append(_answered(answer, scenario))
        self._written.append(
            {final.line: (len(final.text.split()), _sent(answer, final)) for final in answer.finals}
        )

    def add_final(self, final: FinalClaims) -> None:
        """Count one final answer's distinct claims."""
        name = final.question_id
        if name not in self.place:
            raise InputError(_stranger("final claims", name))
        place, line = self.place[name], final.line
        of_line = self._finals.setdefault(line, {})
        if place in of_line:
            raise InputError(
                f"final claims: question '{name}' is there twice for {line.method} at "
                f"m = {line.samples}: remove one row"
            )
        texts = {claim_hash(text): text for text in final.claims}
        self.wanted |= {(name, one) for one in texts}
        found = {one: self.labels.get((name, one)) for one in texts}
        labels = list(found.values())
        asks = self.asks[name]
        words, sent = self._written[place].get(line, (0, 0))
        of_line[place] = Counted(
            true=labels.count("true"),
            false=labels.count("false"),
            undecided=labels.count("undecided"),
            complete=self.answers[place].completed and final.failure is None and None not in labels,
            words=words,
            sent=sent,
            asked=len(asks.values),
            stated=stated(asks.values, (texts[one] for one in found if found[one] == "true")),
            grouped=final.subjects is not None,
            contradictions=contradictions(final.claims, final.subjects or (), asks.scales),
        )

    def standings(self) -> dict[Line, dict[Standing, Floats]]:
        """Arrays over all answers, in order."""
        found: dict[Line, dict[Standing, Floats]] = {}
        for line, of_line in self._standings.items():
            for place, counts in of_line.items():
                for standing, row in counts.items():
                    arrays = found.setdefault(line, {})
                    nothing = np.zeros((len(self.answers), len(_LABELS)))
                    arrays.setdefault(standing, nothing)[place] = row
        return found

    def final_counts(self) -> dict[Line, FinalCounts]:
        """Arrays over all answers, in order."""
        nothing = [
            Counted(asked=len(self.asks[answer.question_id].values)) for answer in self.answers
        ]
        return {
            line: FinalCounts.of([of_line.get(at, one) for at, one in enumerate(nothing)])
            for line, of_line in self._finals.items()
        }


_LABELS: tuple[LabelValue | None, ...] = ("true", "false", "undecided", None)


def _standings(
    answer: Answer, statements: Sequence[Statement], labels: LabelLookup
) -> dict[Standing, list[int]]:
    """By standing, how many statements have each of ``_LABELS``.

    A checked statement may have the simulator's value behind it, which its claim has not.
    """
    counts: dict[Standing, list[int]] = {}
    for one in statements:
        own = one.claim is None or one.standing == "corrected"
        text = one.text if own else answer.claims[one.claim or 0].text
        label = labels.get((answer.question_id, claim_hash(text)))
        counts.setdefault(one.standing, [0] * len(_LABELS))[_LABELS.index(label)] += 1
    return counts


def _answered(answer: Answer, scenario: int) -> Answered:
    retrieval = answer.retrieval
    claims = answer.claims
    first = sum(any(sample == 0 for sample, _ in claim.sources) for claim in claims)
    samples = max(1, len(answer.closed_book))
    return Answered(
        question_id=answer.question_id,
        scenario=scenario,
        completed=answer.failure is None,
        samples=samples,
        # What failed has no final answer: it counts as the published method's at its m.
        line=answer.final.line
        if answer.failure is None
        else Line(method="simulrag", samples=samples),
        retrieved=None
        if retrieval is None
        else Retrieved(
            retrieval.status, retrieval.attempts, tuple(one.call for one in retrieval.evidence)
        ),
        usage=answer.usage,
        simulator_runs=answer.simulator_runs,
        sent=_sent(answer, answer.final),
        from_first=first,
        baselines=tuple(
            Written(text.line, text.usage, _sent(answer, text)) for text in answer.baselines
        ),
    )


def _sent(answer: Answer, final: FinalText) -> int:
    """How many claims a final answer sent to verification."""
    return sum(answer.claims[index].verdict is not None for index in final.selected)


def _stranger(kind: str, question: str) -> str:
    return (
        f"{kind}: question '{question}' has no answer: answer and label files must belong together"
    )
