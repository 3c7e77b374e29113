"""Step 1, the retrieval interface I(S, q, h): a question in, simulator evidence as text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulators.base import ArgumentError, Consulted, RunError, Simulator, validate_call
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import ProposedCall, ToolCalls
from simulrag.records import Evidence, Retrieval


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
    reason, at most ``max_attempts`` attempts in all. A simulator that only looks evidence up
    (``oracle``) is asked by the question itself and costs no model call, as does one without tools.
    So is one that the question makes calls of (``Consulted``), before the model proposes calls of
    its other tools.
    """
    simulator = simulations.simulator
    if not simulator.tools:
        return Retrieval(status="not_applicable")
    if simulator.oracle:
        return await _look_up(question, simulations, seed)
    asked = simulator.consult(question) if isinstance(simulator, Consulted) else ()
    if not asked:
        return await _proposed(question, ask, simulations, max_attempts, seed)
    found = await _by_question(asked, simulations, seed)
    if found.status == "failed" or {tool for tool, _ in asked} == set(simulator.tools):
        return found
    proposed = await _proposed(question, ask, simulations, max_attempts, seed)
    return found if proposed.status == "not_applicable" else _beside(found, proposed)


async def _by_question(
    calls: Sequence[tuple[str, Mapping[str, Any]]], simulations: Simulations, seed: int
) -> Retrieval:
    """The evidence of the calls that the question makes; no model is asked."""
    try:
        found = [await simulations.run(tool, arguments, seed) for tool, arguments in calls]
    except (ArgumentError, RunError) as error:
        return Retrieval(status="failed", attempts=1, problems=(str(error),))
    return Retrieval(status="by_question", evidence=tuple(found), attempts=1)


def _beside(found: Retrieval, proposed: Retrieval) -> Retrieval:
    """What the model's calls gave, after what the question found; their failure is a failure."""
    if proposed.status == "failed":
        return proposed
    more = (item for item in proposed.evidence if item not in found.evidence)
    return proposed.model_copy(update={"evidence": (*found.evidence, *more)})


async def _proposed(
    question: str, ask: Asker, simulations: Simulations, max_attempts: int, seed: int
) -> Retrieval:
    """Calls that a model proposes, from the handbook."""
    simulator = simulations.simulator
    problems: list[str] = []
    told: list[list[str]] = []
    for attempt in range(1, max_attempts + 1):
        completion = await ask.ask(
            "tool_calls",
            ToolCalls,
            # The same problems once more are another sample: one request has one stored reply.
            sample_index=told.count(problems),
            handbook=simulator.handbook(),
            question=question,
            problems=problems,
        )
        told.append(problems)
        proposed = _distinct(completion.parsed.calls)
        if not proposed:
            return Retrieval(status="not_applicable", attempts=attempt, problems=tuple(problems))
        evidence, problems = await _run_all(proposed, simulations, seed)
        if not problems:
            return Retrieval(status="retrieved", evidence=tuple(evidence), attempts=attempt)
    return Retrieval(status="failed", attempts=max_attempts, problems=tuple(problems))


async def _look_up(question: str, simulations: Simulations, seed: int) -> Retrieval:
    (tool,) = simulations.simulator.tools
    try:
        evidence = await simulations.run(tool, {"question": question}, seed)
    except (ArgumentError, RunError) as error:
        return Retrieval(status="failed", attempts=1, problems=(str(error),))
    return Retrieval(status="oracle", evidence=(evidence,), attempts=1)


async def _run_all(
    calls: list[ProposedCall], simulations: Simulations, seed: int
) -> tuple[list[Evidence], list[str]]:
    problems = [text for call in calls if (text := _refusal(simulations.simulator, call))]
    if problems:
        return [], problems
    evidence: list[Evidence] = []
    for call in calls:
        try:
            evidence.append(await simulations.run(call.tool, call.arguments, seed))
        except (ArgumentError, RunError) as error:
            problems.append(str(error))
    return evidence, problems


def _refusal(simulator: Simulator, call: ProposedCall) -> str | None:
    try:
        validate_call(simulator, call.tool, call.arguments)
    except ArgumentError as error:
        return str(error)
    return None


def _distinct(calls: list[ProposedCall]) -> list[ProposedCall]:
    kept: list[ProposedCall] = []
    for call in calls:
        if call not in kept:
            kept.append(call)
    return kept
