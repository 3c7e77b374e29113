"""What the metrics know of one domain: its records, and the two frames made from them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from simulrag.errors import InputError
from simulrag.judging.people import Key, Settled
from simulrag.method.recipes import MARKED
from simulrag.method.settings import ClaimsPerCall
from simulrag.metrics.exports import Exported, Pricing, no_prices
from simulrag.metrics.frames import (
    AnswerCounts,
    FrameRows,
    LabelsOfQuestion,
    TokenUsage,
    asked_values,
    claim_columns,
    claim_rows,
    final_columns,
    final_rows,
    text_counts,
)
from simulrag.metrics.intervals import Floats, Ints, scenario_weights
from simulrag.metrics.methods import FINAL, OURS
from simulrag.metrics.pool import ClaimPool
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import select
from simulrag.questions.records import Template
from simulrag.records import (
    Answer,
    AnswerVariant,
    FinalClaims,
    FinalText,
    LabelValue,
    Question,
    claim_hash,
)

if TYPE_CHECKING:
    import polars as pl

LabelRow = tuple[str, str, LabelValue | None]
"""Question id, claim hash and label; None where the judge failed."""
FINAL_COUNTS = (
    "true",
    "false",
    "undecided",
    "complete",
    "words",
    "claims_sent",
    "asked",
    "stated",
)
FinalCounts = Mapping[str, Floats]
"""By the names of ``FINAL_COUNTS`` what is counted of a line's final answers, an entry an answer.

``true``, ``false`` and ``undecided``: distinct claims by label; ``complete``: whether all labels
are known. ``words``, ``claims_sent``, ``asked`` and ``stated`` as in ``frames``. Floats, so that
resamples weigh them.
"""


@dataclass(frozen=True, eq=False)
class DomainData:
    """One domain, ready to be measured.

    ``answers``: without their texts and claims, which the frames hold: with them 20,000 would take
    12 GB. ``counted``: what is counted of each. ``questions``: without evidence.
    ``asked``: the values that each question asks for, by its id. ``labels_missing``: distinct
    texts of claims without a label; ``labels_unknown``: labels of no such text. ``claims`` and
    ``finals``: the frames that ``frames`` describes. ``settled``: what people say; ``judge``: the
    judge's labels of the same claims. ``exported``: what the exports of calls say, by stage.
    ``claims_per_call``: how the answers were made, which decides what a method by itself costs.
    """

    domain: str
    settings: MetricSettings
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    counted: tuple[AnswerCounts, ...]
    asked: Mapping[str, tuple[float, ...]]
    labels_missing: int
    labels_unknown: int
    claims: pl.DataFrame
    finals: pl.DataFrame
    judge: Mapping[Key, LabelValue | None]
    settled: Mapping[Key, Settled]
    exported: Mapping[str, Exported] = field(default_factory=dict)
    pricing: Pricing = no_prices
    claims_per_call: ClaimsPerCall = field(default_factory=ClaimsPerCall)

    @cached_property
    def scenario(self) -> Ints:
        """The index of each answer's scenario among those of the answers."""
        scenario_of = {question.question_id: question.scenario_id for question in self.questions}
        names = [scenario_of[answer.question_id] for answer in self.answers]
        index = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return np.array([index[name] for name in names], dtype=np.int64)

    @cached_property
    def scenarios(self) -> int:
        """How many distinct scenarios the answers have."""
        return int(self.scenario.max(initial=-1)) + 1

    @cached_property
    def weights(self) -> Floats:
        """How often each scenario is drawn: (1 + resamples) x scenarios."""
        return self.resampled(self.settings.bootstrap, self.domain)

    def resampled(self, resamples: int, stream: str) -> Floats:
        """Draw ``intervals.scenario_weights`` of this domain's scenarios."""
        return scenario_weights(self.scenarios, resamples, self.settings.seed, stream)

    @cached_property
    def pool(self) -> ClaimPool:
        """The claims as arrays."""
        places = {answer.question_id: place for place, answer in enumerate(self.answers)}
        question = [places[name] for name in self.claims["question_id"]]
        return ClaimPool.of(self.claims, self.settings.centralities, question, self.scenario)

    @cached_property
    def ranks_claims(self) -> bool:
        """Whether there are claims of sampled answers; a grounded run may have none beside it."""
        return self.own_line.method not in MARKED or not self.claims.is_empty()

    @cached_property
    def coverage(self) -> float | None:
        """The mean over all questions of the share of its claims that count."""
        return self.pool.coverage([answer.failure is None for answer in self.answers])

    @cached_property
    def final_counts(self) -> dict[AnswerVariant, FinalCounts]:
        """What is counted of each line that was written."""
        import polars as pl

        labelled = pl.col("claim").is_null() | pl.col("label").is_not_null()
        counts = (
            *((pl.col("label") == label).sum().alias(label) for label in get_args(LabelValue)),
            (pl.col("complete") & labelled).all(),
            pl.first("words", "claims_sent", "stated"),
        )
        answers = pl.DataFrame(
            {
                "question_id": [answer.question_id for answer in self.answers],
                "asked": [len(self.asked[answer.question_id]) for answer in self.answers],
            },
            schema_overrides={"question_id": pl.String},
        )
        by_line: dict[AnswerVariant, FinalCounts] = {}
        for size in set(self.finals.select(*AnswerVariant.model_fields).iter_rows()):
            line = dict(zip(AnswerVariant.model_fields, size, strict=True))
            of_line = select(self.finals, **line).group_by("question_id").agg(counts)
            rows = answers.join(of_line, "question_id", "left", maintain_order="left")
            columns = rows.drop("question_id").cast(pl.Float64).fill_null(0)
            by_line[AnswerVariant(**line)] = {column.name: column.to_numpy() for column in columns}
        return by_line

    @cached_property
    def lines(self) -> tuple[AnswerVariant, ...]:
        """The final answers to measure: SimulRAG's first, of one method the largest first."""
        written = set(self.final_counts)
        if not any(answer.failure is None for answer in self.answers):
            # Every method failed on all questions, which is something to show.
            written |= {self.own_line, AnswerVariant(method="closed_book", samples=1)}
        return tuple(sorted(written, key=_place))

    @cached_property
    def own_line(self) -> AnswerVariant:
        """The line that the run is about: grounded, else SimulRAG at its largest m and budget."""
        ours = [line for line in self.final_counts if line.method in OURS]
        ours = ours or [next(iter(counted.texts)) for counted in self.counted]
        return min(ours, key=_place, default=AnswerVariant(method="simulrag", samples=1))


