"""The long table: every metric of a domain, one row a measurement, ``data/metrics/DOMAIN.csv``.

All tables have the same columns, in the order of ``COLUMNS``. Texts that do not apply are "" (an
empty field of the file), numbers that do not apply are null. A ``value`` that is null is undefined,
and ``reason`` says why; where only the interval is missing, ``reason`` says that. What few families
say of a row stands in ``more``, a JSON object: below, names in brackets.

What the families hold (``method``: the ids of ``simulrag.metrics.methods``):

coverage
    questions, completed, claims, labels_missing, labels_unknown, replayed, with_evidence, checked:
    counts in ``value``.
claims
    f1, precision, recall, aupr, auroc, true_share, auroc_within, aupr_within and share_spent by
    method, budget_percent, centrality, undecided.
answers
    informativeness, factuality, factuality_per_question, completeness, and a question
    false_claims, undecided_claims (the reference does not settle them), words and claims_sent (to
    verification), by method, samples (m), budget_percent (of SimulRAG, which verifies a share of
    all claims), kappa (0: written without it), undecided, failures.
standings
    true, false, undecided and unlabelled statements of a grounded answer in ``value``, and
    true_share, by method, budget_percent and level (the standing).
comparisons
    A method minus ``baseline``: a row with unit "difference", with [p, p_holm], and one with unit
    "percent", by how many percent of the baseline's value. level "claim" (f1, aupr, auroc by
    budget_percent, centrality, undecided) or "answer" (the metrics of answers by samples,
    budget_percent, kappa, undecided, [baseline_samples, baseline_budget_percent]).
boundary
    filtered, kept_decided, filtered_decidable.
calibration
    ece, and reliability by [bin] (value: the share of true claims, [x]: their mean confidence),
    by method, budget_percent, centrality (or "verbalized"), undecided.
foresight
    auroc before verification by centrality (or "verbalized") and level (all, number, other: whether
    a claim states a number), and auroc_gain, the second less the first.
precision_recall
    precision at the recall [x] by method and budget_percent, of the leading variant only: the
    centrality and treatment of undecided claims that params.yaml names.
benchmark
    answer_words, claims, quantitative_claims, qualitative_claims, tool_parameters, and where
    questions ask beyond the simulator open_claims, which no evidence backs.
retrieval
    tool, call, arguments, failed, not_applicable, second_attempt; argument by [tool, argument].
cost
    calls and tokens a question (``n`` questions) by step, and simulator_runs of the step
    "simulator"; the step "all" is their sum.
method_cost
    The same for what one method needs by itself: level "claim" by method and budget_percent, level
    "answer" by method, samples, budget_percent and kappa, with chain (calls that wait for one
    another) of the step "all".
spending
    calls, tokens and usd by [stage, model], all questions together; [as_of]: the day of the price.
agreement
    agreement, cohen_kappa, fleiss_kappa by [between] (two annotators, people, people and judge).

Where replies came by files nobody counted tokens: their rows have no value and a reason, and beside
them stand rows whose metric ends in ``_estimated``, from the stored messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simulrag.errors import InputError
from simulrag.metrics.intervals import (
    Estimate,
    Floats,
    estimates,
    holm,
    relative_gain,
    two_sided_p,
)
from simulrag.records import AnswerVariant

if TYPE_CHECKING:
    import polars as pl

DECIMALS = 6
"""Numbers are rounded to this many, so that equal runs give equal bytes on every machine."""

ESTIMATED = "_estimated"
"""The end of the names of metrics that were estimated from stored messages."""


More = Mapping[str, str | float | None]
"""What only some families say of their rows, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row of the long table.

    ``n``: how many claims, questions or scenarios the value was taken over. ``coverage``: the share
    (0 to 1) of what there was to measure that it was taken over. ``budget_percent``: the share of
    all claims that may be verified. ``samples``: the sampled answers behind a final one (m).
    ``kappa``: the confidence below which a final answer leaves claims out; 0: written without.
    """

    family: str
    domain: str
    method: str = ""
    metric: str = ""
    budget_percent: float | None = None
    centrality: str = ""
    value: float | None = None
    lower_95: float | None = None
    upper_95: float | None = None
    n: int | None = None
    coverage: float | None = None
    reason: str = ""
    level: str = ""
    unit: str = ""
    undecided: str = ""
    failures: str = ""
    samples: int | None = None
    kappa: float | None = None
    baseline: str = ""
    step: str = ""
    # One mapping, and not a record a family: a room's family brings names of its own without a
    # line here, and the file needs one column for all of them.
    more: More = field(default_factory=dict)

    @classmethod
    def of(cls, line: AnswerVariant, family: str, domain: str) -> Measurement:
        """Begin a row of a line of final answers."""
        return cls(
            family=family,
            domain=domain,
            method=line.method,
            budget_percent=line.budget_percent,
            samples=line.samples,
            kappa=line.kappa,
        )

    @property
    def line(self) -> AnswerVariant:
        """The line of final answers that this is a row of."""
        return AnswerVariant(
            method=self.method,
            samples=self.samples or 1,
            budget_percent=self.budget_percent,
            kappa=self.kappa,
        )

    def text(self, name: str) -> str:
        """Return a text of ``more``; "" where the row has none of this name."""
        return cast("str", self.more.get(name, ""))

    def number(self, name: str) -> float | None:
        """Return a number of ``more``; None where the row has none of this name."""
        return cast("float | None", self.more.get(name))

    def get(self, name: str) -> object:
        """Return the value of a column, or of a name in ``more``; None where it has none."""
        return getattr(self, name) if name in COLUMNS else self.more.get(name)


COLUMNS = tuple(field.name for field in fields(Measurement))


def filled(place: Measurement, result: Estimate, **columns: Any) -> Measurement:
    """Fill ``place`` with a result's value, interval and reason, and further columns."""
    return replace(
        place,
        value=result.value,
        lower_95=result.lower_95,
        upper_95=result.upper_95,
        reason=result.reason,
        **columns,
    )


