"""Stage ``routing``: whether questions are sent to the source that can answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from flows.files import record_lines, write_records, write_text
from flows.params import Params
from flows.project import Project, Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from rooms.routing.route import NONE, Routed, near_misses, routed
from rooms.routing.settings import RoutingParams
from simulators.base import Simulator
from simulrag.questions.published import read_questions
from simulrag.records import Question, Record
from simulrag.stage import Outcome, Stage

OUT_OF_REACH = "data/routing/none.jsonl"
"""Questions that no simulator of ours answers, written by hand."""


class OutOfReach(Record):
    """A question that seems the source ``near``'s and that no source answers, and why."""

    question_id: str
    near: str
    text: str
    why: str


def sent(questions: Iterable[Routed]) -> dict[str, dict[str, int]]:
    """Count how many were sent right and wrongly by kind of question, and by right and chosen."""
    routed = [question for question in questions if question.route is not None]
    counts: dict[str, dict[str, int]] = {}
    for question, to in (
        (question, question.route.chosen) for question in routed if question.route is not None
    ):
        kind = counts.setdefault(question.kind, {"right": 0, "wrong": 0})
        kind["right" if question.right == to else "wrong"] += 1
        row = counts.setdefault(f"right is {question.right or NONE}", {})
        row[f"sent to {to or NONE}"] = row.get(f"sent to {to or NONE}", 0) + 1
    return counts


def counts_of(place: Results, domain: str) -> Path:
    """Return the file that counts where a domain's questions were sent."""
    return place.metrics / f"routing-{domain}.json"


def file_of(place: Results, domain: str) -> Path:
    """Return the file that says where a domain's questions were sent."""
    return place.data / "routing" / f"{domain}.jsonl"


async def make(at: StageContext) -> Outcome:
    """Route a domain's own questions, those near it that no source answers, and near misses."""
    sources = sources_of(at.project, at.params)
    own = to_route(at.item, read_questions(at.benchmark))
    simulator = at.params.load_simulator(at.item, at.project.root)
    seed = at.params.simulator(at.item).seed
    async with at.asking(loaded=simulator, seed=seed) as bench:
        count = at.params.room(RoutingParams).near_misses
        written = near_misses(at.item, sources, bench.gateway, bench.runs, seed, count)
        misses = await bench.waiting.unless(written)
        asked = [*own, *out_of_reach(at.project, at.item), *(misses or [])]
        questions = await at.over("routing", asked, partial(_work, sources=sources), bench)
        write_records(file_of(at.place, at.item), questions)
        text = json.dumps(sent(questions), indent=2) + "\n"
        write_text(counts_of(at.place, at.item), text)
    failures = [question.failure for question in questions]
    return Outcome.of(stage_table(at.item, questions), "questions", failures)


async def _work(bench: StageResources, asked: Routed, sources: Mapping[str, Simulator]) -> Routed:
    return await routed(asked, sources, bench.gateway)


def sources_of(project: Project, params: Params) -> dict[str, Simulator]:
    """Load the domains that run and answer by tools; DVC follows each one's identity.

    Domains of search questions are left out: their simulator is another domain's too, so that
    either would be right.
    """
    loaded = {
        name: params.load_simulator(name, project.root)
        for name in params.domains
        if params.of(name).benchmark.kind == "open"
    }
    return {name: simulator for name, simulator in loaded.items() if not simulator.oracle}


def to_route(domain: str, questions: Iterable[Question]) -> list[Routed]:
    """Return a benchmark's questions, whose right source is their own."""
    return [Routed.of(q.question_id, q.text, "own", domain, q.scenario_id) for q in questions]


def out_of_reach(project: Project, domain: str) -> list[Routed]:
    """Read the questions of ours that seem a domain's and that no source answers."""
    rows = record_lines(project.root / OUT_OF_REACH, OutOfReach)
    return [Routed.of(row.question_id, row.text, "none") for row in rows if row.near == domain]


def stage_table(domain: str, questions: Iterable[Routed]) -> str:
    """Show the stage as Markdown."""
    lines = [f"## routing {domain}", "", "| question | right | sent to |", "| --- | --- | --- |"]
    for question in questions:
        sent = (
            f"failed: {question.failure}"
            if question.route is None
            else question.route.chosen or "none"
        )
        if sent != (question.right or "none"):
            lines.append(f"| {question.question_id} | {question.right or 'none'} | {sent} |")
    return "\n".join(lines if len(lines) > 4 else [*lines[:1], "", "Every question is sent right."])


def failed(place: Results, domain: str) -> bool:
    """Return whether a question could not be routed."""
    path = file_of(place, domain)
    return path.is_file() and any(
        question.failure is not None for question in record_lines(path, Routed)
    )


STAGE = Stage(
    name="routing",
    about="whether questions are sent to the source that can answer them",
    make=make,
    over="routing.domains",
    role="answer",
    sections=("domains", "simulators", "benchmark", "routing"),
    reads=("data/simulators", out(Results.benchmark), OUT_OF_REACH),
    makes=(out(file_of),),
    measures=(out(counts_of),),
    failed=failed,
)