def _place(line: AnswerVariant) -> tuple[float, ...]:
    """Place a line among the others: by its method, then the largest m, budget and kappa first."""
    return FINAL.index(line.method), *(-number for number in line.size)


def _final_texts(answer: Answer) -> dict[AnswerVariant, FinalText]:
    """Return a question's final answers by line: its own, one closed-book sample, the baselines.

    A failed one that is not grounded counts as the published method's at its m.
    """
    own = answer.final.line
    if answer.failure is not None and own.method not in MARKED:
        own = AnswerVariant(method="simulrag", samples=max(1, len(answer.closed_book)))
    line = AnswerVariant(method="closed_book", samples=1)
    alone = [FinalText(line=line, text=text) for text in answer.closed_book[:1]]
    return {own: answer.final} | {final.line: final for final in (*alone, *answer.baselines)}


def labels_by_question(labels: Iterable[LabelRow]) -> Mapping[str, LabelsOfQuestion]:
    """Group labels by question id. Raises InputError where two rows contradict each other."""
    grouped: dict[str, dict[str, LabelValue | None]] = {}
    for question, claim, label in labels:
        if grouped.setdefault(question, {}).setdefault(claim, label) != label:
            raise InputError(
                f"labels: question '{question}' has two different judge labels for the claim "
                f"{claim}: remove one"
            )
    return grouped


def domain_data(
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
) -> DomainData:
    """Make a domain's data from its records.

    ``templates`` of the questions, by id: without them nobody knows which values are asked.
    ``settled``: labels by people, which override the judge's; those of other questions count
    nowhere.
    Raises InputError for records that contradict each other or do not belong together.
    """
    asked: dict[str, Question] = {}
    values: dict[str, tuple[float, ...]] = {}
    for question in questions:
        values[question.question_id] = asked_values(question, templates or {})
        asked[question.question_id] = question.model_copy(update={"evidence": ()})
    people = {key: group for key, group in (settled or {}).items() if key[0] in asked}
    labels = dict(judge)
    for (name, claim), group in people.items():
        labels[name] = {**labels.get(name, {}), claim: group.label}

    kept: dict[str, Answer] = {}
    counted: dict[str, AnswerCounts] = {}
    statements: dict[str, set[str]] = {}
    lines: dict[AnswerVariant, AnswerVariant] = {}  # one object a line, not one a question
    claim_frame = FrameRows(claim_columns(settings.centralities))
    for answer in answers:
        name = answer.question_id
        _check_answer(name, asked, kept)
        of_question = labels.get(name, {})
        counted[name] = _counts(answer, of_question, lines)
        statements[name] = {claim_hash(statement.text) for statement in answer.final.statements}
        kept[name] = _without_texts(answer)
        if answer.failure is None:
            scenario = asked[name].scenario_id
            claim_frame.add(claim_rows(answer, scenario, of_question, settings.centralities))
    for name in judge:
        _check_owner("labels", name, kept)

    # Where nobody looked twice, RAG by several looks is input-layer RAG.
    looked_again = any(
        len(answered.retrieval.looks) > 1 for answered in kept.values() if answered.retrieval
    )
    if not looked_again:
        counted = {name: _without_looks(counts) for name, counts in counted.items()}
    seen: set[tuple[str, AnswerVariant]] = set()
    final_frame = FrameRows(final_columns())
    for final in finals:
        name = final.question_id
        _check_final(final, kept, seen)
        if looked_again or final.line.method != "rag_looks":
            final_frame.add(
                final_rows(
                    final,
                    asked[name].scenario_id,
                    labels.get(name, {}),
                    values[name],
                    counted[name].texts.get(final.line),
                    complete=kept[name].failure is None and final.failure is None,
                )
            )
    claims, final_claims = claim_frame.frame(), final_frame.frame()
    of_answered = {name: labels.get(name, {}) for name in kept}
    missing, unknown = _unmatched(claims, final_claims, statements, of_answered)
    return DomainData(
        domain=domain,
        settings=settings,
        questions=tuple(asked.values()),
        answers=tuple(kept.values()),
        counted=tuple(counted.values()),
        asked=values,
        labels_missing=missing,
        labels_unknown=unknown,
        claims=claims,
        finals=final_claims,
        judge={key: judge.get(key[0], {}).get(key[1]) for key in people},
        settled=people,
        exported=exported or {},
        pricing=pricing,
        claims_per_call=claims_per_call,
    )