# Rows become a frame, a file, and rows again in the next five functions and nowhere else.


def schema() -> dict[str, type[pl.DataType]]:
    """Name the columns with their types: text, 64-bit whole numbers, 64-bit floats."""
    import polars as pl

    kinds = {"int | None": pl.Int64, "float | None": pl.Float64}
    return {column.name: kinds.get(str(column.type), pl.String) for column in fields(Measurement)}


def frame_of(rows: Iterable[Measurement]) -> pl.DataFrame:
    """Make a frame of the rows, numbers rounded, ``more`` as the text of a JSON object."""
    import polars as pl

    values = ((*head, _json(more)) for *head, more in map(attrgetter(*COLUMNS), rows))
    frame = pl.DataFrame(list(values), schema=schema(), orient="row")
    # A negative zero becomes a plain one; adding 0.0 would be optimised away.
    return frame.with_columns(pl.selectors.float().round(DECIMALS).replace(0.0, 0.0))


def _json(more: More) -> str:
    """Write the names that apply as a JSON object, numbers rounded; "" where none does."""
    rounded = {
        name: round(value, DECIMALS) + 0.0 if isinstance(value, float) else value
        for name, value in more.items()
        if value not in (None, "")
    }
    return json.dumps(rounded, ensure_ascii=False, allow_nan=False) if rounded else ""


def csv_of(frame: pl.DataFrame) -> bytes:
    """Write the file's content: what does not apply is an empty field."""
    import polars as pl

    return frame.with_columns(pl.selectors.string().replace("", None)).write_csv().encode()


def write_table(path: Path, rows: Iterable[Measurement]) -> None:
    """Write the long table of a domain."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(csv_of(frame_of(rows)))


def read_table(path: Path) -> pl.DataFrame:
    """Read the long table of a domain, with the types of ``schema``.

    Raises InputError where the file is missing, was cut short or has other columns.
    """
    import polars as pl

    if not path.is_file():
        raise InputError(f"{path} is not there; run `simulrag run` to make it")
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        raise InputError(
            f"{path} ends within a line, as one that was cut short; run `simulrag run`"
        )
    try:
        frame = pl.read_csv(text, schema_overrides=schema())
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a table of metrics ({first}); make it again") from None
    if tuple(frame.columns) != COLUMNS:
        raise InputError(f"{path} has other columns than this version's; run `simulrag run`")
    return frame.with_columns(pl.selectors.string().fill_null(""))


def rows_of(frame: pl.DataFrame) -> Iterator[Measurement]:
    """Read the rows of a frame as ``frame_of`` or ``read_table`` gives it."""
    for row in frame.iter_rows(named=True):
        yield Measurement(**row | {"more": json.loads(row["more"] or "{}")})


def select(frame: pl.DataFrame, **where: object) -> pl.DataFrame:
    """Select the rows with these values of columns or ``more``: one value, or a list of them.

    None stands for a number that does not apply: ``select(table, family="answers", samples=5)``.
    """
    import polars as pl

    for name, wanted in where.items():
        # Values of ``more`` are compared as text.
        of_more = pl.col("more").replace("", None).str.json_path_match(f"$.{name}")
        column = pl.col(name) if name in frame.columns else of_more
        if isinstance(wanted, list | tuple | set | frozenset):
            frame = frame.filter(column.is_in(list(wanted)))
        else:
            frame = frame.filter(column.eq_missing(pl.lit(wanted)))
    return frame


def only(frame: pl.DataFrame, **where: object) -> float | None:
    """Return the ``value`` of the one row that ``select`` finds; None where there is no row."""
    values = select(frame, **where)["value"].to_list()
    if len(values) > 1:
        raise ValueError(f"{len(values)} rows have {where}, not one")
    return values[0] if values else None


@dataclass(frozen=True)
class Pair:
    """Two methods' metrics, a value a resample, and the row that names both.

    ``reason``: why one of the two cannot be measured.
    """

    row: Measurement
    ours: Mapping[str, Floats]
    theirs: Mapping[str, Floats]
    reason: str = ""


def compared(
    pairs: Sequence[Pair], metrics: Sequence[str], scenarios: int
) -> Iterator[Measurement]:
    """Yield for every metric and pair the difference, and by how many percent ours is larger."""
    for metric in metrics:
        gaps = [pair.ours[metric] - pair.theirs[metric] for pair in pairs]
        gains = [relative_gain(pair.ours[metric], pair.theirs[metric]) for pair in pairs]
        raw = [two_sided_p(gap, scenarios) if scenarios > 1 else None for gap in gaps]
        reasons = [pair.reason or "undefined for one of the two" for pair in pairs]
        results = estimates([*gaps, *gains], scenarios, [*reasons, *reasons])
        for index, (pair, adjusted) in enumerate(zip(pairs, holm(raw), strict=True)):
            place = replace(pair.row, metric=metric)
            tested = {**place.more, "p": raw[index], "p_holm": adjusted}
            yield filled(place, results[index], unit="difference", more=tested)
            yield filled(place, results[index + len(pairs)], unit="percent")
