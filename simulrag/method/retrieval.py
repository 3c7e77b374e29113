"""Step 1, the retrieval interface I(S, q, h): a question in, simulator evidence as text out."""

from __future__ import annotations

from simulators.base import ArgumentError, RunError, Simulator, validate_call
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
    """
    simulator = simulations.simulator
    if not simulator.tools:
        return Retrieval(status="not_applicable")
    if simulator.oracle:
        return await _look_up(question, simulations, seed)
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
