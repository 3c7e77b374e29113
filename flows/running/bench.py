"""What every stage that calls a model shares: the call cache, a model, a simulator, and its end.

One process and one event loop own them. A stage ends well when its coverage is at least
``operations.min_coverage``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flows.hooks import prompts_of
from flows.params import Params
from flows.project import Project
from flows.running.waiting import Waiting, open_pending
from flows.watch.progress import Metered
from flows.watch.tracking import say
from simulators.base import Simulator
from simulrag.calls import CallCache
from simulrag.errors import BudgetSpent, CallsPending, InputError
from simulrag.method.simulation import Simulations
from simulrag.models.budget import Budget, open_budget
from simulrag.models.gateway import Gateway
from simulrag.models.pending import Batched, PendingCalls
from simulrag.models.prices import read_prices
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.stage import Role

if TYPE_CHECKING:
    from flows.running.cluster import Workers
    from simulrag.method.steps import Backends


@dataclass(frozen=True)
class StageResources:
    """What a stage works with.

    ``simulate`` gives another simulator's runs, made once as those of its own; ``workers`` where
    its chunks go to Dask.
    """

    cache: CallCache
    gateway: Gateway
    waiting: Waiting
    simulate: Callable[[Simulator], Simulations]
    simulations: Simulations | None = None
    seed: int = 0
    workers: Workers | None = None
    budget: Budget | None = None

    def meter(self) -> Metered:
        """The model calls so far, and what was spent of the budget where they cost money."""
        spent = "" if self.budget is None else self.budget.spent()
        return Metered(self.cache.made, self.cache.taken, spent)

    @property
    def runs(self) -> Simulations:
        """The simulator, in stages that have one."""
        if self.simulations is None:
            raise LookupError("this stage has no simulator")
        return self.simulations

    @property
    def backends(self) -> Backends:
        """The model and the simulator, for the method."""
        from simulrag.method.steps import Backends

        return Backends(self.gateway, self.runs, self.seed)


@asynccontextmanager
async def open_bench(
    project: Project,
    params: Params,
    stage: str,
    role: Role,
    *,
    simulator: Simulator | None = None,
    seed: int = 0,
    export: Path | None = None,
) -> AsyncIterator[StageResources]:
    """Open the cache, the model and the simulator; what is recorded and ``export`` come in first.

    In mode deferred, calls that are not stored wait for a batch; the body ends with
    ``bench.waiting.check()``. On the way out, also after an error, the calls of a stage that ended
    well are exported and the cache and the model are closed. ``stage`` is ``answer-urban``; it
    names the export.
    """
    operations = params.operations
    place = operations.place(project.root)
    cache = CallCache(place, stage=stage, mode=operations.mode)
    pending: PendingCalls | None = None
    try:
        settings = located(project, params.model(role))
        if settings.replay:
            _import(cache, project.recorded / f"{stage}.parquet")
        if export is not None:
            _import(cache, export)
        provider = make_provider(settings)
        budget = open_budget(
            operations.budget, settings, provider, cache, read_prices(project.prices)
        )
        pending = open_pending(place, stage, operations.mode, provider)
        gateway = Gateway(
            provider,
            settings,
            cache,
            prompts_of(project.prompts, params.prompts),
            concurrency=operations.concurrency,
            timeout_s=operations.call_timeout_s,
            retries=operations.retries,
            reply_mb=operations.reply_mb,
            budget=budget,
            wrap=None if pending is None else partial(Batched, pending),
        )
        try:
            simulate = partial(Simulations, cache=cache, workers=operations.simulator_workers)
            simulations = None if simulator is None else simulate(simulator)
            waiting = Waiting(stage, pending)
            try:
                yield StageResources(
                    cache, gateway, waiting, simulate, simulations, seed, budget=budget
                )
            except CallsPending:
                if pending is not None and export is not None:
                    pending.sweep()
                raise
            if export is not None:
                cache.export(export)
        except BudgetSpent:
            if budget is None:
                raise
            raise budget.stopped() from None  # now all calls that it left out are counted
        finally:
            if gateway.failures:
                counts = ", ".join(f"{n} {kind}" for kind, n in gateway.failures.items())
                say(f"  attempts that the model's provider failed: {counts}")
            if gateway.thoughts:
                say(f"  replies that began with a thought aloud, which was cut: {gateway.thoughts}")
            await gateway.close()
    finally:
        if pending is not None:
            pending.close()
        cache.close()


def located(project: Project, settings: ModelSettings) -> ModelSettings:
    """The settings with the path of a local model, which is given from the project's folder."""
    if settings.provider != "local":
        return settings
    path = project.root / Path(settings.model).expanduser()
    return settings.model_copy(update={"model": str(path)})


def _import(cache: CallCache, export: Path) -> None:
    if not export.is_file():
        return
    report = cache.import_calls(export)
    if report.refused:
        raise InputError(
            f"{export}: {len(report.refused)} calls do not match their keys (the first: "
            f"{report.refused[0]}); the file was altered, restore it or delete it"
        )
