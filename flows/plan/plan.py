"""``simulrag plan``: calls, tokens and money of the pending work, before any of it is spent.

Only from the parameters, the call cache and the price table: nothing is called, nothing runs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from flows.params import Params, load_params
from flows.plan.rehearse import Length, Rehearsal, StoredCalls, rehearse
from flows.project import Project
from flows.stages import exports as exported
from simulrag.errors import BudgetMissing
from simulrag.models.budget import Account, dollars
from simulrag.models.prices import Price, PriceTable, read_prices
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Record, Usage

REASONING_TOKENS = {"none": 0, "minimal": 50, "low": 300, "medium": 1000, "high": 3000}
"""Hidden tokens a reply, by the effort that is asked for; billed as output."""


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

    ``uncounted``: tasks after which nothing could be counted, with the reason. ``prices_as_of``:
    the month or day of each price that was used, by model.
    """

    tasks: tuple[TaskPlan, ...]
    uncounted: dict[str, str]
    paid_calls: int
    usd: float
    unpriced: tuple[str, ...]
    prices_as_of: dict[str, str]
    spent_usd: float
    spent_tokens: int
    budget_usd: float | None
    budget_tokens: int | None


def make_plan(project: Project, params: Params | None = None) -> Plan:
    """The plan of all stages and domains of ``params``, by default those of params.yaml."""
    params = params or load_params(project.params)
    prices = read_prices(project.prices)
    with StoredCalls(params.operations.place(project.root), stage=None, mode="replay") as cache:
        account = Account(cache.ledger(), prices, params.operations.budget.since)
        account.update()
        for path in exports(project, params):
            cache.import_calls(path)
        with tempfile.TemporaryDirectory() as place:
            tasks, uncounted = asyncio.run(_all(project, params, cache, prices, Path(place)))
    paid = [task for task in tasks if task.usd is None or task.usd > 0]
    limits = params.operations.budget
    return Plan(
        tasks=tuple(tasks),
        uncounted=uncounted,
        paid_calls=sum(task.calls for task in paid),
        usd=sum(task.usd or 0.0 for task in paid),
        unpriced=tuple(sorted({task.model for task in paid if task.usd is None and task.calls})),
        prices_as_of=_dates(params, tasks, prices),
        spent_usd=account.spent.usd,
        spent_tokens=account.spent.tokens,
        budget_usd=limits.usd,
        budget_tokens=limits.tokens,
    )


def show_plan(project: Project, as_json: bool, params: Path | None = None) -> None:
    """Print the plan of params.yaml, or of the parameters in another file."""
    plan = make_plan(project, load_params(params or project.params))
    text = json.dumps(plan.model_dump(mode="json"), indent=2) if as_json else plan_text(plan)
    sys.stdout.write(text + "\n")


def refuse_without_budget(project: Project) -> None:
    """Print the plan and raise BudgetMissing where it holds paid calls and no limit is set.

    In mode deferred a run sends nothing: `simulrag batch submit` asks for the budget.
    """
    params = load_params(project.params)
    if params.operations.mode == "deferred":
        return
    models = (params.llm.benchmark, params.llm.answer, params.llm.judge)
    if params.operations.budget.given or not any(map(_costs, models)):
        return
    plan = make_plan(project, params)
    if plan.paid_calls:
        sys.stdout.write(plan_text(plan) + "\n")
        raise BudgetMissing(
            "the work above costs money and there is no budget; no call was made. Set "
            "operations.budget in params.yaml, for example 'budget: {usd: 5}'"
        )


def exports(project: Project, params: Params) -> Iterator[Path]:
    """The exported calls that the stages will take over: they cost nothing."""
    for name in exported(params):
        for path in (project.recorded / f"{name}.parquet", project.results.calls(name)):
            if path.is_file():
                yield path


async def _all(
    project: Project, params: Params, cache: StoredCalls, prices: PriceTable, place: Path
) -> tuple[list[TaskPlan], dict[str, str]]:
    planned: list[TaskPlan] = []
    uncounted: dict[str, str] = {}
    async for at in rehearse(project, params, cache, place):
        name = f"{at.stage.name}@{at.item}" if at.item else at.stage.name
        for gate in at.gates:
            planned += task_plans(name, gate, prices)
            uncounted |= gate.unfit
    return planned, uncounted


