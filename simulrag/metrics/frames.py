"""The two frames that metrics read, and notebooks: claims, and claims of final answers.

Null stands for what was not asked or does not apply. ``question_id`` and ``claim_hash`` are the
keys of ``data/labels``, which hold each label's reason.

``data/metrics/DOMAIN-claims.parquet`` has a row a claim of every question that was answered to its
end, in the order of the answers:

question_id, scenario_id
    Of the benchmark; questions of one scenario share a simulator run.
claim
    Its place among the question's claims, from 0.
text_before, text_after, hash_before, hash_after
    Its text before and after verification; the same where nothing was corrected.
closeness, ...
    Its confidence before verification, a column a centrality that params.yaml's ``metrics`` name.
verbalized
    The confidence (0 to 1) that the model stated.
boundary
    The simulator could check it, by the model's judgement.
checkable
    Its question has evidence that claims can be verified with.
verdict
    aligned, contradicted, indeterminate or error; null: verification was not asked.
label_before, label_after
    Of its texts, by the reference: true, false or undecided; null: no label.

``data/metrics/DOMAIN-finals.parquet`` has a row a distinct claim of every final answer, and one
without ``claim`` of a final answer that makes none:

question_id, scenario_id
    As above.
method, samples, budget_percent, kappa
    What tells a question's final answers apart, as in ``data/metrics/DOMAIN.csv``.
complete
    The question was answered to its end, and the answer's claims are known.
words
    Of the answer's text, split at white space.
claims_sent
    How many claims the answer sent to verification.
asked, stated
    How many values the question asks for, and how many of them the answer's true claims state.
claim, text, claim_hash
    Its place among the answer's claims, from 0, and its text.
label
    By the reference: true, false or undecided; null: no label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from simulrag.method.numbers import numbers
from simulrag.method.selection import confidence_before
from simulrag.metrics.methods import FINAL
from simulrag.questions.records import Template, asked_value
from simulrag.records import (
    Answer,
    AnswerVariant,
    FinalClaims,
    FinalText,
    LabelValue,
    Question,
    Standing,
    Usage,
    VerdictStatus,
    claim_hash,
)

if TYPE_CHECKING:
    import polars as pl

    _Kind = pl.DataType | type[pl.DataType]

_PART = 1000

LabelsOfQuestion = Mapping[str, LabelValue | None]
"""By claim hash; None where the judge failed."""


class FrameRows:
    """Rows on their way into a frame.

    They go there a thousand at a time: as objects they take several times a frame's memory.
    """

    def __init__(self, columns: Mapping[str, _Kind]) -> None:
        self._columns = columns
        self._rows: list[tuple[Any, ...]] = []
        self._parts: list[pl.DataFrame] = []

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows, with a value for each of the columns in their order."""
        self._rows += rows
        if len(self._rows) >= _PART:
            self._close()

    def frame(self) -> pl.DataFrame:
        """Return all rows that were added."""
        import polars as pl

        self._close()
        return pl.concat(self._parts)

    def _close(self) -> None:
        import polars as pl

        self._parts.append(pl.DataFrame(self._rows, schema=self._columns, orient="row"))
        self._rows = []


def claim_columns(centralities: Sequence[str]) -> dict[str, _Kind]:
    """Name the columns of the frame of claims, with their types."""
    import polars as pl

    label = pl.Enum(get_args(LabelValue))
    return {
        "question_id": pl.String,
        "scenario_id": pl.String,
        "claim": pl.UInt32,
        "text_before": pl.String,
        "text_after": pl.String,
        "hash_before": pl.String,
        "hash_after": pl.String,
        **dict.fromkeys(centralities, pl.Float64),
        "verbalized": pl.Float64,
        "boundary": pl.Boolean,
        "checkable": pl.Boolean,
        "verdict": pl.Enum(get_args(VerdictStatus)),
        "label_before": label,
        "label_after": label,
    }


