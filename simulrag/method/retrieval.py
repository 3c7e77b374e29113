"""Step 1, the retrieval interface I(S, q, h): a question in, simulator evidence as text out.

Documents are asked by queries that a model writes for a question, of three kinds (PROPHET, A.3).
What is not in the published text is decided here: how many queries, and how long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, JsonValue, StrictBool

from simulators.base import ArgumentError, Consulted, RunError, validate_call
from simulrag.errors import ModelError
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import InvalidReply, Reply, Text
from simulrag.records import DOCUMENT_TOOL, Evidence, Retrieval, RetrievalStatus
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class Queries(Reply):
    """Reply to ``queries``."""

    queries: Annotated[list[Text], Field(min_length=1)]


def _short(prompted: Prompted) -> object:
    texts = (sentence(prompted.seed, number) for number in range(QUERIES))
    return {"queries": [" ".join(text.split()[:3]) for text in texts]}


QUERIES_TASK = Task("queries", Queries, stand_in=_short)

KINDS = ("entities", "steps", "similar")
"""What the question names; the steps that would settle it; like events elsewhere or before."""
MAX_WORDS = {"entities": 5, "steps": 8, "similar": 8}
QUERIES = 5
"""Of each kind; of entities at most."""


async def queries(question: str, ask: Asker) -> tuple[str, ...]:
    """Ask for the queries of all kinds, in their order, each once. Raises ModelError.

    The kinds are asked for in a call each, so that a reply of the wrong form is mended by itself.
    """

    async def of(kind: str) -> list[str]:
        def check(reply: Any) -> None:
            if problems := problems_of(kind, reply.queries):
                raise ValueError("; ".join(problems))

        values: dict[str, Any] = {"kind": kind, "count": QUERIES, "words": MAX_WORDS[kind]}
        completion = await ask.ask(QUERIES_TASK, check=check, question=question, **values)
        return [" ".join(query.split()) for query in completion.parsed.queries]

    distinct = {
        query.casefold(): query for part in await together(map(of, KINDS)) for query in part
    }
    return tuple(distinct.values())


def problems_of(kind: str, proposed: list[str]) -> list[str]:
    """Say what is wrong with the queries of a kind, in words that a model can act on."""
    most = MAX_WORDS[kind]
    problems = [
        f"'{query}' has more than {most} words" for query in proposed if len(query.split()) > most
    ]
    if len({" ".join(query.split()).casefold() for query in proposed}) < len(proposed):
        problems.append("give each query once")
    if kind == "entities":
        dated = [query for query in proposed if any(map(_is_date, query.split()))]
        problems += [f"'{query}' holds a date: name what it is about" for query in dated]
    if len(proposed) > QUERIES or (kind != "entities" and len(proposed) < QUERIES):
        problems.append(f"give {QUERIES} queries, not {len(proposed)}")
    return problems


def _is_date(word: str) -> bool:
    """Tell whether a word is a year, a day (2024-08-01, 1/8/24) or a time such as 12:30."""
    parts = word.strip(".,;()").replace("/", "-").replace(":", "-").split("-")
    numbers = all(part.isdecimal() for part in parts)
    return numbers and (len(parts) > 1 or len(parts[0]) == 4)


class ProposedCall(Reply):
    """One tool call, not yet validated against its tool."""

    tool: Text
    arguments: dict[str, JsonValue]


class ToolCalls(Reply):
    """Reply to ``tool_calls``; empty where no tool applies."""

    calls: list[ProposedCall]


class Plan(Reply):
    """Reply to ``plan`` and ``more_calls``.

    ``calls``: empty where no tool applies, or nothing is lacking. ``more``: further calls depend on
    what these show.
    """

    calls: list[ProposedCall]
    more: StrictBool


@dataclass(frozen=True)
class Planning:
    """How far a model looks for evidence: ``runs`` calls a look at most, ``looks`` at most."""

    runs: int = 6
    looks: int = 1


def _example(prompted: Prompted) -> dict[str, object]:
    """Make the first call that the simulator names to try it with; of documents another query."""
    example = prompted.example()
    if example is None:
        return {"calls": []}
    tool, arguments = example
    if tool == DOCUMENT_TOOL:
        texts = [name for name, value in arguments.items() if isinstance(value, str)]
        arguments |= {name: sentence(prompted.seed) for name in texts[:1]}
    return {"calls": [{"tool": tool, "arguments": arguments}]}


def _plan(prompted: Prompted) -> object:
    """Make the same, and say that it is enough."""
    return {**_example(prompted), "more": False}


TOOL_CALLS = Task("tool_calls", ToolCalls, tokens=60, stand_in=_example)
PLAN = Task("plan", Plan, tokens=90, stand_in=_plan)
MORE_CALLS = Task("more_calls", Plan, tokens=90, stand_in=_plan)
SECOND_LOOK = Task("second_look", ToolCalls, tokens=60, stand_in=_example)
MAX_RUNS = 2
"""Of a second look, unless it is told."""


async def retrieve(
    question: str,
    ask: Asker,
    simulations: Simulations,
    *,
    max_attempts: int = 2,
    seed: int = 0,
    planning: Planning | None = None,
) -> Retrieval:
    """Extract tool calls from the question, run them, and put the outputs into words.

    A call that the simulator refuses, or a run that fails, goes back to the model with the
    reason, at most ``max_attempts`` attempts in all. With ``planning`` the model plans so many runs
    a look and says whether it needs to see their outputs before it knows which others it needs;
    while it does, and looks are left, it is shown what was found. They end where a look finds
    nothing new or fails: what was found stays. Without ``planning`` there is one look, but where
    documents are searched. A simulator that only looks evidence up (``oracle``) is asked by the
    question itself and costs no model call, as does one without tools. One that is asked by texts
    (``Consulted``) is asked by the question, or by queries that a model writes for it, before the
    model proposes calls of its other tools.
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
    looking = _Looking(question, ask, simulations, max_attempts, seed, planning)
    if not asked:
        return await looking.all_looks()
    if consulted.status == "failed" or {tool for tool, _ in asked} == set(simulator.tools):
        return consulted
    proposed = await looking.all_looks(consulted.evidence)
    return consulted if proposed.status in ("not_applicable", "refused") else proposed


