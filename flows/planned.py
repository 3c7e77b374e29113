"""What a plan holds, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flows.running.rehearse import FIRST_TOKEN_S, TOKENS_PER_S
from flows.watch.tracking import duration
from simulrag.models.budget import dollars
from simulrag.records import Record


class TaskPlan(Record):
    """One task of a stage: what is left of it, and what that costs.

    ``calls``: still to be made, ``known`` of them by their keys. ``cached``: stored calls, which
    cost nothing. The tokens are those of ``calls``. ``usd`` is None for a paid model without a
    price, 0 for a free one. ``replayed``: the model's calls are only replayed, so ``calls`` cannot
    be made at all.
    """

    stage: str
    task: str
    calls: int
    known: int
    cached: int
    input_tokens: int
    output_tokens: int
    model: str
    usd: float | None
    replayed: bool = False


class Plan(Record):
    """The pending work, and what was spent so far (US dollars and tokens, on paid calls).

    ``seconds``: how long its calls will take, so many ``at_a_time`` and in chains that wait for one
    another; ``measured``: how many stored calls tell the pace of each of the models
    that are to be asked; 0: it is assumed. ``alone``: the calls that would be left with nothing to
    compare with (``answer.beside: []``); None where that changes nothing. ``uncounted``: tasks
    after which nothing could be counted, with the reason. ``prices_as_of``: the month or day of
    each price that was used, by model. ``sample``: so many questions a domain were counted, and the
    others are taken to be like them; None: all were.
    """

    tasks: tuple[TaskPlan, ...]
    seconds: float
    at_a_time: int
    measured: dict[str, int]
    alone: int | None = None
    uncounted: dict[str, str]
    paid_calls: int
    usd: float
    unpriced: tuple[str, ...]
    prices_as_of: dict[str, str]
    spent_usd: float
    spent_tokens: int
    budget_usd: float | None
    budget_tokens: int | None
    sample: int | None = None

    def calls(self) -> dict[str, tuple[int, int]]:
        """Return by stage how many calls are stored, and how many there will be."""
        by_stage: dict[str, tuple[int, int]] = {}
        for task in self.tasks:
            stored, calls = by_stage.get(task.stage, (0, 0))
            by_stage[task.stage] = (stored + task.cached, calls + task.cached + task.calls)
        return by_stage


def plan_text(plan: Plan) -> str:
    """Return the plan for people: a line a stage, its tasks below, the total and the budget."""
    lines: list[str] = []
    for stage in dict.fromkeys(task.stage for task in plan.tasks):
        tasks = [task for task in plan.tasks if task.stage == stage]
        lines.append(f"{stage} ({tasks[0].model}): {sum_text(tasks)}")
        lines += [f"    {task.task:<22} {sum_text([task])}" for task in tasks if task.calls]
    return "\n".join([*lines, *total_lines(plan)])


def total_lines(plan: Plan) -> Iterator[str]:
    """Yield the total, the time and the budget, and what is to be known of them."""
    yield f"all: {sum_text(plan.tasks)}"
    if plan.alone is not None:
        yield (
            f"answer.beside: [] leaves {plan.alone:,} of these calls: three for an answer that "
            "needs no second look and no mending, and its labels"
        )
    yield from (f"no price of {model}: add it to prices.yaml" for model in plan.unpriced)
    for model in sorted({task.model for task in plan.tasks if task.replayed and task.calls}):
        yield (
            f"{model} is only replayed and these calls are not recorded: name a model of your own "
            "(`simulrag use openai:gpt-5-mini`)"
        )
    for task, why in plan.uncounted.items():
        yield f"what follows the replies to '{task}' is not counted: {why}"
    if plan.measured:
        yield _time_text(plan)
    if plan.prices_as_of:
        dated = ", ".join(f"{model} as of {day}" for model, day in plan.prices_as_of.items())
        yield f"prices: {dated}; check them against your provider's page"
    named = [] if plan.budget_usd is None else [f"{dollars(plan.budget_usd)} USD"]
    named += [] if plan.budget_tokens is None else [f"{plan.budget_tokens:,} tokens"]
    yield (
        f"budget: {' and '.join(named) or 'not set'}; spent so far: {plan.spent_usd:.2f} USD, "
        f"{plan.spent_tokens:,} tokens"
    )
    if plan.budget_usd is not None and plan.spent_usd + plan.usd > plan.budget_usd:
        yield "the estimate does not fit into the budget: the run would stop in between"
    if plan.sample is not None:
        yield f"counted: {plan.sample} questions of each domain, the others as these (--exact: all)"
    if any(task.calls for task in plan.tasks):
        yield "estimates: no discount for cached prompts, no lacking reply; reasoning is assumed"


def _time_text(plan: Plan) -> str:
    """Tell how long it takes, and where that is known from."""
    paces = [
        f"{model} as measured on {calls:,} calls"
        if calls
        else f"{model} as assumed, {FIRST_TOKEN_S:g} s a call and {TOKENS_PER_S:g} tokens a second"
        for model, calls in sorted(plan.measured.items())
    ]
    return (
        f"time: about {duration(plan.seconds)} with {plan.at_a_time} calls at a time "
        f"(operations.concurrency); {'; '.join(paces)}"
    )


def sum_text(tasks: Iterable[TaskPlan]) -> str:
    """Sum up calls, tokens and money in a line."""
    rows = list(tasks)
    calls, known = sum(row.calls for row in rows), sum(row.known for row in rows)
    cached = sum(row.cached for row in rows)
    if not calls:
        return f"nothing left; {cached:,} cached"
    about = "" if known == calls else "about "
    money = sum(row.usd or 0.0 for row in rows)
    price = f"{money:.2f} USD" if money > 0 else "free"
    if any(row.usd is None for row in rows):
        price = f"{price} and more" if money else "no price"
    sent = sum(row.input_tokens for row in rows)
    written = sum(row.output_tokens for row in rows)
    return (
        f"{about}{calls:,} calls, {_short(sent)} tokens in, {_short(written)} out, {price}; "
        f"{cached:,} cached"
    )


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:.1f} M" if tokens >= 1e6 else f"{tokens / 1e3:.1f} k"
