"""What a plan holds, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable

from simulrag.models.budget import dollars
from simulrag.records import Record


class TaskPlan(Record):
    """One task of a stage. ``calls``: still to be made, ``known`` of them by their keys.

    ``usd`` is None for a paid model without a price, 0 for a free one.
    """

    stage: str
    task: str
    model: str
    calls: int
    known: int
    cached: int
    input_tokens: int
    output_tokens: int
    usd: float | None


class Plan(Record):
    """The pending work, and what was spent so far (US dollars and tokens, on paid calls)."""

    tasks: tuple[TaskPlan, ...]
    paid_calls: int
    usd: float
    unpriced: tuple[str, ...]
    prices_as_of: dict[str, str]
    """The month or day of each price that was used, by model."""
    spent_usd: float
    spent_tokens: int
    budget_usd: float | None
    budget_tokens: int | None


def plan_text(plan: Plan) -> str:
    """The plan for people: a line a stage, its tasks below, the total and the budget."""
    lines: list[str] = []
    for stage in dict.fromkeys(task.stage for task in plan.tasks):
        tasks = [task for task in plan.tasks if task.stage == stage]
        lines.append(f"{stage} ({tasks[0].model}): {_sum_text(tasks)}")
        lines += [f"    {task.task:<22} {_sum_text([task])}" for task in tasks if task.calls]
    lines.append(f"all: {_sum_text(plan.tasks)}")
    lines += [
        f"no price of {model}: add it to prices.yaml (see what-it-costs.md)"
        for model in plan.unpriced
    ]
    if plan.prices_as_of:
        dated = ", ".join(f"{model} as of {day}" for model, day in plan.prices_as_of.items())
        lines.append(f"prices.yaml: {dated}; check them against your provider's page")
    named = [] if plan.budget_usd is None else [f"{dollars(plan.budget_usd)} USD"]
    named += [] if plan.budget_tokens is None else [f"{plan.budget_tokens:,} tokens"]
    budget = " and ".join(named) or "none"
    lines.append(
        f"budget: {budget}; spent so far: {plan.spent_usd:.2f} USD, {plan.spent_tokens:,} tokens"
    )
    if plan.budget_usd is not None and plan.spent_usd + plan.usd > plan.budget_usd:
        lines.append("the estimate does not fit into the budget: the run would stop in between")
    lines.append("estimates: without discounts for cached prompts; reasoning is assumed, not known")
    return "\n".join(lines)


def _sum_text(tasks: Iterable[TaskPlan]) -> str:
    rows = list(tasks)
    calls, known = sum(row.calls for row in rows), sum(row.known for row in rows)
    cached = sum(row.cached for row in rows)
    if not calls:
        return f"nothing left; {cached:,} cached"
    about = "" if known == calls else "about "
    money = sum(row.usd or 0.0 for row in rows)
    dollars = f"{money:.2f} USD" if money > 0 else "free"
    if any(row.usd is None for row in rows):
        dollars = f"{dollars} and more" if money else "no price"
    sent = sum(row.input_tokens for row in rows)
    written = sum(row.output_tokens for row in rows)
    return (
        f"{about}{calls:,} calls, {_short(sent)} tokens in, {_short(written)} out, {dollars}; "
        f"{cached:,} cached"
    )


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:.1f} k"
