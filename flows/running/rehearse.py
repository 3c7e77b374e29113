"""The stages without a call: their own code runs to its end, over what is stored and stand-ins.

A model's reply or a simulator's run that is stored is used; in the place of any other stands one
that fits and says nothing. So the calls that the stages would make are counted by the stages
themselves, and those whose prompts rest on no stand-in are known by their very keys.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from pathlib import Path
from selectors import DefaultSelector, SelectorKey
from typing import Any, TypeVar

from pydantic import JsonValue

from flows.hooks import prompts_of
from flows.params import Params
from flows.project import Project
from flows.running.bench import StageResources, Waiting, located
from flows.running.runner import ItemWork, StageContext, chunks, make_folders
from flows.stages import stages
from simulators.base import Simulator, validate_call
from simulators.json_schema import plain_values, read_values, schema_of
from simulrag.calls import CacheAnswer, CallCache, CallKind, CallResult, call_key
from simulrag.errors import CacheError, CallsPending, ReplyInvalid
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.base import Completion, Request
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import InvalidReply, valid_reply
from simulrag.models.settings import ModelSettings
from simulrag.records import CHARACTERS_PER_TOKEN, Evidence, ToolCall, Usage
from simulrag.stage import Role, Stage
from simulrag.stand_in import MARK, Prompted, filled, sentence
from simulrag.task import Task, tasks, without_model

FIRST_TOKEN_S, TOKENS_PER_S = 1.0, 50.0
"""A usual pace of hosted models, assumed until calls of the very model are measured."""

REASONING_TOKENS = {"none": 0, "minimal": 50, "low": 300, "medium": 1000, "high": 3000}
"""Hidden tokens a reply, by the effort that is asked for; billed as output."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Length:
    """Tokens of a call: as its provider counted them, else estimated from its text.

    ``known``: of a call that is not stored, whether its prompt rests on nothing that is not.
    ``seconds``: that a stored one took, where this machine made it.
    """

    tokens_in: int
    tokens_out: int
    known: bool = True
    seconds: float = 0.0

    @property
    def assumed_s(self) -> float:
        """Seconds of such a call at a usual pace."""
        return FIRST_TOKEN_S + self.tokens_out / TOKENS_PER_S


class StoredCalls(CallCache):
    """A call cache in which nothing is ever made: a miss is an error for simulator runs too."""

    async def get_or_call(
        self,
        kind: CallKind,
        request: Mapping[str, JsonValue],
        call: Callable[[], Awaitable[CallResult]] | None = None,  # noqa: ARG002
        *,
        task: str = "",
    ) -> CacheAnswer:
        """Return the stored answer. Raises CacheError where there is none."""
        return await super().get_or_call(kind, request, None, task=task)


