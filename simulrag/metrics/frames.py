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
votes
    Its share (0 to 1) of the sampled answers' votes.
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
subject
    Of which of the question's subjects it speaks, from 0.
subject_uncertainty
    Of that subject, by the votes, in nats.
speaks
    It is one of the claims by which its subject is ranked: those of the best supported answer.

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
contradictions
    How many the answer holds; null: what its claims are about is not known.
claim, text, claim_hash
    Its place among the answer's claims, from 0, and its text.
label
    By the reference: true, false or undecided; null: no label.
subject
    Of which of the answer's subjects it speaks, from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from simulrag.method.reconciliation import one_voice, uncertainty
from simulrag.method.selection import confidence_before
from simulrag.metrics.asked import Asks, stated
from simulrag.metrics.consistency import contradictions
from simulrag.metrics.data import Answered
from simulrag.metrics.names import FINAL, name_of
from simulrag.metrics.pool import LabelsOfQuestion
from simulrag.records import (
    VOTES,
    Answer,
    FinalClaims,
    LabelValue,
    VerdictStatus,
    claim_hash,
)

if TYPE_CHECKING:
    import polars as pl

    _Kind = pl.DataType | type[pl.DataType]


Row = TypeVar("Row")

_PART = 1000


def claim_rows(
    answer: Answer, scenario_id: str, labels: LabelsOfQuestion, centralities: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """The rows of a complete answer's claims. Raises InputError for a missing confidence."""
    name, support = answer.question_id, answer.support
    subject_of: dict[int, tuple[int, float, bool]] = {}
    for place, subject in enumerate(answer.subjects):
        voice = one_voice(subject, support, subject.claims)
        in_nats = uncertainty(subject, support)
        subject_of |= {claim: (place, in_nats, claim in voice) for claim in subject.claims}
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
            claim.confidence.get(VOTES),
            claim.verbalized,
            claim.boundary,
            bool(answer.evidence),
            None if claim.verdict is None else claim.verdict.status,
            labels.get(before),
            labels.get(after),
            *subject_of.get(place, (None, None, False)),
        )


def claims_frame(rows: Iterator[tuple[Any, ...]], centralities: Sequence[str]) -> pl.DataFrame:
    """The claims of a domain from ``claim_rows``."""
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
        VOTES: pl.Float64,
        "verbalized": pl.Float64,
        "boundary": pl.Boolean,
        "checkable": pl.Boolean,
        "verdict": pl.Enum(get_args(VerdictStatus)),
        "label_before": label,
        "label_after": label,
        "subject": pl.UInt32,
        "subject_uncertainty": pl.Float64,
        "speaks": pl.Boolean,
    }
    return pl.concat(pl.DataFrame(part, schema=columns, orient="row") for part in _parts(rows))


def final_row(
    final: FinalClaims, answer: Answered, scenario_id: str, asks: Asks, labels: LabelsOfQuestion
) -> dict[str, Any]:
    """A final answer, its claims as lists."""
    name, line = final.question_id, final.line
    written = answer.finals.get(line)
    # Of texts that differ in white space or case one counts.
    places = {claim_hash(text): place for place, text in enumerate(final.claims)}
    found = [labels.get(one) for one in places]
    texts = [final.claims[place] for place in places.values()]
    true = (text for text, label in zip(texts, found, strict=True) if label == "true")
    subjects = final.subjects or ()
    subject_of = {claim: at for at, subject in enumerate(subjects) for claim in subject.claims}
    return {
        "question_id": name,
        "scenario_id": scenario_id,
        "method": name_of(line),
        "samples": line.samples,
        "budget_percent": line.budget_percent,
        "kappa": line.kappa,
        "complete": answer.completed and final.failure is None,
        "words": written.words if written else 0,
        "claims_sent": written.sent if written else 0,
        "asked": answer.asked,
        "stated": stated(asks.values, true),
        "contradictions": None
        if final.subjects is None
        else contradictions(final.claims, subjects, asks.scales),
        "claim": list(places.values()),
        "text": texts,
        "claim_hash": list(places),
        "label": found,
        "subject": [subject_of.get(place) for place in places.values()],
    }


def finals_frame(rows: Iterator[dict[str, Any]]) -> pl.DataFrame:
    """The claims of a domain's final answers from ``final_row``."""
    import polars as pl

    of_answer: dict[str, _Kind] = {
        "question_id": pl.String,
        "scenario_id": pl.String,
        "method": pl.Enum(list(FINAL.values())),
        "samples": pl.UInt32,
        "budget_percent": pl.Float64,
        "kappa": pl.Float64,
        "complete": pl.Boolean,
        "words": pl.UInt32,
        "claims_sent": pl.UInt32,
        "asked": pl.UInt32,
        "stated": pl.UInt32,
        "contradictions": pl.UInt32,
    }
    of_claim: dict[str, _Kind] = {
        "claim": pl.UInt32,
        "text": pl.String,
        "claim_hash": pl.String,
        "label": pl.Enum(get_args(LabelValue)),
        "subject": pl.UInt32,
    }
    columns = of_answer | {name: pl.List(kind) for name, kind in of_claim.items()}
    return pl.concat(
        pl.DataFrame(part, schema=columns, orient="row").explode(*of_claim, empty_as_null=True)
        for part in _parts(rows)
    )


def _parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """The rows in parts, at least one: as objects they take several times a frame's memory."""
    yield list(islice(rows, _PART))
    yield from iter(lambda: list(islice(rows, _PART)), [])
