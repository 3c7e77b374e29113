"""Step 1, the retrieval interface I(S, q, h): a question in, simulator evidence as text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from simulators.base import ArgumentError, Consulted, RunError, Simulator, validate_call
from simulrag.errors import ReplyInvalid
from simulrag.method.queries import queries
from simulrag.method.simulation import Simulations, example_call
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.records import DOCUMENT_TOOL, Evidence, Retrieval, RetrievalStatus
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class ProposedCall(Reply):
    """One tool call, not yet validated against its tool."""

    tool: Text
    arguments: dict[str, JsonValue]


class ToolCalls(Reply):
    """Reply to ``tool_calls``; empty where no tool applies."""

    calls: list[ProposedCall]


def _example(prompted: Prompted) -> object:
    """The first call that the simulator names to try it with; of documents another query."""
    simulator: Simulator = prompted.values["simulator"]
    tool = next(iter(simulator.tools))
    arguments = example_call(simulator, tool)
    if tool == DOCUMENT_TOOL:
        texts = [name for name, value in arguments.items() if isinstance(value, str)]
        arguments |= {name: sentence(prompted.seed) for name in texts[:1]}
    return {"calls": [{"tool": tool, "arguments": arguments}]}


TOOL_CALLS = Task("tool_calls", ToolCalls, tokens=60, stand_in=_example)
MORE_CALLS = Task("more_calls", ToolCalls, tokens=60, stand_in=_example)
SECOND_LOOK = Task("second_look", ToolCalls, tokens=60, stand_in=_example)
MOST_RUNS = 2
"""Of a second look."""


async def retrieve(
    question: str,
    ask: Asker,
    simulations: Simulations,
    *,
    max_attempts: int = 2,
    seed: int = 0,
) -> Retrieval:
    """Extract tool calls from the question, run them, and put the outputs into words.

    A call that the simulator refuses, or a run that fails, goes back to the model with the
    reason, at most ``max_attempts`` attempts in all. Where documents are searched, each further
    attempt is shown what the earlier ones found, until the model wants no more. A simulator that
    only looks evidence up (``oracle``) is asked by the question itself and costs no model call, as
    does one without tools. One that is asked by texts (``Consulted``) is asked by the question, or
    by queries that a model writes for it, before the model proposes calls of its other tools.
    """
    simulator = simulations.simulator
    if not simulator.tools:
        return Retrieval(status="not_applicable")
    if simulator.oracle:
        (tool,) = simulator.tools
        return await _looked_up([(tool, {"question": question})], simulations, seed, "oracle")
    asked: list[tuple[str, Mapping[str, Any]]] = []
    if isinstance(simulator, Consulted):
        texts = await queries(question, ask) if simulator.by_queries else (question,)
        asked = [call for text in texts for call in simulator.consult(text)]
        status: RetrievalStatus = "retrieved" if simulator.by_queries else "by_question"
        consulted = await _looked_up(asked, simulations, seed, status)
    if not asked:
        return await _proposed(question, ask, simulations, max_attempts, seed)
    if consulted.status == "failed" or {tool for tool, _ in asked} == set(simulator.tools):
        return consulted
    proposed = await _proposed(question, ask, simulations, max_attempts, seed, consulted.evidence)
    return consulted if proposed.status == "not_applicable" else proposed


async def second_look(
    question: str,
    claims: Sequence[str],
    first: Retrieval,
    ask: Asker,
    simulations: Simulations,
    *,
    seed: int = 0,
) -> Retrieval:
    """The evidence with the runs, ``MOST_RUNS`` at most, that would decide claims it left open.

    A reply of no valid call, and a run that fails, leave it as it was and are told among its
    problems.
    """
    simulator = simulations.simulator
    if not simulator.tools or simulator.oracle:
        return first

    def check(reply: ToolCalls) -> None:
        if len(reply.calls) > MOST_RUNS:
            raise ValueError(f"{len(reply.calls)} calls where at most {MOST_RUNS} are allowed")
        try:
            for call in reply.calls:
                validate_call(simulator, call.tool, call.arguments)
        except ArgumentError as error:
            raise ValueError(str(error)) from None

    try:
        completion = await ask.ask(
            SECOND_LOOK,
            check=check,
            handbook=simulator.handbook(),
            simulator=simulator,
            question=question,
            problems=[],
            evidence=[one.text for one in first.evidence],
            claims=list(claims),
            most=MOST_RUNS,
        )
    except ReplyInvalid as error:
        return first.model_copy(update={"problems": (*first.problems, str(error))})
    found, problems = await _run_all(completion.parsed.calls, simulations, seed)
    evidence = list(first.evidence)
    for one in found:
        if one not in evidence:
            evidence.append(one)
    told = (*first.problems, *problems)
    return first.model_copy(update={"evidence": tuple(evidence), "problems": told})


async def _looked_up(
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    simulations: Simulations,
    seed: int,
    status: RetrievalStatus,
) -> Retrieval:
    """The evidence of the calls that the question, or the queries for it, make."""
    try:
        evidence = [await simulations.run(tool, arguments, seed) for tool, arguments in calls]
    except (ArgumentError, RunError) as error:
        return Retrieval(status="failed", attempts=1, problems=(str(error),))
    return Retrieval(status=status, evidence=tuple(evidence), attempts=1)


async def _proposed(
    question: str,
    ask: Asker,
    simulations: Simulations,
    max_attempts: int,
    seed: int,
    before: Sequence[Evidence] = (),
) -> Retrieval:
    """Calls that a model proposes, from the handbook, beside the evidence that is there ``before``.

    Their failure is a failure, unless documents had been found until then.
    """
    simulator = simulations.simulator
    searching = DOCUMENT_TOOL in simulator.tools and not before
    problems: list[str] = []
    shown: list[list[str]] = []
    succeeded: list[ProposedCall] = []
    collected = list(before)
    for attempt in range(1, max_attempts + 1):
        earlier: dict[str, Any] = (
            {"evidence": [one.text for one in collected]} if searching and collected else {}
        )
        completion = await ask.ask(
            MORE_CALLS if earlier else TOOL_CALLS,
            # The same problems once more are another sample: one request has one stored reply.
            sample_index=shown.count(problems),
            handbook=simulator.handbook(),
            simulator=simulator,
            question=question,
            problems=problems,
            **earlier,
        )
        shown.append(problems)
        proposed: list[ProposedCall] = []
        for call in completion.parsed.calls:
            if call not in (*succeeded, *proposed):
                proposed.append(call)
        if not proposed and not earlier:
            return Retrieval(status="not_applicable", attempts=attempt, problems=tuple(problems))
        evidence, problems = await _run_all(proposed, simulations, seed)
        if not problems:
            succeeded += proposed
        if searching or not problems:
            known = list(collected)
            collected += [one for one in evidence if one not in known]
        if not problems and (not searching or not proposed or attempt == max_attempts):
            return Retrieval(status="retrieved", evidence=tuple(collected), attempts=attempt)
    if searching and collected:
        return Retrieval(
            status="retrieved",
            evidence=tuple(collected),
            attempts=max_attempts,
            problems=tuple(problems),
        )
    return Retrieval(status="failed", attempts=max_attempts, problems=tuple(problems))


async def _run_all(
    calls: list[ProposedCall], simulations: Simulations, seed: int
) -> tuple[list[Evidence], list[str]]:
    """Their evidence and what went wrong; where a call is refused none is run."""
    problems: list[str] = []
    for call in calls:
        try:
            validate_call(simulations.simulator, call.tool, call.arguments)
        except ArgumentError as error:
            problems.append(str(error))
    if problems:
        return [], problems
    evidence: list[Evidence] = []
    for call in calls:
        try:
            evidence.append(await simulations.run(call.tool, call.arguments, seed))
        except (ArgumentError, RunError) as error:
            problems.append(str(error))
    return evidence, problems
