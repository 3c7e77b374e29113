"""Every table of the evaluation, from records alone: no model, no simulator, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from simulrag.errors import InputError
from simulrag.judging.people.agreement import agreement, human_rows
from simulrag.judging.people.labels import settle
from simulrag.metrics.answer_level import answer_level
from simulrag.metrics.benchmark_statistics import benchmark_statistics
from simulrag.metrics.calibration import calibration
from simulrag.metrics.checked import checked_sets
from simulrag.metrics.claim_level import BUDGETED, claim_level, plan_of
from simulrag.metrics.conformal import conformal
from simulrag.metrics.method_cost import answer_level_cost, claim_level_cost
from simulrag.metrics.pool import ClaimPool, LabelLookup, label_lookup, pool_of
from simulrag.metrics.precision_recall import precision_recall
from simulrag.metrics.retrieval_accuracy import retrieval_accuracy
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.spending import boundary_shares, costs
from simulrag.metrics.summary import Summary, summarise
from simulrag.records import Answer, FinalClaims, HumanLabel, Label, Question, Usage, claim_hash

Row = dict[str, object]

_TEXT = {"domain", "method", "baseline", "level", "centrality", "undecided", "failures"} | {
    *("metric", "step", "reason", "stage", "model", "price_as_of"),
    *("between", "question_id", "claim_hash", "text", "human", "how", "judge", "said"),
    *("tool", "argument"),
}
_WHOLE = {"budget_percent", "n", "bin", "total", "questions", "completed", "claims"} | {
    *("labels_missing", "labels_unknown", "samples", "baseline_samples", *Usage.model_fields),
}

COLUMNS: dict[str, tuple[str, ...]] = {
    "claim_level": (
        *("domain", "method", "budget_percent", "centrality", "undecided", "metric"),
        *("value", "lower_95", "upper_95", "n", "coverage", "reason"),
    ),
    "answer_level": (
        *("domain", "method", "samples", "undecided", "failures", "metric"),
        *("value", "lower_95", "upper_95", "n", "coverage", "reason"),
    ),
    "comparisons": (
        *("domain", "level", "method", "samples", "baseline", "baseline_samples"),
        *("budget_percent", "centrality", "undecided", "metric"),
        *("difference", "lower_95", "upper_95"),
        *("gain_percent", "gain_lower_95", "gain_upper_95", "p", "p_holm", "reason"),
    ),
    "boundary": ("domain", "metric", "value", "lower_95", "upper_95", "n", "reason"),
    "agreement": ("domain", "between", "metric", "value", "lower_95", "upper_95", "n", "reason"),
    "human_labels": (
        *("domain", "question_id", "claim_hash", "text"),
        *("human", "how", "judge", "said"),
    ),
    "benchmark": ("domain", "metric", "value", "lower_95", "upper_95", "n", "reason"),
    "retrieval": (
        *("domain", "tool", "argument", "metric"),
        *("value", "lower_95", "upper_95", "n", "coverage", "reason"),
    ),
    "calibration": (
        *("domain", "method", "budget_percent", "centrality", "undecided", "metric"),
        *("bin", "confidence", "value", "lower_95", "upper_95", "n", "coverage", "reason"),
    ),
    "conformal": (
        *("domain", "method", "budget_percent", "centrality", "undecided", "alpha", "metric"),
        *("value", "lower_95", "upper_95", "n", "coverage", "reason"),
    ),
    "cost": ("domain", "step", "metric", "total", "per_question", "n"),
    "method_cost": (
        *("domain", "level", "method", "samples", "budget_percent", "step"),
        *("calls_per_question", "input_tokens_per_question", "output_tokens_per_question"),
        *("cached_input_tokens_per_question", "simulator_runs_per_question", "n"),
    ),
    "spending": ("domain", "stage", "model", *Usage.model_fields, "usd", "price_as_of"),
    "precision_recall": ("domain", "method", "budget_percent", "recall", "precision", "n"),
    "coverage": (
        *("domain", "questions", "completed", "claims"),
        *("labels_missing", "labels_unknown", "coverage"),
    ),
    "plots": ("domain", "method", "budget_percent", "f1", "aupr", "auroc", "true_share"),
}


@dataclass(frozen=True)
class Tables:
    """Tidy tables, one row a measurement; None where a value is undefined, with its reason.

    ``plots`` is wide: the leading metrics by domain, method and budget. ``summary`` is flat.
    """

    claim_level: pl.DataFrame
    answer_level: pl.DataFrame
    comparisons: pl.DataFrame
    boundary: pl.DataFrame
    agreement: pl.DataFrame
    human_labels: pl.DataFrame
    benchmark: pl.DataFrame
    retrieval: pl.DataFrame
    calibration: pl.DataFrame
    conformal: pl.DataFrame
    cost: pl.DataFrame
    method_cost: pl.DataFrame
    spending: pl.DataFrame
    precision_recall: pl.DataFrame
    coverage: pl.DataFrame
    plots: pl.DataFrame
    summary: Summary
    settings: MetricSettings

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains measured, in the order of the answers."""
        return tuple(self.coverage["domain"].to_list())


