"""What stages show of themselves as tables: cost and coverage, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flows.project import Project
from flows.watch.tracking import Cell, Tracker, say
from simulrag.models.gateway import Gateway
from simulrag.models.prices import Price, read_prices
from simulrag.models.providers.registry import is_local
from simulrag.records import Usage
from simulrag.stage import Outcome

COLUMNS = ("count", "of them in this run", "tokens in", "tokens out", "USD", "seconds")
SHOWN_FAILURES = 200
REASON_CHARACTERS = 300


def cost_rows(
    gateway: Gateway, counts: Mapping[str, tuple[int, int]], price: Price | None
) -> list[dict[str, Cell]]:
    """Coverage (``counts``: how many of how many), then what the calls of each task took.

    Counts every reply that was used, now paid for or before, and twice where it was used twice;
    beside it those really asked in this run. Money is what all of the used ones would cost, in US
    dollars by the price table; empty for a model without a price. Tokens that nobody counted
    (replies from a file) are empty, and so is their price. Seconds are how long the calls of a task
    took one by one, when this machine made them.
    """
    free = is_local(gateway.settings.provider)
    used, made, seconds = gateway.usage, gateway.paid, gateway.seconds
    rows: list[dict[str, Cell]] = [
        {"what": what, **dict.fromkeys(COLUMNS), "count": f"{done} of {of}{_share(done, of)}"}
        for what, (done, of) in counts.items()
    ]
    tasks = {
        task: (used.get(task, Usage()), made.get(task, Usage()), seconds.get(task, 0.0))
        for task in sorted({*used, *made})
    }
    whole = (_sum(used), _sum(made), sum(seconds.values()))
    for what, (replies, asked, took) in {**tasks, "all calls": whole}.items():
        usd = 0.0 if free else None
        if not free and price is not None and replies.counted:
            usd = round(price.cost(replies), 6)
        rows.append(
            {
                "what": what,
                "count": replies.calls,
                "of them in this run": asked.calls,
                "tokens in": replies.input_tokens if replies.counted else None,
                "tokens out": replies.output_tokens if replies.counted else None,
                "USD": usd,
                "seconds": round(took, 3),
            }
        )
    return rows


async def show_stage(
    tracker: Tracker,
    project: Project,
    gateway: Gateway,
    name: str,
    outcome: Outcome,
) -> None:
    """What every stage that asks a model ends with: its table, and its coverage and cost.

    Both in the UI where it runs, the table on the terminal too.
    """

    def costs() -> list[dict[str, Cell]]:
        price = read_prices(project.prices).find(gateway.settings.full_name)
        return cost_rows(gateway, outcome.counts, price)

    await tracker.markdown(name, outcome.table)
    await tracker.table(f"{name}-cost", costs, f"Coverage and cost of {name}")
    say(outcome.table)


def titled_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    failures: Sequence[tuple[str, str, str]] = (),
) -> str:
    """A stage as Markdown: a table under its heading; then what failed (question, step, reason)."""
    lines = [f"## {title}", "", _line(columns), _line(["---"] * len(columns)), *map(_line, rows)]
    if failures:
        lines += ["", "| failed question | step | reason |", "| --- | --- | --- |"]
        lines += [_line(map(cell, cells)) for cells in failures[:SHOWN_FAILURES]]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"| {len(failures) - SHOWN_FAILURES} more | | see the stage's out |")
    return "\n".join(lines)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _sum(usage: Mapping[str, Usage]) -> Usage:
    return sum(usage.values(), Usage())


def _share(done: int, of: int) -> str:
    return f" ({100 * done / of:.1f} %)" if of else ""


def cell(text: str) -> str:
    """One line that cannot end the cell it stands in."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= REASON_CHARACTERS else plain[: REASON_CHARACTERS - 1] + "…"
