"""What the metrics know of one domain: numbers and names, gathered by ``gather.collect``.

No answer is held once it was read: texts become labels, claims become arrays (``pool``), and of a
question remains what is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simulrag.judging.people.labels import Key, Settled
from simulrag.method.settings import ClaimsPerCall, Merging
from simulrag.metrics.exports import Exported
from simulrag.metrics.intervals import Floats, Ints, scenario_weights
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.names import FINAL
from simulrag.metrics.pool import ClaimPool, LabelLookup
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.topics import Topic
from simulrag.records import Line, Standing, ToolCall, Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the benchmark. Counts are None where the benchmark does not know them.

    ``words`` of the reference answer, split at white space; ``quantitative`` and ``qualitative``
    claims of the reference; ``open_claims``: those that no evidence backs.
    """

    question_id: str
    scenario_id: str
    words: int
    quantitative: int | None
    qualitative: int | None
    open_claims: int
    calls: tuple[ToolCall, ...]
    published: bool


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the retrieval interface did for a question; ``calls``: those that ran."""

    status: str
    attempts: int
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A baseline's final answer: its line, its own usage, and how many claims it verified."""

    line: Line
    usage: Mapping[str, Usage]
    sent: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with an answer, complete or failed.

    ``line``: SimulRAG's own; ``sent``: how many claims it verified; ``from_first``: how many claims
    the first sample made.
    """

    question_id: str
    scenario: int
    completed: bool
    samples: int
    line: Line
    retrieved: Retrieved | None
    usage: Mapping[str, Usage]
    simulator_runs: int
    sent: int
    from_first: int
    baselines: tuple[Written, ...]


@dataclass(frozen=True)
class FinalCounts:
    """What is counted of a line's final answers, a question each.

    ``true``, ``false`` and ``undecided``: unique claims by label; ``complete``: whether all labels
    are known. ``words`` of the text; ``sent``: claims sent to verification. ``asked``: values that
    the question asks for, ``stated``: those that a true claim states. ``grouped``: whether it is
    known what the claims are about, ``contradictions``: how many there are then.
    One entry an answer of the domain, in order; float arrays, so that resamples weigh them.
    """

    true: Floats
    false: Floats
    undecided: Floats
    complete: Floats
    words: Floats
    sent: Floats
    asked: Floats
    stated: Floats
    grouped: Floats
    contradictions: Floats

    @classmethod
    def of(cls, rows: Sequence[Counted]) -> FinalCounts:
        """From an entry a question."""
        table = np.array(rows, dtype=float).reshape(len(rows), len(Counted._fields))
        return cls(*table.T)


class Counted(NamedTuple):
    """One question's entries of ``FinalCounts``; by default nothing is complete."""

    true: float = 0
    false: float = 0
    undecided: float = 0
    complete: float = 0
    words: float = 0
    sent: float = 0
    asked: float = 0
    stated: float = 0
    grouped: float = 0
    contradictions: float = 0


@dataclass(frozen=True, eq=False)
class DomainData:
    """One domain, ready to be measured.

    ``judge``: the judge's labels; ``settled``: what people say. ``scenarios``: how many distinct
    ones the answers have; a question's index among them is ``Answered.scenario``. ``topics``: what
    its claims are about. ``exported``: what the exports of calls say, by stage.
    ``claims_per_call`` and ``merging``: how the answers were made. ``standings``: of a reconciled
    line, by standing, how many of its statements are labelled true, false, undecided or not at
    all: an array of questions x 4.
    """

    domain: str
    settings: MetricSettings
    questions: tuple[Asked, ...]
    answers: tuple[Answered, ...]
    scenarios: int
    pool: ClaimPool
    finals: Mapping[Line, FinalCounts]
    judge: LabelLookup
    settled: Mapping[Key, Settled]
    labels_missing: int
    labels_unknown: int
    topics: tuple[Topic, ...] = ()
    exported: Mapping[str, Exported] = field(default_factory=dict)
    pricing: Pricing = no_prices
    claims_per_call: ClaimsPerCall = field(default_factory=ClaimsPerCall)
    standings: Mapping[Line, Mapping[Standing, Floats]] = field(default_factory=dict)
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
    def lines(self) -> tuple[Line, ...]:
        """The final answers to measure: SimulRAG's first, of one method the largest first."""
        found = set(self.finals)
        if not any(answer.completed for answer in self.answers):
            # Every method failed on all questions, which is something to show.
            found |= {self.own_line, Line(method="closed_book", samples=1)}
        return tuple(sorted(found, key=_place))

    @cached_property
    def own_line(self) -> Line:
        """SimulRAG at its largest m and budget."""
        ours = [line for line in self.finals if line.method == "simulrag"]
        ours = ours or [answer.line for answer in self.answers]
        return min(ours, key=_place, default=Line(method="simulrag", samples=1))

    def counts(self, line: Line) -> FinalCounts:
        """A line's counts; of a line that nobody wrote, nothing is complete."""
        return self.finals.get(line) or FinalCounts.of([Counted()] * len(self.answers))


def _place(line: Line) -> tuple[float, ...]:
    """Of a line among the others: by its method, then the largest m, budget and kappa first."""
    return list(FINAL).index(line.method), *(-number for number in line.size)