async def second_look(
    question: str,
    claims: Sequence[str],
    first: Retrieval,
    ask: Asker,
    simulations: Simulations,
    *,
    seed: int = 0,
    most: int = MAX_RUNS,
) -> Retrieval:
    """Add to the evidence the runs, ``most`` at most, that would decide claims it left open.

    A call that is refused twice, and a run that fails, are told among its problems; without any
    evidence the former makes it "refused". Raises ModelError.
    """
    simulator = simulations.simulator
    if not simulator.tools or simulator.oracle:
        return first

    def check(reply: ToolCalls) -> None:
        _within(reply.calls, most)
        try:
            for call in reply.calls:
                validate_call(simulator, call.tool, call.arguments)
        except ArgumentError as error:
            raise InvalidReply(str(error), reply) from None

    completion = await ask.ask(
        SECOND_LOOK,
        check=check,
        handbook=simulator.handbook(),
        question=question,
        problems=[],
        evidence=[run.text for run in first.evidence],
        claims=list(claims),
        most=most,
    )
    made, problems, ran = await _run_all(completion.parsed.calls, simulations, seed)
    evidence, all_problems = _with(list(first.evidence), made), (*first.problems, *problems)
    update = {"evidence": tuple(evidence), "problems": all_problems}
    return first.model_copy(update=update | ({} if evidence or ran else {"status": "refused"}))


async def _looked_up(
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    simulations: Simulations,
    seed: int,
    status: RetrievalStatus,
) -> Retrieval:
    """Gather the evidence of the calls that the question, or the queries for it, make."""
    try:
        evidence = [await simulations.run(tool, arguments, seed) for tool, arguments in calls]
    except (ArgumentError, RunError) as error:
        return Retrieval(status="failed", attempts=1, problems=(str(error),))
    return Retrieval(status=status, evidence=tuple(evidence), attempts=1)


@dataclass(frozen=True)
class _Look:
    """What one look came to. ``proposed``: there were calls; ``refused``: none could be made."""

    evidence: Sequence[Evidence]
    attempts: int
    problems: tuple[str, ...]
    proposed: bool
    refused: bool
    more: bool


