"""Answers to score, whoever wrote them, and what models said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from flows.project import Results
from rooms.score.reading import ClaimReading
from simulrag.records import Evidence, Record, ToolCall, VerdictStatus

DetailMark = Literal["yes", "no", "n/a"]


class Variant(Record):
    """A variant of a question, answered anew by the same method.

    ``evidence``: the runs that its claims are read against: of a paraphrase those of the question
    itself, of a perturbation those of the other scenario. ``calls``: those that its retrieval made.
    """

    question: str = ""
    answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    failure: str | None = None


class AnswerToScore(Record):
    """One answer to score. A line of a file of answers from elsewhere is one of these.

    ``evidence``: runs of a simulator, or texts. ``claims`` None: the answer is taken apart first.
    ``scenario_id``: questions that share it are drawn together for intervals.
    """

    question: str = Field(min_length=1)
    answer: str
    evidence: tuple[Evidence | str, ...] = ()
    method: str = "answer"
    samples: int = Field(default=1, ge=1)
    question_id: str = ""
    scenario_id: str = ""
    calls: tuple[ToolCall, ...] = ()
    claims: tuple[str, ...] | None = None
    paraphrased: Variant | None = None
    perturbed: Variant | None = None
    failure: str | None = None

    @property
    def runs(self) -> tuple[Evidence, ...]:
        """The simulator runs among the evidence."""
        return tuple(piece for piece in self.evidence if isinstance(piece, Evidence))

    @property
    def texts(self) -> tuple[str, ...]:
        """The evidence in words."""
        return tuple(piece if isinstance(piece, str) else piece.text for piece in self.evidence)


Votes = tuple[tuple[DetailMark, ...] | None, ...]
"""One judge's marks of every claim, a detail each; None where it gave none."""


class ScoredAnswer(Record):
    """What models said of an answer, and what that comes to.

    ``asked_plainly``: questions asked back from the answer with nothing hidden.
    ``facts``: the sentences of the evidence. ``readings``: by "answer", "paraphrase" and
    "perturbation". ``verdicts``: with all facts, then without each. ``forced``: log-probabilities
    of the answer's tokens to the model ``proxy``, with all facts, without each, and with none.
    ``values``: measures by name, None where undefined, for the reason in ``reasons``, where calls
    that failed are named too.
    """

    given: AnswerToScore
    facts: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    votes: tuple[Votes, ...] = ()
    masked: str = ""
    asked_back: tuple[str, ...] = ()
    asked_plainly: tuple[str, ...] = ()
    readings: dict[str, tuple[ClaimReading, ...]] = Field(default={})
    verdicts: tuple[tuple[VerdictStatus, ...], ...] = ()
    forced: tuple[tuple[float, ...], ...] = ()
    proxy: str = ""
    values: dict[str, float | None] = Field(default={})
    reasons: dict[str, str] = Field(default={})

    @property
    def failures(self) -> list[str]:
        """Why calls failed; an undefined measure is no failure."""
        return [reason for name, reason in self.reasons.items() if name not in self.values]


def table_of(place: Results, domain: str) -> Path:
    """Return the table of the measures of a domain's answers, by method."""
    return place.metrics / f"score-{domain}.csv"
