"""The model of a study, in the words of params.yaml, and what waits for a batch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from flows.params import open_project
from flows.running.bench import Bench, open_bench
from simulators.registry import load
from simulrag.errors import CallsPending
from simulrag.method.asking import together
from simulrag.stage import Role

Item = TypeVar("Item")
Result = TypeVar("Result")


async def over(
    name: str,
    role: Role,
    items: Iterable[Item],
    work: Callable[[Bench, Item], Awaitable[Result]],
    simulates: str | None = None,
) -> Sequence[Result] | None:
    """``work`` over all items, its calls exported as ``name``'s; None where some wait for a batch.

    ``simulates``: the domain whose simulator is run.
    """
    project, params = open_project()
    simulator = load(*params.chosen(simulates, project.root)) if simulates else None
    seed = params.simulator(simulates).seed if simulates else 0
    try:
        async with open_bench(
            project,
            params,
            name,
            role,
            simulator=simulator,
            seed=seed,
            export=project.results.calls(name),
        ) as bench:
            done = await together(bench.waiting.unless(work(bench, item)) for item in items)
            bench.waiting.check()
    except CallsPending as waits:
        print(waits)
        return None
    return [one for one in done if one is not None]