def claim_rows(
    answer: Answer, scenario_id: str, labels: LabelsOfQuestion, centralities: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Make the rows of an answer's claims. Raises InputError for a missing confidence."""
    for place, claim in enumerate(answer.claims):
        before, after = claim_hash(claim.text), claim_hash(claim.after)
        yield (
            answer.question_id,
            scenario_id,
            place,
            claim.text,
            claim.after,
            before,
            after,
            *(confidence_before(claim, centrality) for centrality in centralities),
            claim.verbalized,
            claim.boundary,
            bool(answer.evidence),
            None if claim.verdict is None else claim.verdict.status,
            labels.get(before),
            labels.get(after),
        )


def final_columns() -> dict[str, _Kind]:
    """Name the columns of the frame of final answers' claims, with their types."""
    import polars as pl

    return {
        "question_id": pl.String,
        "scenario_id": pl.String,
        "method": pl.Enum(FINAL),
        "samples": pl.UInt32,
        "budget_percent": pl.Float64,
        "kappa": pl.Float64,
        "complete": pl.Boolean,
        "words": pl.UInt32,
        "claims_sent": pl.UInt32,
        "asked": pl.UInt32,
        "stated": pl.UInt32,
        "claim": pl.UInt32,
        "text": pl.String,
        "claim_hash": pl.String,
        "label": pl.Enum(get_args(LabelValue)),
    }


def final_rows(
    final: FinalClaims,
    scenario_id: str,
    labels: LabelsOfQuestion,
    asked: Sequence[float],
    counts: FinalTextCounts | None,
    *,
    complete: bool,
) -> Iterator[tuple[Any, ...]]:
    """Make the rows of a final answer's distinct claims, one without a claim where it has none.

    ``counts``: what is counted of its text, None where nobody wrote it; ``complete``: whether its
    question was answered to the end and its claims are known.
    """
    line = final.line
    # Of texts that differ in white space or case one counts.
    places = {claim_hash(text): place for place, text in enumerate(final.claims)}
    claims: list[tuple[Any, ...]] = [
        (at, final.claims[at], key, labels.get(key)) for key, at in places.items()
    ]
    true = (text for _, text, _, label in claims if label == "true")
    of_answer = (
        final.question_id,
        scenario_id,
        line.method,
        line.samples,
        line.budget_percent,
        line.kappa,
        complete,
        counts.words if counts else 0,
        counts.claims_sent if counts else 0,
        len(asked),
        stated(asked, true),
    )
    for claim in claims or [(None,) * 4]:
        yield (*of_answer, *claim)


class TokenUsage(NamedTuple):
    """A ``Usage`` in a quarter of its memory: metrics hold some sixty of each question."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int

    @classmethod
    def of(cls, usage: Mapping[str, Usage]) -> dict[str, TokenUsage]:
        """Return usage by task."""
        return {task: cls(**dict(used)) for task, used in usage.items()}

    @property
    def counted(self) -> bool:
        """Whether the tokens are known, see ``Usage``."""
        return self.calls == 0 or self.input_tokens + self.output_tokens > 0


class AnswerCounts(NamedTuple):
    """What is counted of a question, and of its final texts by line: its own, then the others.

    ``usage`` by task; ``first_claims``: those that its first sample made.
    """

    usage: Mapping[str, TokenUsage]
    first_claims: int
    texts: Mapping[AnswerVariant, FinalTextCounts]


class FinalTextCounts(NamedTuple):
    """What is counted of a final text: its words, the claims that it sent to verification.

    ``usage``: what it alone took, by task. ``standings``: its statements by standing and label;
    none where the question failed.
    """

    usage: Mapping[str, TokenUsage]
    words: int
    claims_sent: int
    standings: Counter[tuple[Standing, LabelValue | None]]


_NONE = Counter[tuple[Standing, LabelValue | None]]()


def text_counts(answer: Answer, final: FinalText, labels: LabelsOfQuestion) -> FinalTextCounts:
    """Count what is counted of a final text: usage, words, claims sent, standings."""
    statements = final.statements if answer.failure is None else ()
    standings = Counter[tuple[Standing, LabelValue | None]]() if statements else _NONE
    for statement in statements:
        standings[statement.standing, labels.get(claim_hash(statement.text))] += 1
    sent = sum(answer.claims[index].verdict is not None for index in final.selected)
    return FinalTextCounts(TokenUsage.of(final.usage), len(final.text.split()), sent, standings)


def asked_values(question: Question, templates: Mapping[str, Template]) -> tuple[float, ...]:
    """Compute the numbers that the template of a generated question asks for, from the runs.

    None where its template or its runs are not known. Asks whose output is a word have no number.
    """
    template = templates.get(question.template_id or "")
    if template is None or len(question.evidence) < len(template.runs):
        return ()
    values = (asked_value(ask, question.evidence) for ask in template.asks)
    return tuple(item.value for item in values if item is not None)


def stated(values: Iterable[float], texts: Iterable[str]) -> int:
    """Count the values that some text states, at that text's own rounding and signs aside.

    Units are not read: a value is stated in the unit that the simulator gives it in.
    """
    written = [number for text in texts for number in numbers(text)]
    return sum(any(number.states(value) for number in written) for value in values)
