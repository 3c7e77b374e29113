"""Stage ``report``: one HTML file from the metrics, the answers and the labels; no call is made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from flows.files import check_folder, read_frame, read_records, record_lines
from flows.hooks import RunOutputs, room_names, rooms
from flows.params import ROLES, Params
from flows.project import Project, Results
from flows.report.blocks import Table
from flows.report.page import markdown, write_report
from flows.report.run import (
    Credits,
    LabelledByPeople,
    LabelTable,
    ReportedRun,
    RunSummary,
    read_domains,
)
from flows.report.sections.benchmark import credited, read_published
from flows.report.sections.recipes import recipe_table
from flows.report.traces import Traced
from flows.running.runner import StageContext
from flows.watch.tracking import PERIOD
from simulrag.judging.people import HumanLabel, Key, Settled, majority_label
from simulrag.questions.published import answered_questions, read_questions
from simulrag.records import DOCUMENT_TOOL, Answer, Question
from simulrag.stage import Role, Stage

if TYPE_CHECKING:
    from simulrag.models.settings import ModelSettings


async def make(context: StageContext) -> None:
    """Write the report of all domains."""
    tables: list[Table] = []

    async def work() -> None:
        tables.extend(write(context.project, context.params, context.place))

    await context.tracker.step("write", work)
    period = os.environ.get(PERIOD)  # of a refresh, whose folder goes with it
    place = f"reports/{period}" if period else f"{context.place.report} on {gethostname()}"
    where = f"The report is in `{place}`"
    text = "\n\n".join([where, *map(markdown, tables)])
    await context.tracker.markdown("report", text, "What each way to answer costs and is worth")


def write(
    project: Project, params: Params, place: Results, history: Sequence[Mapping[str, str]] = ()
) -> list[Table]:
    """Write the report from the outs in ``place``, and of a refresh the ``history`` so far.

    Returns the tables of final answers.
    """
    check_folder(place.report.parent)
    names = list(params.domains)
    questions = {name: _questions(place.benchmark(name)) for name in names}
    path = place.human_labels
    settled = majority_label(read_records(path, HumanLabel)) if path.is_file() else {}
    labels = {name: LabelTable(read_frame(place.labels(name), "labels"), settled) for name in names}
    # Questions of a file were written by no model of this run.
    asked = ROLES if place == project.results else ROLES[1:]
    outs = RunOutputs(project, params, place, names, labels, questions)
    brought = [(part.section.key, part.read(outs)) for part in rooms().hook.report_part()]
    run = ReportedRun(
        settings=params.metrics,
        min_coverage=params.operations.min_coverage,
        domains=read_domains(place.metrics, names),
        summary=_summary(project, params, place, names, asked),
        published=read_published(project.published),
        rooms={key: part for key, part in brought if part is not None},
        credits={name: _credits(place.answers(name)) for name in names},
        people={name: _by_people(settled, questions[name], labels[name]) for name in names},
        history=history,
    )
    write_report(place.report, run, _traced(place, questions, labels))
    return [recipe_table(run, run.domains, "answers", "final answers", every=True)]


def _questions(path: Path) -> dict[str, Question]:
    """Read the questions without what the page does not show: evidence is the longest part."""
    less = {"evidence": (), "calls": (), "reference_claims": ()}
    return {
        question.question_id: question.model_copy(update=less) for question in read_questions(path)
    }


def _traced(
    place: Results,
    questions: Mapping[str, Mapping[str, Question]],
    labels: Mapping[str, LabelTable],
) -> Iterator[Traced]:
    """Yield each answer with its question and labels, one in memory at a time."""
    for name, asked in questions.items():
        path, calls = place.answers(name), _calls(place, name)
        for question, answer in answered_questions(
            record_lines(path, Answer), path, asked.values()
        ):
            judged = labels[name].of(answer.question_id)
            yield Traced(question, answer, judged, calls.get(answer.question_id, {}))


def _calls(place: Results, domain: str) -> dict[str, dict[tuple[str, str], list[str]]]:
    """Return by question, stage and task the keys of the calls that were made for it."""
    keys: dict[str, dict[tuple[str, str], list[str]]] = {}
    for stage in ("answer", "label"):
        path = place.calls(f"{stage}-{domain}")
        if not path.is_file():
            continue
        rows = read_frame(path, "calls", ["task", "key", "questions"]).sort("task", "key")
        for task, key, questions in rows.iter_rows():
            for question in questions.split():
                keys.setdefault(question, {}).setdefault((stage, task), []).append(key)
    return keys


def _by_people(
    settled: Mapping[Key, Settled], questions: Mapping[str, Question], labels: LabelTable
) -> tuple[LabelledByPeople, ...]:
    ids = dict.fromkeys(question for question, _ in settled if question in questions)
    return tuple(claim for question in ids for claim in labels.by_people(question))


def _credits(answers: Path) -> Credits:
    """Credit the documents behind answers; a file without a search of documents is not parsed."""
    with answers.open("rb") as file:
        searched = any(DOCUMENT_TOOL.encode() in line for line in file)
    return credited(record_lines(answers, Answer)) if searched else {}


def _summary(
    project: Project,
    params: Params,
    place: Results,
    domains: Sequence[str],
    roles: Sequence[Role],
) -> RunSummary:
    models: dict[str, ModelSettings] = {role: params.model(role) for role in roles}
    if "benchmark" in roles:
        writers = {domain: params.of(domain).model("benchmark") for domain in domains}
        models |= {
            f"benchmark of {domain}": own
            for domain, own in writers.items()
            if own != models["benchmark"]
        }
        if models["benchmark"] not in writers.values():
            del models["benchmark"]
    text = project.root / "data" / "recorded" / "RECORDED.md"
    replayed = any(model.replay for model in models.values())
    return RunSummary(
        models={role: _named(model) for role, model in models.items()},
        replayed=tuple(role for role, model in models.items() if model.replay),
        recorded=text.read_text(encoding="utf-8") if replayed and text.is_file() else "",
        simulators={domain: _simulator(place, domain) for domain in domains},
        params_hash=params.digest("domains", "llm", "answer", "metrics"),
    )


def _named(model: ModelSettings) -> str:
    """Return provider and model, with the endpoint where there is one."""
    at = "" if model.endpoint == "default" else f" at {model.endpoint}"
    return f"{model.provider}: {model.model}{at}"


def _simulator(place: Results, domain: str) -> str:
    """Write name and short fingerprint; a run outside DVC has no identity file, and says replay."""
    path = place.simulator(domain)
    if not path.is_file():
        return "see the evidence of each question"
    identity = json.loads(path.read_text(encoding="utf-8"))
    return f"{identity['simulator']} ({identity['fingerprint'][:8]})"


STAGE = Stage(
    name="report",
    about="one page of all domains, and its tables and figures as files",
    make=make,
    over="",
    sections=(
        "domains",
        "simulators",
        "llm",
        "answer",
        "metrics",
        "operations.min_coverage",
        *(name for name, _ in rooms().hook.params_section()),
    ),
    reads=(
        "data/simulators",
        "data/benchmark",
        "data/answers",
        "data/labels",
        "data/metrics",
        "data/calls",
        "data/recorded",
        "data/published",
        *(folder for part in rooms().hook.report_part() for folder in part.reads),
    ),
    code=tuple(f"rooms/{room}" for room in room_names()),
    makes=("data/report",),
)
