"""``simulrag plan``: calls, tokens and money of the pending work, before any of it is spent.

From params.yaml, the call cache and prices.yaml alone. Each stage is rehearsed on what is stored,
which tells the calls of the first open level by their keys; later levels are estimated from the
averages of stored calls, else from the sizes in ``flows.plan.estimates``.
"""

from __future__ import annotations

import asyncio
import json
import sys

from flows.params import Params, load_params
from flows.plan.domain import ROLES, DomainPlan, costs
from flows.plan.planned import Plan, TaskPlan, plan_text
from flows.project import Project
from flows.stages.bench import cache_place
from flows.watch.progress import console
from simulrag.calls import CallCache
from simulrag.errors import BudgetMissing
from simulrag.models.budget import Account, Amount
from simulrag.models.prices import PriceTable, read_prices


def make_plan(project: Project) -> Plan:
    """The plan of all stages and domains of params.yaml. Nothing is called and nothing runs."""
    params = load_params(project.params)
    prices = read_prices(project.prices)
    place = cache_place(project, params.operations)
    quiet, console.quiet = console.quiet, True
    try:
        with CallCache(place, stage="plan", mode="replay") as cache:
            account = Account(cache.ledger(), prices, params.operations.budget.since)
            account.update()
            account.ledger.close()
            _import_exports(project, params, cache)
            tasks = asyncio.run(_all(project, params, cache, prices))
    finally:
        console.quiet = quiet
    return _summed(params, tasks, account.spent, _dates(params, tasks, prices))


def _import_exports(project: Project, params: Params, cache: CallCache) -> None:
    """Take over the exported calls, as the stages will: they cost nothing."""
    for domain in params.domains:
        for stage in ROLES:
            path = project.results.calls(f"{stage}-{domain}")
            if path.is_file():
                cache.import_calls(path)


async def _all(
    project: Project, params: Params, cache: CallCache, prices: PriceTable
) -> list[TaskPlan]:
    tasks: list[TaskPlan] = []
    for domain in params.domains:
        rehearsed = DomainPlan(project, params, cache, domain)
        await rehearsed.run()
        for stage in ROLES:
            settings = getattr(params.llm, ROLES[stage])
            tasks += rehearsed.tasks(stage, settings, prices)
    return tasks


def _dates(params: Params, tasks: list[TaskPlan], prices: PriceTable) -> dict[str, str]:
    """The month or day of each price that the pending calls are counted by."""
    pending = {task.model for task in tasks if task.calls and task.usd}
    found: dict[str, str] = {}
    for settings in (params.llm.benchmark, params.llm.answer, params.llm.judge):
        price = prices.find((settings.provider, settings.endpoint, settings.model))
        model = f"{settings.provider}:{settings.model}"
        if price is not None and model in pending:
            found[model] = price.as_of
    return found


def _summed(params: Params, tasks: list[TaskPlan], spent: Amount, dates: dict[str, str]) -> Plan:
    paid = [task for task in tasks if task.usd is None or task.usd > 0]
    limits = params.operations.budget
    return Plan(
        tasks=tuple(tasks),
        paid_calls=sum(task.calls for task in paid),
        usd=sum(task.usd or 0.0 for task in paid),
        unpriced=tuple(sorted({task.model for task in paid if task.usd is None and task.calls})),
        prices_as_of=dates,
        spent_usd=spent.usd,
        spent_tokens=spent.tokens,
        budget_usd=limits.usd,
        budget_tokens=limits.tokens,
    )


def show_plan(project: Project, as_json: bool) -> None:
    """Print the plan."""
    plan = make_plan(project)
    text = json.dumps(plan.model_dump(mode="json"), indent=2) if as_json else plan_text(plan)
    sys.stdout.write(text + "\n")


def refuse_without_budget(project: Project) -> None:
    """Print the plan and raise BudgetMissing where it holds paid calls and no limit is set."""
    params = load_params(project.params)
    models = (params.llm.benchmark, params.llm.answer, params.llm.judge)
    if params.operations.budget.given or not any(map(costs, models)):
        return
    plan = make_plan(project)
    if plan.paid_calls:
        sys.stdout.write(plan_text(plan) + "\n")
        raise BudgetMissing(
            "the work above costs money and there is no budget; no call was made. Set "
            "operations.budget in params.yaml, for example 'budget: {usd: 5}'"
        )
