"""The method's options on the recorded run: what each costs, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from simulrag.report.blocks import DASH, Block, ReportSection, Table, Text
from simulrag.report.labels import WANTED
from simulrag.report.run import ReportedRun

BOUNDED = {
    "auroc_25": "AUROC at 25 %",
    "share_true_25": "Share true at 25 %",
    "share_true_100": "Share true at 100 %",
}
FURTHER = {"asked_values_100": "Asked at 100 %"}


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Nothing where this run replays no recording: the tables are of the recorded one."""
    if not run.summary.replayed:
        return
    if (compared := run.options.get("options")) is not None:
        yield Text(
            "Each option less a run that takes every sample apart by itself, over the same "
            "questions and sampled answers, with its 95 % interval over the same resamples. An "
            "option becomes the default where the lower ends of the first three stay above -0.05 "
            "and it finds at least 95 % of the claims."
        )
        yield _compared(compared)
    if (samples := run.options.get("options-samples")) is not None:
        yield _samples(samples)
    if (verdicts := run.options.get("options-verdicts")) is not None:
        yield _verdicts(verdicts)
    if (looks := run.options.get("options-second-look")) is not None:
        yield _looks(looks)


def _compared(frame: pl.DataFrame) -> Table:
    rows = []
    for (name,), found in frame.group_by("option", maintain_order=True):
        by_figure = {str(row["figure"]): row for row in found.iter_rows(named=True)}
        failed = [figure for figure, row in by_figure.items() if row["holds"] is False]
        calls, claims = by_figure["calls_100"], by_figure["claims"]
        rows.append(
            (
                str(name),
                f"{calls['value']:.0f} for {calls['default']:.0f}",
                *(_difference(by_figure[figure]) for figure in (*BOUNDED, *FURTHER)),
                f"{100 * claims['value'] / claims['default']:.0f} %",
                ", ".join(BOUNDED.get(one, one) for one in failed) or "none",
            )
        )
    asked = frame.filter(pl.col("figure") == "calls_100")["default"][0]
    caption = f"Options less the run of {asked:.0f} calls"
    columns = ("Option", "Calls", *BOUNDED.values(), *FURTHER.values(), "Claims found", "Fails in")
    return Table("options", caption, columns, tuple(rows), headers=1)


def _samples(frame: pl.DataFrame) -> Table:
    rows = tuple(
        (
            {"all": "all", "agree": "agree", "disagree": "do not"}[row["questions_that"]],
            str(row["samples"]),
            str(row["calls"]),
            *(
                f"{row[figure]:.{places}f} ({_ends(row, figure, places)})"
                for figure, places in (("share_true", 2), ("true_claims", 1), ("asked_values", 2))
            ),
            f"{row['unchecked']:.2f}",
        )
        for row in frame.iter_rows(named=True)
    )
    columns = (
        *("Answers that", "Samples", "Calls", "Share true", "True claims", "Asked"),
        "Left unchecked",
    )
    return Table(
        name="options-samples",
        caption="What a further sample is worth: statements of the reconciled method at 100 %",
        columns=columns,
        rows=rows,
        notes=(
            "In brackets: the difference to all samples, 95 %. The mean over all subsets of the "
            "stored samples; a statement is as true as its claim's label. Answers that agree: the "
            "half of the questions whose samples vote most alike on what the simulator can check.",
        ),
    )


def _verdicts(frame: pl.DataFrame) -> Table:
    """Of the claims that the reference decides: who decides them, and who is right."""
    wanted = pl.col("label").replace_strict(WANTED)
    decided = frame.filter(pl.col("label").is_in(list(WANTED))).with_columns(wanted=wanted)
    rows = []
    kinds = sorted(decided["kind"].unique().to_list())
    for kind in (*kinds, "all"):
        some = decided if kind == "all" else decided.filter(pl.col("kind") == kind)
        cells = [str(some["claims"].sum())]
        for rule in ("model", "point", "range"):
            given = some.filter(pl.col(rule) != "indeterminate")
            right = given.filter(pl.col(rule) == pl.col("wanted"))["claims"].sum()
            cells.append(f"{right} of {given['claims'].sum()}")
        inside = some.filter((pl.col("point") == "contradicted") & (pl.col("range") == "aligned"))
        rows.append((kind, *cells, str(inside["claims"].sum())))
    return Table(
        name="options-verdicts",
        caption="Verdicts on the same claims: right of those that a rule decides",
        columns=("Kind", "Claims", "By reading", "By point", "By range", "Wrong, but in the range"),
        rows=tuple(rows),
        headers=1,
        notes=(
            "Claims that the reference decides. By range: of epidemiology with its spread, whose "
            "90 % range holds the claim's number; elsewhere a range of one value.",
        ),
    )


def _looks(frame: pl.DataFrame) -> Table:
    """Claims within the boundary that the first evidence left undecided, put to the tools again."""
    figures = {
        "inside": "Claims in reach",
        "decided_first": "Decided at first",
        "found": "By the second look",
        "right": "As by all runs",
        "runs_added": "Runs added",
        "calls": "Calls",
    }
    rows = tuple(
        (row["questions"], str(row["n"]), *(str(row.get(name) or 0) for name in figures))
        for row in frame.iter_rows(named=True)
    )
    return Table(
        name="options-second-look",
        caption="A second look: one call and at most two runs more a question",
        columns=("Questions", "Number", *figures.values()),
        rows=rows,
        headers=1,
        notes=("As by all runs: where one run of two was taken away before.",),
    )


def _difference(row: Mapping[str, Any]) -> str:
    if row["difference"] is None:
        return DASH
    return f"{row['difference']:+.2f} [{row['lower_95']:+.2f}, {row['upper_95']:+.2f}]"


def _ends(row: Mapping[str, Any], figure: str, places: int) -> str:
    low, high = (row[f"{figure}_{end}_95"] for end in ("lower", "upper"))
    return DASH if low is None else f"{low + 0.0:+.{places}f} to {high + 0.0:+.{places}f}"


SECTION = ReportSection("options", "The method's options", blocks)