def _counts(
    answer: Answer, labels: LabelsOfQuestion, lines: dict[AnswerVariant, AnswerVariant]
) -> AnswerCounts:
    """Count what an answer holds; its lines are those of ``lines``, which grow by new ones."""
    texts = {
        lines.setdefault(line, line): text_counts(answer, text, labels)
        for line, text in _final_texts(answer).items()
    }
    first = sum(any(sample == 0 for sample, _ in claim.sources) for claim in answer.claims)
    return AnswerCounts(TokenUsage.of(answer.usage), first, texts)


def _without_looks(counts: AnswerCounts) -> AnswerCounts:
    texts = {line: text for line, text in counts.texts.items() if line.method != "rag_looks"}
    return counts._replace(texts=texts)


def _unmatched(
    claims: pl.DataFrame,
    finals: pl.DataFrame,
    statements: Mapping[str, Set[str]],
    labels: Mapping[str, LabelsOfQuestion],
) -> tuple[int, int]:
    """Count the distinct claim texts that have no label, and the labels of no such text."""
    import polars as pl

    texts = pl.concat(
        frame.select("question_id", text=claim, label=pl.col(label).is_not_null())
        for frame, claim, label in (
            (claims, "hash_before", "label_before"),
            (claims, "hash_after", "label_after"),
            (finals.drop_nulls("claim"), "claim_hash", "label"),
        )
    )
    labelled = texts.group_by("question_id", "text").agg(pl.col("label").all())
    missing = len(labelled) - int(labelled["label"].sum())
    named = labelled.select("question_id", "text").iter_rows()
    known = {(name, text) for name, text in named if text in labels[name]}
    known |= {(name, text) for name, of in statements.items() for text in of & labels[name].keys()}
    return missing, sum(map(len, labels.values())) - len(known)


_NO_TEXT = FinalText(line=AnswerVariant(method="simulrag", samples=1))


def _without_texts(answer: Answer) -> Answer:
    """Keep what its ``AnswerCounts`` and the frames lack: its retrieval, and how it ended."""
    retrieval = answer.retrieval
    if retrieval is not None:
        runs = (run.model_copy(update={"outputs": {}, "text": ""}) for run in retrieval.evidence)
        retrieval = retrieval.model_copy(update={"evidence": tuple(runs)})
    return answer.model_copy(
        update={
            "retrieval": retrieval,
            "closed_book": ("",) * len(answer.closed_book),
            "answer_claims": (),
            "claims": (),
            "final": _NO_TEXT,
            "baselines": (),
            "usage": {},
        }
    )


def _check_answer(name: str, questions: Container[str], answered: Container[str]) -> None:
    """Raise InputError unless an answer is of a question that was asked, and there once."""
    if name in answered:
        raise InputError(f"answers: question '{name}' is there twice: remove one row")
    if name not in questions:
        raise InputError(
            f"question '{name}' has an answer and is not in the benchmark: "
            "answer and benchmark files must belong together"
        )


def _check_owner(kind: str, name: str, answered: Container[str]) -> None:
    """Raise InputError for a record of a question without an answer."""
    if name not in answered:
        raise InputError(
            f"{kind}: question '{name}' has no answer: answer and label files must belong together"
        )


def _check_final(
    final: FinalClaims, answered: Container[str], seen: set[tuple[str, AnswerVariant]]
) -> None:
    """Raise InputError unless final claims are of an answered question, and there once."""
    name, line = final.question_id, final.line
    _check_owner("final claims", name, answered)
    if (name, line) in seen:
        raise InputError(
            f"final claims: question '{name}' is there twice for {line.method} at "
            f"m = {line.samples}: remove one row"
        )
    seen.add((name, line))