def evaluate(
    answers: Sequence[Answer],
    labels: Sequence[Label],
    final_claims: Sequence[FinalClaims],
    scenario_of: Mapping[str, str],
    settings: MetricSettings,
    *,
    human: Sequence[HumanLabel] = (),
    questions: Sequence[Question] = (),
    spending: Sequence[Row] = (),
) -> Tables:
    """All tables over all domains of the answers; ``spending`` is money.stage_costs' rows.

    ``scenario_of`` maps every question id to its scenario, the unit that is resampled. Question ids
    are unique over all domains. ``human`` labels may be of other questions too, which count
    nowhere. ``questions`` are for the statistics of the benchmark and of retrieval alone, empty
    without them. Raises InputError for rows that contradict each other or do not belong together.
    """
    _check_rows(answers, labels, final_claims)
    settled = settle(human)
    judge = label_lookup(labels)
    lookup = {**judge, **{key: one.label for key, one in settled.items()}}
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    by_domain: dict[str, list[Answer]] = {}
    for answer in answers:
        by_domain.setdefault(answer.domain, []).append(answer)
    for domain, group in by_domain.items():
        ids = {answer.question_id for answer in group}
        pool = pool_of(domain, group, lookup, scenario_of)
        measured, compared = claim_level(pool, settings)
        finals = [final for final in final_claims if final.question_id in ids]
        final_measured, final_compared = answer_level(
            domain, group, finals, lookup, scenario_of=scenario_of, settings=settings
        )
        rows["claim_level"] += measured
        rows["answer_level"] += final_measured
        rows["comparisons"] += [*compared, *final_compared]
        rows["boundary"] += boundary_shares(pool, settings)
        said = {key: one for key, one in settled.items() if key[0] in ids}
        rows["agreement"] += agreement(domain, said, judge, scenario_of, settings)
        rows["human_labels"] += human_rows(domain, said, judge)
        known = [question for question in questions if question.domain == domain]
        if known:
            asked = {question.question_id: question for question in known}
            pairs = [(asked[a.question_id], a) for a in group if a.question_id in asked]
            rows["benchmark"] += benchmark_statistics(domain, known, settings)
            rows["retrieval"] += retrieval_accuracy(domain, pairs, settings)
        sets = tuple(checked_sets(pool, settings))
        rows["calibration"] += calibration(pool, sets, settings)
        rows["conformal"] += conformal(pool, sets, settings)
        rows["cost"] += costs(domain, group)
        candidates = pool.candidates(settings.centrality)
        plan = list(plan_of(pool, candidates, settings))
        rows["precision_recall"] += precision_recall(pool, candidates, plan, settings)
        rows["method_cost"] += claim_level_cost(pool, plan)
        rows["method_cost"] += answer_level_cost(domain, group)
        rows["coverage"].append(_coverage(pool, finals, lookup))
    rows["spending"] += spending
    frames = {name: _frame(rows[name], COLUMNS[name]) for name in COLUMNS if name != "plots"}
    plots = _plots(frames["claim_level"], settings)
    return Tables(**frames, plots=plots, summary=summarise(frames, settings), settings=settings)


