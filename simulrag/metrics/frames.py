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
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

from simulrag.method.numbers import numbers
from simulrag.method.selection import confidence_before
from simulrag.metrics.bill import TokenUsage
from simulrag.metrics.settings import FINAL
from simulrag.questions.records import Template, asked_value
from simulrag.records import (
    Answer,
    AnswerVariant,
    FinalClaims,
    FinalText,
    LabelValue,
    Question,
    Standing,
    VerdictStatus,
    claim_hash,
)

if TYPE_CHECKING:
    import polars as pl

    _Kind = pl.DataType | type[pl.DataType]

Row = TypeVar("Row")
_PART = 1000

LabelsOfQuestion = Mapping[str, LabelValue | None]
"""By claim hash; None where the judge failed."""


def claims_frame(
    answers: Iterable[Answer],
    scenario_of: Mapping[str, str],
    labels: Mapping[str, LabelsOfQuestion],
    centralities: Sequence[str],
) -> pl.DataFrame:
    """The claims of the complete answers; scenarios and labels by question id.

    Raises InputError for a missing confidence.
    """
    import polars as pl

    label = pl.Enum(get_args(LabelValue))
    columns: dict[str, _Kind] = {
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
    rows = (
        row
        for answer in answers
        if answer.failure is None
        for row in _claim_rows(
            answer,
            scenario_of[answer.question_id],
            labels.get(answer.question_id, {}),
            centralities,
        )
    )
    return pl.concat(pl.DataFrame(part, schema=columns, orient="row") for part in _parts(rows))


def _claim_rows(
    answer: Answer, scenario_id: str, labels: LabelsOfQuestion, centralities: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    name = answer.question_id
    for place, claim in enumerate(answer.claims):
        before, after = claim_hash(claim.text), claim_hash(claim.after)
        yield (
            name,
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


def finals_frame(
    finals: Iterable[FinalClaims],
    complete: Mapping[str, bool],
    counted: Mapping[str, AnswerCounts],
    scenario_of: Mapping[str, str],
    labels: Mapping[str, LabelsOfQuestion],
    asked: Mapping[str, Sequence[float]],
) -> pl.DataFrame:
    """The claims of final answers; all else by question id.

    ``complete``: whether it was answered to its end; ``counted``: what is counted of it.
    """
    import polars as pl

    of_answer: dict[str, _Kind] = {
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
    }
    of_claim: dict[str, _Kind] = {
        "claim": pl.UInt32,
        "text": pl.String,
        "claim_hash": pl.String,
        "label": pl.Enum(get_args(LabelValue)),
    }
    columns = of_answer | {name: pl.List(kind) for name, kind in of_claim.items()}

    def rows() -> Iterator[dict[str, Any]]:
        for final in finals:
            name = final.question_id
            text = counted[name].texts.get(final.line)
            yield {
                "scenario_id": scenario_of[name],
                "complete": complete[name] and final.failure is None,
                "words": text.words if text else 0,
                "claims_sent": text.claims_sent if text else 0,
                **_final_row(final, labels.get(name, {}), asked[name]),
            }

    return pl.concat(
        pl.DataFrame(part, schema=columns, orient="row").explode(*of_claim, empty_as_null=True)
        for part in _parts(rows())
    )


def _parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """The rows in parts, at least one: as objects they take several times a frame's memory."""
    yield list(islice(rows, _PART))
    yield from iter(lambda: list(islice(rows, _PART)), [])


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
    """What is counted of a final text of a question."""
    statements = final.statements if answer.failure is None else ()
    standings = Counter[tuple[Standing, LabelValue | None]]() if statements else _NONE
    for statement in statements:
        standings[statement.standing, labels.get(claim_hash(statement.text))] += 1
    sent = sum(answer.claims[index].verdict is not None for index in final.selected)
    return FinalTextCounts(TokenUsage.of(final.usage), len(final.text.split()), sent, standings)


def _final_row(
    final: FinalClaims, labels: LabelsOfQuestion, asked: Sequence[float]
) -> dict[str, Any]:
    """What a final answer's claims tell by themselves; the claims as lists."""
    line = final.line
    # Of texts that differ in white space or case one counts.
    places = {claim_hash(text): place for place, text in enumerate(final.claims)}
    texts = [final.claims[place] for place in places.values()]
    labelled = [labels.get(key) for key in places]
    true = (text for text, label in zip(texts, labelled, strict=True) if label == "true")
    return {
        "question_id": final.question_id,
        "method": line.method,
        "samples": line.samples,
        "budget_percent": line.budget_percent,
        "kappa": line.kappa,
        "asked": len(asked),
        "stated": stated(asked, true),
        "claim": list(places.values()),
        "text": texts,
        "claim_hash": list(places),
        "label": labelled,
    }


def asked_values(question: Question, templates: Mapping[str, Template]) -> tuple[float, ...]:
    """The numbers that the runs give for what the template of a generated question asks.

    None where its template or its runs are not known. Asks whose output is a word have no number.
    """
    template = templates.get(question.template_id or "")
    if template is None or len(question.evidence) < len(template.runs):
        return ()
    found = (asked_value(ask, question.evidence) for ask in template.asks)
    return tuple(item.value for item in found if item is not None)


def stated(values: Iterable[float], texts: Iterable[str]) -> int:
    """How many of the values some text states, at that text's own rounding and signs aside.

    Units are not read: a value is stated in the unit that the simulator gives it in.
    """
    said = [number for text in texts for number in numbers(text)]
    return sum(any(number.states(value) for number in said) for value in values)
