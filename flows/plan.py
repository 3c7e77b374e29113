"""``simulrag plan``: calls, tokens, money and time of the pending work, before any of it is spent.

Only from the parameters, the call cache and the price table: nothing is called, nothing runs.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from flows.imported import Imported
from flows.params import Params, load_params
from flows.planned import Plan, TaskPlan, plan_text, total_lines
from flows.project import Project, Results
from flows.running.rehearse import (
    DryLoop,
    DryRunGateway,
    Length,
    StoredCalls,
    rehearse,
)
from flows.stages import exports, stage_of
from flows.watch.tracking import say
from simulators.base import SimulatorError
from simulrag.errors import BudgetMissing, SimulRAGError
from simulrag.models.budget import Account
from simulrag.models.prices import PriceTable, read_prices
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.stage import Stage

SAMPLE = 50
"""Questions of each imported domain that a plan counts: so many take seconds."""


def make_plan(
    project: Project,
    params: Params | None = None,
    questions: Imported | None = None,
    outs: Results | None = None,
    *,
    exact: bool = False,
) -> Plan:
    """Return the plan of all stages and domains of ``params``, by default those of params.yaml.

    Or of a run over imported ``questions``, whose outs lie in ``outs``: from ``SAMPLE`` of each
    domain, or from all of them (``exact``).
    """
    params = params or load_params(project.params)
    plan = _plan(project, params, questions, outs, exact=exact)
    pending = any(task.calls and task.stage.startswith("answer@") for task in plan.tasks)
    published = questions is not None and questions.as_published
    if published or not (pending and params.answer.beside):
        return plan
    answer = params.answer.model_copy(update={"beside": ()})
    alone = _plan(
        project, params.model_copy(update={"answer": answer}), questions, outs, exact=exact
    )
    return plan.model_copy(update={"alone": sum(task.calls for task in alone.tasks)})


def _plan(
    project: Project,
    params: Params,
    questions: Imported | None,
    outs: Results | None,
    *,
    exact: bool,
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
        given, times = None, dict[str, float]()
        if questions is not None:
            if not exact:
                questions, times = questions.sampled(SAMPLE)
            params = questions.placed(project, params, Results(place))
            given = [stage_of(name) for name in questions.stages]
        for path in _exports(project, params, given, outs):
            cache.import_calls(path)
        planned = runner.run(_all(project, params, cache, prices, place, given))
    planned.multiply(times)
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
        sample=SAMPLE if any(factor > 1 for factor in times.values()) else None,
    )


def show_plan(
    project: Project,
    as_json: bool,
    questions: Imported | None = None,
    outs: Results | None = None,
    *,
    exact: bool = False,
) -> None:
    """Print the plan of params.yaml, see ``make_plan``."""
    plan = make_plan(project, load_params(project.params), questions, outs, exact=exact)
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
    say("counting the calls to be made")
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

    def multiply(self, times: Mapping[str, float]) -> None:
        """Take each stage of a domain to be so many times as long as what was counted."""
        self.tasks = [_times(task, times.get(_domain(task.stage), 1)) for task in self.tasks]
        self.assumed_s = {
            stage: (model, seconds * times.get(_domain(stage), 1))
            for stage, (model, seconds) in self.assumed_s.items()
        }

    def seconds(self) -> float:
        """Sum up what the stages take, at the pace of their models as far as that was measured."""
        return sum(assumed_s * self.pace(model) for model, assumed_s in self.assumed_s.values())

    def pace(self, model: str) -> float:
        """Tell how long a model's calls took against what would be assumed of them."""
        calls = self.measured.get(model, ())
        assumed_s = sum(call.assumed_s for call in calls)
        return sum(call.seconds for call in calls) / assumed_s if assumed_s else 1.0


def _domain(stage: str) -> str:
    return stage.partition("@")[2]


def _times(task: TaskPlan, factor: float) -> TaskPlan:
    counts = ("calls", "known", "cached", "input_tokens", "output_tokens")
    changed: dict[str, object] = {name: round(getattr(task, name) * factor) for name in counts}
    if task.usd is not None:
        changed["usd"] = task.usd * factor
    return task.model_copy(update=changed)


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