@dataclass(frozen=True)
class _Looking:
    """A question whose evidence a model proposes calls for, from the handbook."""

    question: str
    ask: Asker
    simulations: Simulations
    max_attempts: int
    seed: int
    planning: Planning | None

    async def all_looks(self, before: Sequence[Evidence] = ()) -> Retrieval:
        """Gather evidence with what was there ``before``; a first look that fails is a failure."""
        searched = DOCUMENT_TOOL in self.simulations.simulator.tools and not before
        planned = self.planning is not None
        # Without a plan what is found in documents tells what to search for next.
        looks = self.planning.looks if self.planning else self.max_attempts if searched else 1
        look = await self._look(PLAN if planned else TOOL_CALLS, self.max_attempts)
        if look.problems and not (searched and look.evidence):
            status: RetrievalStatus = "refused" if look.refused else "failed"
            return Retrieval(status=status, attempts=look.attempts, problems=look.problems)
        if not look.proposed and not look.evidence:
            return Retrieval(status="not_applicable", attempts=look.attempts)
        evidence = _with(list(before), look.evidence)
        attempts, problems, counts = look.attempts, look.problems, [len(evidence)]
        while len(counts) < looks and (look.more if planned else attempts < self.max_attempts):
            left = self.max_attempts if planned else self.max_attempts - attempts
            try:
                look = await self._look(MORE_CALLS, left, evidence)
            except ModelError as error:
                attempts, problems = attempts + 1, (*problems, str(error))
                break
            attempts, problems = attempts + look.attempts, (*problems, *look.problems)
            evidence = _with(evidence, look.evidence)
            if len(evidence) == counts[-1]:
                break
            counts.append(len(evidence))
        return Retrieval(
            status="retrieved",
            evidence=tuple(evidence),
            attempts=attempts,
            problems=problems,
            looks=tuple(counts) if planned else (),
        )

    async def _look(self, task: Task, most: int, seen: Sequence[Evidence] = ()) -> _Look:
        """Look once: run its calls; while they are refused or fail others, in ``most`` attempts."""
        simulator, planning = self.simulations.simulator, self.planning
        problems: list[str] = []
        shown: list[list[str]] = []
        evidence: list[Evidence] = []
        refused = True
        while len(shown) < most:
            completion = await self.ask.ask(
                task,
                # The same problems once more are another sample: one request has one stored reply.
                sample_index=shown.count(problems),
                check=None if planning is None else lambda r: _within(r.calls, planning.runs),
                handbook=simulator.handbook(),
                question=self.question,
                problems=problems,
                most=None if planning is None else planning.runs,
                **({"evidence": [run.text for run in seen]} if seen else {}),
            )
            shown.append(problems)
            calls: list[ProposedCall] = []
            for call in completion.parsed.calls:
                if call not in calls:
                    calls.append(call)
            made, problems, ran = await _run_all(calls, self.simulations, self.seed)
            evidence, refused = _with(evidence, made), refused and not ran
            if not problems:
                break
        more = getattr(completion.parsed, "more", False)
        return _Look(evidence, len(shown), tuple(problems), bool(calls), refused, more)


def _with(known: list[Evidence], new: Sequence[Evidence]) -> list[Evidence]:
    """Add to the evidence what of the new is not among it."""
    return [*known, *(item for at, item in enumerate(new) if item not in (*known, *new[:at]))]


def _within(calls: Sequence[ProposedCall], most: int) -> None:
    """Raise ValueError for more calls than there may be."""
    if len(calls) > most:
        raise ValueError(f"{len(calls)} calls where at most {most} are allowed")


async def _run_all(
    calls: list[ProposedCall], simulations: Simulations, seed: int
) -> tuple[list[Evidence], list[str], bool]:
    """Run the calls: their evidence, what went wrong, and whether they were possible calls.

    Where one is refused none is run.
    """
    problems: list[str] = []
    for call in calls:
        try:
            validate_call(simulations.simulator, call.tool, call.arguments)
        except ArgumentError as error:
            problems.append(str(error))
    evidence: list[Evidence] = []
    ran = not problems
    for call in calls if ran else ():
        try:
            evidence.append(await simulations.run(call.tool, call.arguments, seed))
        except (ArgumentError, RunError) as error:
            problems.append(str(error))
    return evidence, problems, ran