def task_plans(stage: str, gate: Rehearsal, prices: PriceTable) -> Iterator[TaskPlan]:
    """What is left of a stage for one model, by task."""
    settings = gate.settings
    price, costs = prices.find(settings.full_name), _costs(settings)
    for task in dict.fromkeys([*gate.stored, *gate.missing]):
        stored = list(gate.stored.get(task, {}).values())
        missing = list(gate.missing.get(task, {}).values())
        used = Usage(
            input_tokens=sum(call.tokens_in for call in missing),
            output_tokens=len(missing) * _reply_tokens(task, settings, stored, missing),
        )
        yield TaskPlan(
            stage=stage,
            task=task,
            calls=len(missing),
            known=sum(call.known for call in missing),
            cached=len(stored),
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            model=f"{settings.provider}:{settings.model}",
            usd=_money(used, price) if costs else 0.0,
            replayed=settings.replay,
        )


def _reply_tokens(
    task: str, settings: ModelSettings, stored: Sequence[Length], missing: Sequence[Length]
) -> int:
    """Of one reply: as stored ones of the task are long, else as assumed, with hidden tokens."""
    if stored:
        return round(fmean(call.tokens_out for call in stored))
    effort = settings.sampling_of(task).reasoning_effort
    hidden = REASONING_TOKENS.get(effort or "none", 1000)
    return hidden + round(fmean(call.tokens_out for call in missing or [Length(0, 0)]))


def _money(used: Usage, price: Price | None) -> float | None:
    return None if price is None else price.cost(used)


def _costs(settings: ModelSettings) -> bool:
    """Whether the calls of a model cost money."""
    return not settings.replay and make_provider(settings).paid


def _dates(params: Params, tasks: list[TaskPlan], prices: PriceTable) -> dict[str, str]:
    pending = {task.model for task in tasks if task.calls and task.usd}
    found: dict[str, str] = {}
    for settings in (params.llm.benchmark, params.llm.answer, params.llm.judge):
        price, model = prices.find(settings.full_name), f"{settings.provider}:{settings.model}"
        if price is not None and model in pending:
            found[model] = price.as_of
    return found


def plan_text(plan: Plan) -> str:
    """The plan for people: a line a stage, its tasks below, the total and the budget."""
    lines: list[str] = []
    for stage in dict.fromkeys(task.stage for task in plan.tasks):
        tasks = [task for task in plan.tasks if task.stage == stage]
        lines.append(f"{stage} ({tasks[0].model}): {_sum_text(tasks)}")
        lines += [f"    {task.task:<22} {_sum_text([task])}" for task in tasks if task.calls]
    lines.append(f"all: {_sum_text(plan.tasks)}")
    lines += [f"no price of {model}: add it to prices.yaml" for model in plan.unpriced]
    replayed = sorted({task.model for task in plan.tasks if task.replayed and task.calls})
    lines += [
        f"{model} is only replayed and these calls are not recorded: name a model of your own "
        "(`simulrag use openai:gpt-5-mini`)"
        for model in replayed
    ]
    lines += [
        f"what follows the replies to '{task}' is not counted: {why}"
        for task, why in plan.uncounted.items()
    ]
    if plan.prices_as_of:
        dated = ", ".join(f"{model} as of {day}" for model, day in plan.prices_as_of.items())
        lines.append(f"prices: {dated}; check them against your provider's page")
    named = [] if plan.budget_usd is None else [f"{dollars(plan.budget_usd)} USD"]
    named += [] if plan.budget_tokens is None else [f"{plan.budget_tokens:,} tokens"]
    lines.append(
        f"budget: {' and '.join(named) or 'not set'}; spent so far: {plan.spent_usd:.2f} USD, "
        f"{plan.spent_tokens:,} tokens"
    )
    if plan.budget_usd is not None and plan.spent_usd + plan.usd > plan.budget_usd:
        lines.append("the estimate does not fit into the budget: the run would stop in between")
    if any(task.calls for task in plan.tasks):
        lines.append(
            "estimates: without discounts for cached prompts; reasoning is assumed, not known"
        )
    return "\n".join(lines)


def _sum_text(tasks: Iterable[TaskPlan]) -> str:
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