class DryRunGateway(Gateway):
    """A gateway that answers from what is stored, else by a stand-in, and notes what was asked.

    ``stored``: the lengths of the calls that are there, by task and key; ``missing``: of those that
    are not, as far as they can be told; ``unstored``: the first of a task's whose prompt is known.
    ``unfit``: tasks whose stand-in the step refuses, so that what follows it is not counted.
    """

    def __init__(
        self,
        settings: ModelSettings,
        cache: StoredCalls,
        prompts: Prompts,
        at_a_time: int,
        simulators: Sequence[Simulator] = (),
    ) -> None:
        self.provider = make_provider(settings)
        super().__init__(self.provider, settings, cache, prompts)
        self.stored: dict[str, dict[str, Length]] = {}
        self.missing: dict[str, dict[str, Length]] = {}
        self.unstored: dict[str, Request] = {}
        self.unfit: dict[str, str] = {}
        self._calls = cache
        self._simulators = simulators
        self._passed: set[str] = set()
        self._places = asyncio.Semaphore(min(at_a_time, self.provider.concurrency or at_a_time))

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """Return the stored completion or a stand-in.

        Raises ReplyInvalid for a stand-in that is unfit.
        """
        request = self.request(task, sample_index, check, values)
        try:
            return await self.complete(request)
        except CallsPending:
            key = call_key("model", self.key(request))
            tokens = reply_tokens(task, values) + self.hidden_tokens(task.name)
            length = replace(self.missing[task.name][key], tokens_out=tokens)
            self.missing[task.name][key] = length
            await self._pass(key, length)
        schema = {} if task.reply is None else task.reply.model_json_schema()
        shape = "" if task.reply is None else task.reply.__name__
        prompted = Prompted(request.messages, shape, sample_index, self._simulators)
        try:
            text, parsed = valid_reply(request, without_model(prompted, schema, task.tokens))
        except InvalidReply as error:
            self.unfit[task.name] = str(error)
            raise ReplyInvalid(f"'{task.name}': no stand-in fits: {error}") from None
        return Completion(text, parsed, Usage(calls=1), "", cached=False)

    async def complete(self, request: Request) -> Completion:
        """Return the stored completion; what is measured has a stand-in here, all else in ``ask``.

        Raises CallsPending where there is none.
        """
        asked = self.key(request)
        key = call_key("model", asked)
        tokens_in = text_tokens("".join(message.content for message in request.messages))
        try:
            # Asked for here first, because the gateway would look for the reason of a miss.
            stored = await self._calls.get_or_call("model", asked)
        except CacheError:
            known = not any(MARK in message.content for message in request.messages)
            self.missing.setdefault(request.task, {})[key] = Length(tokens_in, 0, known)
            if known:
                self.unstored.setdefault(request.task, request)
        else:
            completion = await super().complete(request)
            used = completion.usage
            length = Length(tokens_in, text_tokens(completion.text), seconds=stored.call.latency_s)
            if used.input_tokens:
                length = replace(length, tokens_in=used.input_tokens, tokens_out=used.output_tokens)
            self.stored.setdefault(request.task, {})[key] = length
            return completion
        if request.measure is None:
            raise CallsPending(f"'{request.task}' is not stored")
        await self._pass(key, Length(0, 0))
        texts = request.messages[1:]
        text = json.dumps([0.0 for _ in texts] if request.measure == "rerank" else [["x", -1.0]])
        return Completion(text, None, Usage(calls=1), "", cached=False)

    def hidden_tokens(self, task: str) -> int:
        """Tell what a reasoning model is assumed to think before a reply."""
        effort = self.settings.sampling_of(task).reasoning_effort
        return REASONING_TOKENS.get(effort or "none", 1000)

    async def _pass(self, key: str, call: Length) -> None:
        """Wait as long as a call would take, once, in turn, where the loop's time costs none."""
        if isinstance(asyncio.get_running_loop(), DryLoop) and key not in self._passed:
            self._passed.add(key)
            async with self._places:
                await asyncio.sleep(call.assumed_s)


class _NoWaiting(DefaultSelector):
    """Lets the time that would be waited pass at once."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Select what is ready now."""
        self.passed_s += max(timeout or 0.0, 0.0)
        return super().select(None if timeout is None else 0)


class DryLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still, but for what would be waited: that passes at once.

    So the stages' own order of calls, each with a length, tells how long a run will take.
    """

    def __init__(self) -> None:
        self._clock = _NoWaiting()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return seconds that would have been waited so far."""
        return self._clock.passed_s


def reply_tokens(task: Task, values: Mapping[str, object]) -> int:
    """Return tokens of a reply that is not stored: as its step's, once for each item of a batch."""
    if task.step == task.name:
        return task.tokens
    listed = (values.get(name) for name in ("claims", "answers"))
    items = max((len(batch) for batch in listed if isinstance(batch, list | tuple)), default=0)
    return tasks()[task.step].tokens * items


class StandInRuns(Simulations):
    """A simulator whose stored runs are used; others give stand-ins, and nothing is run."""

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """Return the evidence of one call. Raises ArgumentError."""
        try:
            return await super().run(tool, arguments, seed)
        except CacheError:
            validated = validate_call(self.simulator, tool, arguments)
        kind, plain = self.simulator.tools[tool], plain_values(validated)
        named = f"{tool} {plain}"
        outputs: dict[str, JsonValue] = filled(schema_of(kind.outputs), named)
        try:
            text = kind.describe(validated, read_values(kind.outputs, outputs))
        except Exception:  # somebody's template or validator, which may want more than the schema
            text = sentence(named)
        return Evidence(
            simulator=self.simulator.name,
            call=ToolCall(tool=tool, arguments=plain),
            seed=seed,
            outputs=outputs,
            text=f"{MARK} {text}",
        )


