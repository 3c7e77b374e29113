"""``simulrag plan``: calls, tokens, money and time of the pending work, before any of it is spent.

Only from the parameters, the call cache and the price table: nothing is called, nothing runs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from flows.params import Params, load_params
from flows.project import Project, Results
from flows.running.rehearse import (
    FIRST_TOKEN_S,
    TOKENS_PER_S,
    DryLoop,
    DryRunGateway,
    Length,
    StoredCalls,
    rehearse,
)
from flows.stages import exports, stage_of
from flows.watch.tracking import duration, say
from simulators.base import SimulatorError
from simulrag.errors import BudgetMissing, SimulRAGError
from simulrag.models.budget import Account, dollars
from simulrag.models.prices import PriceTable, read_prices
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Record, Usage
from simulrag.stage import Stage

if TYPE_CHECKING:
    from flows.pipeline import Imported


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
    each price that was used, by model.
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

    def calls(self) -> dict[str, tuple[int, int]]:
        """Return by stage how many calls are stored, and how many there will be."""
        by_stage: dict[str, tuple[int, int]] = {}
        for task in self.tasks:
            stored, calls = by_stage.get(task.stage, (0, 0))
            by_stage[task.stage] = (stored + task.cached, calls + task.cached + task.calls)
        return by_stage


def make_plan(
    project: Project,
    params: Params | None = None,
    questions: Imported | None = None,
    outs: Results | None = None,
) -> Plan:
    """Return the plan of all stages and domains of ``params``, by default those of params.yaml.

    Or of a run over imported ``questions``, whose outs lie in ``outs``.
    """
    params = params or load_params(project.params)
    plan = _plan(project, params, questions, outs)
    pending = any(task.calls and task.stage.startswith("answer@") for task in plan.tasks)
    if not (pending and params.answer.beside):
        return plan
    answer = params.answer.model_copy(update={"beside": ()})
    alone = _plan(project, params.model_copy(update={"answer": answer}), questions, outs)
    return plan.model_copy(update={"alone": sum(task.calls for task in alone.tasks)})


def _plan(
    project: Project, params: Params, questions: Imported | None, outs: Results | None
) -> Plan:
    prices = read_prices(project.prices)
    with (
        StoredCalls(params.operations.place(project.root), stage=None, mode="replay") as cache,
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=DryLoop) as runner,
    ):
        account = Account(cache.ledger(), prices, params.operations.budget.since)
        account.update()
        place = Path(folder)
        given = None
        if questions is not None:
            params = questions.placed(project, params, Results(place))
            given = [stage_of(name) for name in questions.stages]
        for path in _exports(project, params, given, outs):
            cache.import_calls(path)
        planned = runner.run(_all(project, params, cache, prices, place, given))
    tasks = planned.tasks
    paid = [task for task in tasks if task.usd is None or task.usd > 0]
    limits = params.operations.budget
    return Plan(
        tasks=tuple(tasks),
        seconds=planned.seconds(),
        at_a_time=params.operations.concurrency,
        measured={
            task.model: len(planned.measured.get(task.model, ()))
            for task in tasks
            if task.calls and not task.replayed
        },
        uncounted=planned.uncounted,
        paid_calls=sum(task.calls for task in paid),
        usd=sum(task.usd or 0.0 for task in paid),
        unpriced=tuple(sorted({task.model for task in paid if task.usd is None and task.calls})),
        prices_as_of=_dates(params, tasks, prices),
        spent_usd=account.spent.usd,
        spent_tokens=account.spent.tokens,
        budget_usd=limits.usd,
        budget_tokens=limits.tokens,
    )


def show_plan(
    project: Project,
    as_json: bool,
    questions: Imported | None = None,
    outs: Results | None = None,
) -> None:
    """Print the plan of params.yaml, see ``make_plan``."""
    plan = make_plan(project, load_params(project.params), questions, outs)
    text = json.dumps(plan.model_dump(mode="json"), indent=2) if as_json else plan_text(plan)
    sys.stdout.write(text + "\n")


def announce(
    project: Project,
    params: Params,
    questions: Imported | None = None,
    outs: Results | None = None,
) -> Plan | None:
    """Before a run that makes calls: print what it will take. None where nothing can be stated.

    In mode deferred a run sends nothing: `simulrag batch submit` asks for the budget. Raises
    BudgetMissing where the plan holds paid calls and no limit is set.
    """
    if params.operations.mode == "deferred" or all(
        model.replay for model in params.models().values()
    ):
        return None
    say("counting the calls to be made: some four questions a second")
    try:
        plan = make_plan(project, params, questions, outs)
    except (SimulRAGError, SimulatorError) as error:  # a stage will say it; others may come through
        say(f"there is no plan: {error}")
        return None
    if plan.paid_calls and not params.operations.budget.given:
        sys.stdout.write(plan_text(plan) + "\n")
        raise BudgetMissing(
            "the work above costs money and there is no budget; no call was made. Set "
            "operations.budget in params.yaml, for example 'budget: {usd: 5}'"
        )
    sys.stdout.write("\n".join(total_lines(plan)) + "\n")
    sys.stdout.flush()
    return plan


def _exports(
    project: Project,
    params: Params,
    given: Sequence[Stage] | None = None,
    outs: Results | None = None,
) -> Iterator[Path]:
    """Yield the exported calls that the stages will take over: they cost nothing."""
    for name in exports(params, given):
        for path in (project.recorded / f"{name}.parquet", (outs or project.results).calls(name)):
            if path.is_file():
                yield path


@dataclass
class PlannedStages:
    """What the stages would ask; ``measured``: the stored calls by model whose time is known."""

    tasks: list[TaskPlan] = field(default_factory=list)
    uncounted: dict[str, str] = field(default_factory=dict)
    measured: dict[str, list[Length]] = field(default_factory=dict)
    assumed_s: dict[str, tuple[str, float]] = field(default_factory=dict)

    def seconds(self) -> float:
        """Sum up what the stages take, at the pace of their models as far as that was measured."""
        return sum(assumed_s * self.pace(model) for model, assumed_s in self.assumed_s.values())

    def pace(self, model: str) -> float:
        """Tell how long a model's calls took against what would be assumed of them."""
        calls = self.measured.get(model, ())
        assumed_s = sum(call.assumed_s for call in calls)
        return sum(call.seconds for call in calls) / assumed_s if assumed_s else 1.0


