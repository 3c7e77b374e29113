"""What stages show of themselves as tables: cost and coverage, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from flows.project import Project
from flows.watch.progress import say
from flows.watch.tracking import Cell, Tracker
from simulrag.models.gateway import Gateway
from simulrag.models.prices import Price, read_prices
from simulrag.models.providers.registry import is_local
from simulrag.records import Usage

SHOWN_FAILURES = 200
REASON_CHARACTERS = 300


def cost_rows(
    counts: Mapping[str, tuple[int, int]],
    used: Mapping[str, Usage],
    made: Mapping[str, Usage],
    price: Price | None,
    *,
    seconds: Mapping[str, float],
    free: bool,
) -> list[dict[str, Cell]]:
    """Coverage (``counts``: how many of how many), then what the calls of each task took.

    ``used`` counts every reply that was used, now paid for or before, and twice where it was used
    twice; ``made`` what was really asked in this run. Money is what all of ``used`` would cost, in
    US dollars by the price table; empty for a model without a price. Tokens that nobody counted
    (replies from a file) are empty, and so is their price. ``seconds`` is how long the
    calls of a task took one by one, when this machine made them (``Gateway.seconds``).
    """
    rows = [
        _row(what, count=f"{done} of {of}{_share(done, of)}") for what, (done, of) in counts.items()
    ]
    rows += (
        {
            **_usage_row(task, used.get(task, Usage()), made.get(task, Usage()), price, free),
            "seconds": round(seconds.get(task, 0.0), 3),
        }
        for task in sorted({*used, *made})
    )
    total = _usage_row("all calls", _sum(used), _sum(made), price, free)
    return [*rows, {**total, "seconds": round(sum(seconds.values()), 3)}]


def _stage_costs(
    project: Project, gateway: Gateway, counts: Mapping[str, tuple[int, int]]
) -> list[dict[str, Cell]]:
    """``cost_rows`` of a stage's own gateway, by the project's price table."""
    settings = gateway.settings
    price = read_prices(project.prices).find(settings.full_name)
    free = is_local(settings.provider)
    return cost_rows(counts, gateway.usage, gateway.paid, price, seconds=gateway.seconds, free=free)


async def show_stage(
    tracker: Tracker,
    project: Project,
    gateway: Gateway,
    name: str,
    text: str,
    counts: Mapping[str, tuple[int, int]],
) -> None:
    """What every stage that asks a model ends with: its table, and its coverage and cost.

    Both in the UI where it runs, the table on the terminal too. ``counts``: how many of how many.
    """
    await tracker.markdown(name, text)
    rows = partial(_stage_costs, project, gateway, counts)
    await tracker.table(f"{name}-cost", rows, f"Coverage and cost of {name}")
    say(text)


def failure_lines(failures: Iterable[tuple[str, str, str]]) -> list[str]:
    """A Markdown table of (question, step, reason), nothing where there is none."""
    found = list(failures)
    if not found:
        return []
    lines = ["", "| failed question | step | reason |", "| --- | --- | --- |"]
    for cells in found[:SHOWN_FAILURES]:
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    if len(found) > SHOWN_FAILURES:
        lines.append(f"| {len(found) - SHOWN_FAILURES} more | | see the stage's out |")
    return lines


def _row(what: str, **cells: Cell) -> dict[str, Cell]:
    empty: dict[str, Cell] = dict.fromkeys(
        ("count", "of them in this run", "tokens in", "tokens out", "USD", "seconds"), None
    )
    return {"what": what, **empty, **cells}


def _usage_row(
    task: str, used: Usage, made: Usage, price: Price | None, free: bool
) -> dict[str, Cell]:
    known = free or (price is not None and used.counted)
    money = round(price.cost(used), 6) if known and price is not None and not free else 0.0
    return {
        "what": task,
        "count": used.calls,
        "of them in this run": made.calls,
        "tokens in": used.input_tokens if used.counted else None,
        "tokens out": used.output_tokens if used.counted else None,
        "USD": money if known else None,
    }


def _sum(usage: Mapping[str, Usage]) -> Usage:
    return sum(usage.values(), Usage())


def _share(done: int, of: int) -> str:
    return f" ({100 * done / of:.1f} %)" if of else ""


def _cell(text: str) -> str:
    """One line that cannot end the cell it stands in."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= REASON_CHARACTERS else plain[: REASON_CHARACTERS - 1] + "…"