def _coverage(pool: ClaimPool, finals: Sequence[FinalClaims], labels: LabelLookup) -> Row:
    """What there is to measure. Distinct texts without a label, and labels of texts nobody wrote.

    The latter are left over from other answers, or their text was changed since: they count nowhere
    else.
    """
    complete = [answer for answer in pool.answers if answer.failure is None]
    wanted = _texts(complete) | {
        (final.question_id, claim_hash(text)) for final in finals for text in final.claims
    }
    ids = {answer.question_id for answer in pool.answers}
    known = wanted | _texts(pool.answers)
    return {
        "domain": pool.domain,
        "questions": len(pool.answers),
        "completed": len(complete),
        "claims": len(pool.claims),
        "labels_missing": sum(labels.get(key) is None for key in wanted),
        "labels_unknown": sum(key[0] in ids and key not in known for key in labels),
        "coverage": pool.coverage,
    }


def _texts(answers: Sequence[Answer]) -> set[tuple[str, str]]:
    return {
        (answer.question_id, claim_hash(text))
        for answer in answers
        for claim in answer.claims
        for text in (claim.text, claim.updated_text)
    }


def _check_rows(
    answers: Sequence[Answer], labels: Sequence[Label], final_claims: Sequence[FinalClaims]
) -> None:
    seen: dict[str, str] = {}
    for answer in answers:
        if answer.question_id in seen:
            raise InputError(
                f"answers: question '{answer.question_id}' is there twice "
                f"(domains {seen[answer.question_id]} and {answer.domain}): remove one row"
            )
        seen[answer.question_id] = answer.domain
    rows = [("final claims", row.question_id) for row in final_claims]
    for kind, question in (*rows, *(("labels", row.question_id) for row in labels)):
        if question not in seen:
            raise InputError(
                f"{kind}: question '{question}' has no answer: "
                "answer and label files must belong together"
            )


def _frame(rows: Sequence[Row], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a frame of fixed types, numbers rounded so that outs are equal to the byte."""
    frame = pl.DataFrame(
        [{name: row[name] for name in columns} for row in rows], schema=_types(columns)
    )
    # Adding 0.0 turns a negative zero into a plain one.
    return frame.with_columns(pl.selectors.float().round(6) + 0.0)


def column_types(table: str) -> dict[str, pl.DataType | type[pl.DataType]]:
    """The columns of a table by name, in order, with their types: to read its CSV back."""
    return _types(COLUMNS[table])


def _types(columns: Sequence[str]) -> dict[str, pl.DataType | type[pl.DataType]]:
    return {
        name: pl.String if name in _TEXT else pl.Int64 if name in _WHOLE else pl.Float64
        for name in columns
    }


def _plots(claim_level_frame: pl.DataFrame, settings: MetricSettings) -> pl.DataFrame:
    """Budget curves of the leading centrality and treatment of undecided claims."""
    leading = claim_level_frame.filter(
        (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
        & pl.col("method").is_in(["no-RAG", *BUDGETED, "all-RAG"])
    )
    columns = COLUMNS["plots"]
    metrics = columns[3:]
    index = list(columns[:3])
    keys = leading.select(index).unique(maintain_order=True)
    for metric in metrics:
        values = leading.filter(pl.col("metric") == metric).select(
            *index, pl.col("value").alias(metric)
        )
        keys = keys.join(values, on=index, how="left", maintain_order="left")
    return keys.select(columns)


def curves(tables: Tables, domain: str, metric: str) -> pl.DataFrame:
    """A line a method against the budget: budget_percent, then a column a method.

    The form that a plot of several ``y`` columns takes (``dvc plots``).
    """
    frame = tables.plots.filter(
        (pl.col("domain") == domain) & pl.col("method").is_in(list(BUDGETED))
    )
    return frame.pivot(on="method", index="budget_percent", values=metric).sort("budget_percent")