async def _all(
    project: Project,
    params: Params,
    cache: StoredCalls,
    prices: PriceTable,
    place: Path,
    given: Sequence[Stage] | None,
) -> PlannedStages:
    planned = PlannedStages()
    async for rehearsed in rehearse(project, params, cache, place, given):
        item = rehearsed.item
        name = f"{rehearsed.stage.name}@{item}" if item else rehearsed.stage.name
        for gate in rehearsed.gates:
            planned.tasks += task_plans(name, gate, prices)
            planned.uncounted |= gate.unfit
            model = named(gate.settings)
            stored = (call for calls in gate.stored.values() for call in calls.values())
            planned.measured.setdefault(model, []).extend(call for call in stored if call.seconds)
            planned.assumed_s[name] = (model, rehearsed.seconds)
    return planned


def task_plans(stage: str, gate: DryRunGateway, prices: PriceTable) -> Iterator[TaskPlan]:
    """Tell what is left of a stage for one model, by task."""
    settings = gate.settings
    price = prices.find(settings.full_name)
    paid = not settings.replay and make_provider(settings).paid
    for task in dict.fromkeys([*gate.stored, *gate.missing]):
        stored = list(gate.stored.get(task, {}).values())
        missing = list(gate.missing.get(task, {}).values())
        used = Usage(
            input_tokens=sum(call.tokens_in for call in missing),
            output_tokens=len(missing) * _reply_tokens(stored, missing),
        )
        usd = None if price is None else price.cost(used)
        yield TaskPlan(
            stage=stage,
            task=task,
            calls=len(missing),
            known=sum(call.known for call in missing),
            cached=len(stored),
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            model=named(settings),
            usd=usd if paid else 0.0,
            replayed=settings.replay,
        )


def _reply_tokens(stored: Sequence[Length], missing: Sequence[Length]) -> int:
    """Estimate one reply: as stored ones of the task are long, else as assumed, hidden ones too."""
    return round(fmean(call.tokens_out for call in stored or missing or [Length(0, 0)]))


def named(settings: ModelSettings) -> str:
    """Return a model as the plan names it."""
    return f"{settings.provider}:{settings.model}"


def _dates(params: Params, tasks: list[TaskPlan], prices: PriceTable) -> dict[str, str]:
    pending = {task.model for task in tasks if task.calls and task.usd}
    dates: dict[str, str] = {}
    for settings in params.models().values():
        price, model = prices.find(settings.full_name), named(settings)
        if price is not None and model in pending:
            dates[model] = price.as_of
    return dates


def plan_text(plan: Plan) -> str:
    """Return the plan for people: a line a stage, its tasks below, the total and the budget."""
    lines: list[str] = []
    for stage in dict.fromkeys(task.stage for task in plan.tasks):
        tasks = [task for task in plan.tasks if task.stage == stage]
        lines.append(f"{stage} ({tasks[0].model}): {_sum_text(tasks)}")
        lines += [f"    {task.task:<22} {_sum_text([task])}" for task in tasks if task.calls]
    return "\n".join([*lines, *total_lines(plan)])


def total_lines(plan: Plan) -> Iterator[str]:
    """Yield the total, the time and the budget, and what is to be known of them."""
    yield f"all: {_sum_text(plan.tasks)}"
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
