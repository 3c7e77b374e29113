"""What every stage that calls a model shares: the call cache, a model, a simulator, and its end.

One process and one event loop own them. A stage ends well when its coverage is at least
``operations.min_coverage``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from flows.hooks import prompts_of
from flows.params import Params
from flows.project import Project
from flows.watch.tracking import Cell, Metered, Tracker, say
from simulators.base import Simulator
from simulrag.calls import CachePlace, CallCache, Mode
from simulrag.errors import BudgetSpent, CallsPending, InputError
from simulrag.method.simulation import Simulations
from simulrag.models.batch.rounds import counts
from simulrag.models.budget import Budget, open_budget
from simulrag.models.gateway import Gateway
from simulrag.models.pending import Batched, PendingCalls, PendingStore
from simulrag.models.prices import Price, read_prices
from simulrag.models.providers.base import Provider
from simulrag.models.providers.registry import is_local, make_provider
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.stage import Outcome, Role

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
        """Return the model calls so far, and what was spent of the budget where they cost money."""
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
    settings = located(project, params.model(role))
    async with AsyncExitStack() as stack:
        cache = CallCache(place, stage=stage, mode=operations.mode)
        stack.callback(cache.close)
        if settings.replay:
            _import(cache, project.recorded / f"{stage}.parquet")
        if export is not None:
            _import(cache, export)
        provider = make_provider(settings)
        budget = open_budget(
            operations.budget, settings, provider, cache, read_prices(project.prices)
        )
        pending = open_pending(place, stage, operations.mode, provider)
        if pending is not None:
            stack.callback(pending.close)
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
        stack.push_async_callback(gateway.close)
        stack.callback(_say_troubles, gateway)
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
        except BudgetSpent:
            if budget is None:
                raise
            raise budget.stopped() from None  # now all calls that it left out are counted
        if export is not None:
            cache.export(export)


def _say_troubles(gateway: Gateway) -> None:
    """Say what went wrong with replies, though the stage may have come through."""
    if gateway.failures:
        counts = ", ".join(f"{n} {kind}" for kind, n in gateway.failures.items())
        say(f"  attempts that the model's provider failed: {counts}")
    if gateway.thoughts:
        say(f"  replies that began with a thought aloud, which was cut: {gateway.thoughts}")
    if lacking := gateway.batches[False]:
        of = gateway.batches.total()
        say(f"  {lacking} of {of} replies were completed: the claims they lacked were asked alone")


def located(project: Project, settings: ModelSettings) -> ModelSettings:
    """Complete the path of a local model, which is given from the project's folder."""
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


Result = TypeVar("Result")


def open_pending(
    cache: CachePlace, stage: str, mode: Mode, provider: Provider
) -> PendingCalls | None:
    """Return the calls of a stage that wait, or None where batches have no part in it.

    Raises InputError for mode deferred and a provider that is paid and takes no batches.
    """
    if mode == "deferred" and not provider.local:
        if not isinstance(provider, SdkProvider):
            raise InputError(
                f"mode deferred: provider '{provider.name}' takes no batches (openai and anthropic "
                "do); set operations.mode to normal"
            )
        return PendingCalls(cache, stage=stage, collect=True)
    # Replies that an import brought are paid for: mode normal uses them as well.
    if mode == "normal" and isinstance(provider, SdkProvider) and PendingStore.exists(cache):
        return PendingCalls(cache, stage=stage, collect=False)
    return None


class Waiting:
    """What a stage's items wait for; ``check`` ends the stage when all that can be done is done."""

    def __init__(self, stage: str, pending: PendingCalls | None) -> None:
        self._stage = stage
        self._pending = pending
        self._items = 0

    async def unless(self, work: Awaitable[Result]) -> Result | None:
        """Return the result, or None where its calls wait for a batch."""
        try:
            return await work
        except CallsPending:
            self.note()
            return None

    def note(self) -> None:
        """Count an item that waits."""
        self._items += 1

    def check(self) -> None:
        """Raise CallsPending where an item waits."""
        if self._items:
            calls = self._pending.waiting if self._pending is not None else 0
            raise CallsPending(
                f"{self._stage}: {calls} calls pending for {self._items} items that wait; {HOW_ON}"
            )


HOW_ON = (
    "`simulrag batch submit` sends them (or `simulrag batch export` writes them to files), "
    "`simulrag batch import` brings the replies, and the same command goes on"
)


def pending_words(cache: CachePlace) -> str:
    """One line on everything that waits beside a call cache."""
    store = PendingStore(cache)
    try:
        states = counts(store.calls())
    finally:
        store.close()
    calls = states["waiting"] + states["sent"]
    return f"{calls} calls pending ({states['sent']} of them sent); {HOW_ON}"


COLUMNS = ("count", "of them in this run", "tokens in", "tokens out", "USD", "seconds")


def cost_rows(
    gateway: Gateway, counts: Mapping[str, tuple[int, int]], price: Price | None
) -> list[dict[str, Cell]]:
    """Coverage (``counts``: how many of how many), then what the calls of each task took.

    Counts every reply that was used, now paid for or before, and twice where it was used twice;
    beside it those really asked in this run. Money is what all of the used ones would cost, in US
    dollars by the price table; empty for a model without a price. Tokens that nobody counted
    (replies from a file) are empty, and so is their price. Seconds are how long the calls of a task
    took one by one, when this machine made them. The calls that complete a reply are of its task.
    """
    free = is_local(gateway.settings.provider)
    used, made, seconds = gateway.usage, gateway.paid, gateway.seconds
    if lacking := gateway.batches[False]:
        counts = {**counts, "replies completed": (lacking, gateway.batches.total())}
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


async def show_calls(
    tracker: Tracker, gateway: Gateway, project: Project, name: str, outcome: Outcome
) -> None:
    """Show in the UI, where it runs, what every stage that asks a model ends with.

    That is its table, and its coverage and cost.
    """

    def costs() -> list[dict[str, Cell]]:
        price = read_prices(project.prices).find(gateway.settings.full_name)
        return cost_rows(gateway, outcome.counts, price)

    await tracker.markdown(name, outcome.table, f"What {name} ended with, and what failed")
    await tracker.table(f"{name}-cost", costs, f"Coverage and cost of {name}")


def _sum(usage: Mapping[str, Usage]) -> Usage:
    return sum(usage.values(), Usage())


def _share(done: int, of: int) -> str:
    return f" ({100 * done / of:.1f} %)" if of else ""