@dataclass(frozen=True)
class DryRunContext(StageContext):
    """A stage's item on what is stored; the models that it opens are added to ``gates``."""

    cache: StoredCalls = field(kw_only=True)
    gates: list[DryRunGateway] = field(kw_only=True)

    @asynccontextmanager
    async def opened(
        self,
        simulator: Simulator | None,
        seed: int,
        *,
        beside: str = "",
        role: Role | None = None,
        params: Params | None = None,
    ) -> AsyncIterator[StageResources]:
        """Open a bench at which no call is made, and of which no export is written."""
        params, role = params or self.params, role or self.role
        settings = located(self.project, params.model(role))
        prompts = prompts_of(self.project.prompts, params.prompts)
        own = () if simulator is None else (simulator,)
        gate = DryRunGateway(settings, self.cache, prompts, params.operations.concurrency, own)
        self.gates.append(gate)

        def simulate(other: Simulator) -> Simulations:
            return StandInRuns(other, self.cache)

        runs = None if simulator is None else simulate(simulator)
        waiting = Waiting(f"{self.name} {beside}".strip(), None)
        try:
            yield StageResources(self.cache, gate, waiting, simulate, runs, seed)
        finally:
            await gate.close()

    def export_nothing(self) -> None:
        """Write nothing."""

    async def over(
        self,
        what: str,
        items: Iterable[Item],
        work: ItemWork[Item, Result],
        bench: StageResources,
    ) -> list[Result]:
        """Do ``work`` over all items in their order, a chunk after the other."""
        results: list[Result] = []
        for _, part in chunks(what, items, self.params.operations.chunk):
            results += await together(work(bench, item) for item in part)
        return results


@dataclass(frozen=True)
class Rehearsed:
    """What an item of a stage would ask: ``gates``, a model each.

    ``seconds``: how long the calls that are missing would take, on a ``DryLoop``.
    """

    stage: Stage
    item: str
    gates: tuple[DryRunGateway, ...]
    seconds: float


async def rehearse(
    project: Project,
    params: Params,
    cache: StoredCalls,
    place: Path,
    given: Sequence[Stage] | None = None,
) -> AsyncIterator[Rehearsed]:
    """Yield every stage that asks a model, of those ``given`` or of all, an item at a time.

    ``place``: a folder for what they make, with what they read and none of them makes. So are the
    outs made of those stages, asking nothing, that one of them reads.
    """
    params = params.with_operations(runner="threads")
    scratch = Project(project.root, place)
    loop = asyncio.get_running_loop()
    for stage in in_order(stages() if given is None else given):
        for item in stage.items(params):
            gates: list[DryRunGateway] = []
            make_folders(stage, scratch.results, item)
            began = loop.time()
            await stage.make(
                DryRunContext(
                    stage, scratch, params.of(item), item, scratch.results, cache=cache, gates=gates
                )
            )
            if stage.role is not None:
                yield Rehearsed(stage, item, tuple(gates), loop.time() - began)


def in_order(given: Iterable[Stage]) -> Iterator[Stage]:
    """Return the stages that ask a model and those that they rest on, each after what it reads."""
    by_name = {stage.name: stage for stage in given}
    before = {
        reader.name: [
            maker.name
            for maker in by_name.values()
            if any(made.startswith(read) for made in maker.makes for read in reader.reads)
        ]
        for reader in by_name.values()
    }
    wanted: set[str] = set()
    left = [stage.name for stage in by_name.values() if stage.role is not None]
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += before[name]
    order = TopologicalSorter({name: before[name] for name in by_name if name in wanted})
    return (by_name[name] for name in order.static_order())


def text_tokens(text: str) -> int:
    """Return tokens of a text, about."""
    return len(text) // CHARACTERS_PER_TOKEN
