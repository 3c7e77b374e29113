"""Amounts by step: what calls a method makes, their tokens, and simulator runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from simulrag.metrics.exports import UNCOUNTED, Estimated
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.records import Usage

SIMULATOR = "simulator"
RUNS = "simulator_runs"
ALL = "all"
MAIN_TOKENS = ("input_tokens", "output_tokens")
TOKENS = tuple(name for name in Usage.model_fields if name != "calls")


class TokenUsage(NamedTuple):
    """A ``Usage`` in a quarter of its memory: metrics hold some sixty of each question."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int

    @classmethod
    def of(cls, usage: Mapping[str, Usage]) -> dict[str, TokenUsage]:
        """Usage by task."""
        return {task: cls(**dict(used)) for task, used in usage.items()}

    @property
    def counted(self) -> bool:
        """Whether the tokens are known, see ``Usage``."""
        return self.calls == 0 or self.input_tokens + self.output_tokens > 0


@dataclass
class _Line:
    amounts: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(Usage.model_fields, 0.0)
    )
    estimated: dict[str, float] = field(default_factory=dict)
    uncounted: bool = False
    no_estimate: bool = False

    def take(self, other: _Line) -> None:
        for mine, theirs in ((self.amounts, other.amounts), (self.estimated, other.estimated)):
            for name, amount in theirs.items():
                mine[name] = mine.get(name, 0.0) + amount
        self.uncounted |= other.uncounted
        self.no_estimate |= other.no_estimate


@dataclass
class UsageTotals:
    """Amounts by step, summed over questions; fractions where a shared call is split.

    ``estimates``: calls and tokens by task, from which tokens are estimated that nobody counted.
    """

    estimates: Mapping[str, Estimated] = field(default_factory=dict)
    steps: dict[str, _Line] = field(default_factory=dict)
    runs: int = 0

    def add(self, task: str, usage: TokenUsage, share: float = 1.0, *, step: str = "") -> None:
        """Add a share of a task's usage to a step, by default the task."""
        if share <= 0:
            return
        line = self.steps.setdefault(step or task, _Line())
        for name in Usage.model_fields:
            line.amounts[name] += share * getattr(usage, name)
        line.uncounted |= not usage.counted
        known = self.estimates.get(task)
        if usage.calls and known is not None:
            calls = share * usage.calls / known.calls
            for name in MAIN_TOKENS:
                amount = calls * getattr(known, name)
                line.estimated[name] = line.estimated.get(name, 0.0) + amount
        elif usage.calls:
            line.no_estimate = True

    def rows(self, place: Measurement, questions: int) -> Iterator[Measurement]:
        """Rows by step and one for all, as means a question; nothing without questions.

        Tokens that nobody counted have no value; their estimates stand beside them.
        """
        if not questions:
            return
        total = _Line()
        for line in self.steps.values():
            total.take(line)
        for step, line in [*sorted(self.steps.items()), (ALL, total)]:
            here = replace(place, step=step, n=questions)
            yield from _rows(here, line, questions)
        for step in (SIMULATOR, ALL) if self.runs else (ALL,):
            yield replace(place, step=step, metric=RUNS, n=questions, value=self.runs / questions)


def _rows(place: Measurement, line: _Line, questions: int) -> Iterator[Measurement]:
    for name, amount in line.amounts.items():
        if name not in TOKENS or not line.uncounted:
            yield replace(place, metric=name, value=amount / questions)
        elif name in MAIN_TOKENS:
            yield replace(place, metric=name, reason=UNCOUNTED)
    if line.uncounted and not line.no_estimate:
        for name, amount in line.estimated.items():
            yield replace(place, metric=name + ESTIMATED, value=amount / questions)
