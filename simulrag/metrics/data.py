"""What the metrics know of one domain: two frames of claims, and what is counted of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from simulrag.judging.people.labels import Key, Settled
from simulrag.method.settings import ClaimsPerCall, Merging
from simulrag.metrics.exports import Exported
from simulrag.metrics.intervals import Floats, Ints, scenario_weights
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.names import FINAL, METHOD
from simulrag.metrics.pool import ClaimPool
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import select
from simulrag.records import (
    LabelValue,
    Line,
    Question,
    RetrievalStatus,
    Standing,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Written:
    """What is counted of a final answer, and its own usage.

    ``words``: of its text, split at white space; ``sent``: claims sent to verification;
    ``standings``: how many of its statements have a standing and a label (None: no label).
    """

    usage: Mapping[str, Usage]
    words: int
    sent: int
    standings: Mapping[tuple[Standing, LabelValue | None], int]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with an answer, complete or failed.

    ``scenario``: its index among those of the answers. ``retrieval``: what the retrieval interface
    came to, in so many ``attempts``; ``calls``: those that ran. ``from_first``: how many claims the
    first sample made. ``asked``: how many values the question asks for. ``finals``: its own final
    answer first, which has all of the usage, then one closed-book sample and the baselines.
    """

    question_id: str
    scenario: int
    completed: bool
    samples: int
    retrieval: RetrievalStatus | None
    attempts: int
    calls: tuple[ToolCall, ...]
    usage: Mapping[str, Usage]
    simulator_runs: int
    from_first: int
    asked: int
    finals: Mapping[Line, Written]

    @property
    def line(self) -> Line:
        """That of its own final answer."""
        return next(iter(self.finals))


@dataclass(frozen=True)
class FinalCounts:
    """What is counted of a line's final answers, a question each.

    ``true``, ``false`` and ``undecided``: distinct claims by label; ``complete``: whether all
    labels are known. ``grouped``: whether it is known what the claims are about, and
    ``contradictions``: how many there are then. The others as in ``frames``.
    One entry an answer of the domain, in order; float arrays, so that resamples weigh them.
    """

    true: Floats
    false: Floats
    undecided: Floats
    complete: Floats
    words: Floats
    claims_sent: Floats
    asked: Floats
    stated: Floats
    grouped: Floats
    contradictions: Floats


@dataclass(frozen=True, eq=False)
class DomainData:
    """One domain, ready to be measured.

    ``scenarios``: how many distinct ones the answers have. ``claims`` and ``finals``: the two
    frames that ``frames`` describes. ``settled``: what people say; ``judge``: the judge's labels of
    the same claims. ``exported``: what the exports of calls say, by stage. ``claims_per_call`` and
    ``merging``: how the answers were made.
    """

    domain: str
    settings: MetricSettings
    questions: tuple[Question, ...]
    answers: tuple[Answered, ...]
    scenarios: int
    claims: pl.DataFrame
    finals: pl.DataFrame
    judge: Mapping[Key, LabelValue | None]
    settled: Mapping[Key, Settled]
    labels_missing: int
    labels_unknown: int
    exported: Mapping[str, Exported] = field(default_factory=dict)
    pricing: Pricing = no_prices
    claims_per_call: ClaimsPerCall = field(default_factory=ClaimsPerCall)
    merging: Merging = "joint"

    @cached_property
    def weights(self) -> Floats:
        """How often each scenario is drawn: (1 + resamples) x scenarios."""
        return self.resampled(self.settings.bootstrap, self.domain)

    def resampled(self, resamples: int, stream: str) -> Floats:
        """``intervals.scenario_weights`` of this domain's scenarios."""
        return scenario_weights(self.scenarios, resamples, self.settings.seed, stream)

    @cached_property
    def scenario(self) -> Ints:
        """The scenario's index of each answer."""
        return np.array([answer.scenario for answer in self.answers], dtype=np.int64)

    @cached_property
    def coverage(self) -> float | None:
        """The mean over all questions of the share of its claims that count."""
        return self.pool.coverage([answer.completed for answer in self.answers])

    @cached_property
    def pool(self) -> ClaimPool:
        """The claims as arrays."""
        places = {answer.question_id: place for place, answer in enumerate(self.answers)}
        question = [places[name] for name in self.claims["question_id"]]
        return ClaimPool.of(self.claims, self.settings.centralities, question, self.scenario)

    @cached_property
    def final_counts(self) -> dict[Line, FinalCounts]:
        """What is counted of each line that was written."""
        import polars as pl

        labelled = pl.col("claim").is_null() | pl.col("label").is_not_null()
        counts = (
            *((pl.col("label") == label).sum().alias(label) for label in get_args(LabelValue)),
            (pl.col("complete") & labelled).all(),
            pl.first("words", "claims_sent", "stated", "contradictions"),
            pl.first("contradictions").is_not_null().alias("grouped"),
        )
        answers = pl.DataFrame(
            [(answer.question_id, answer.asked) for answer in self.answers],
            schema={"question_id": pl.String, "asked": pl.Float64},
            orient="row",
        )
        found: dict[Line, FinalCounts] = {}
        for size in set(self.finals.select(*Line.model_fields).iter_rows()):
            line = dict(zip(Line.model_fields, size, strict=True))
            of_line = select(self.finals, **line).group_by("question_id").agg(counts)
            rows = answers.join(of_line, "question_id", "left", maintain_order="left")
            columns = {f.name: rows[f.name].cast(float).fill_null(0) for f in fields(FinalCounts)}
            found[Line(**line | {"method": METHOD[line["method"]]})] = FinalCounts(
                **{name: one.to_numpy() for name, one in columns.items()}
            )
        return found

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The final answers to measure: SimulRAG's first, of one method the largest first."""
        found = set(self.final_counts)
        if not any(answer.completed for answer in self.answers):
            # Every method failed on all questions, which is something to show.
            found |= {self.own_line, Line(method="closed_book", samples=1)}
        return tuple(sorted(found, key=_place))

    @cached_property
    def own_line(self) -> Line:
        """SimulRAG at its largest m and budget."""
        ours = [line for line in self.final_counts if line.method == "simulrag"]
        ours = ours or [answer.line for answer in self.answers]
        return min(ours, key=_place, default=Line(method="simulrag", samples=1))

    def counts(self, line: Line) -> FinalCounts:
        """A line's counts; of a line that nobody wrote, nothing is complete."""
        nothing = np.zeros(len(self.answers))
        return self.final_counts.get(line) or FinalCounts(*[nothing] * len(fields(FinalCounts)))


def _place(line: Line) -> tuple[float, ...]:
    """Of a line among the others: by its method, then the largest m, budget and kappa first."""
    return list(FINAL).index(line.method), *(-number for number in line.size)
