"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from flows.files import read_table, record_lines
from flows.params import load_params
from flows.plan.plan import task_plans
from flows.sections import RoomSection
from flows.stages.metrics import read_templates
from simulrag.metrics.families.answers import answers
from simulrag.metrics.families.cost import method_cost
from simulrag.metrics.gather import collect
from simulrag.metrics.recipes import Recipe, recipes_of
from simulrag.metrics.settings import MetricSettings
from simulrag.models.prices import PriceTable
from simulrag.questions.published import read_questions
from simulrag.records import Answer, FinalClaims, Label
from tests.recorded import (
    ROOT,
    Replayed,
    given_project,
    recorded_calls,
    recorded_files,
    replay,
)

OWN = ("urban", "climate", "epidemiology")
DOMAINS = (*OWN, *(f"{domain}-published" for domain in OWN))
OUTS = ROOT.parent / "shared/recorded-2/outs"
"""The outs of the recorded run, where somebody laid them beside the project."""

needs_outs = pytest.mark.skipif(
    not OUTS.is_dir(), reason="the recorded outs are not beside the project (../shared/recorded-2)"
)


def test_no_call_is_missing(replayed: Replayed) -> None:
    """Each prompt, handbook, schema and evidence text is rendered as it was recorded.

    A task that is named here has lost its recorded calls: what its keys hold was edited.
    """
    missing = {
        f"{stage}: {task}": f"{known} calls, first:\n{gate.unstored[task].messages[0].content}"
        for stage, gate in replayed.gates.items()
        for task, calls in gate.missing.items()
        if (known := sum(call.known for call in calls.values()))
    }
    assert missing == {}
    assert not any(gate.missing for gate in replayed.gates.values())


def test_every_recorded_call_is_used(replayed: Replayed) -> None:
    """By kind of call: the simulator and its tool, or the reply's schema and the prompt's begin."""
    unused = Counter(
        f"{request['simulator']}.{request['tool']}"
        if kind == "simulator"
        else f"{(request['schema'] or {}).get('title')}: {request['messages'][0]['content'][:60]}"
        for key, kind, request, _ in recorded_calls()
        if key not in replayed.used
    )
    assert unused == {}


def test_an_edited_prompt_is_named(tmp_path: Path) -> None:
    project = given_project(tmp_path)
    own = project.prompts / "mine/uncovered.md.j2"
    own.parent.mkdir()
    own.write_text("Be brief. " + (project.prompts / "uncovered.md.j2").read_text())
    params = load_params(project.params)
    off = {name: type(part)() for name, part in params if isinstance(part, RoomSection)}
    found = replay(project, tmp_path / "replay", prompts="mine", domains=["urban-published"], **off)
    known = {
        task: sum(call.known for call in calls.values())
        for task, calls in found.gates["answer-urban-published"].missing.items()
    }
    assert {task: count for task, count in known.items() if count} == {"uncovered": 4}


def test_the_answers_carry_both_budgets(replayed: Replayed) -> None:
    for domain in DOMAINS:
        for answer in record_lines(replayed.results.answers(domain), Answer):
            assert answer.failure is None
            assert (answer.method, answer.budget_percent) == ("reconciled_complete", 100)
            finals = {(f.method, f.samples, f.budget_percent) for f in answer.baselines}
            assert {("reconciled", 5, 25), ("reconciled", 5, 100), ("simulrag", 1, 100)} <= finals
            assert all(f.failure is None and f.text for f in answer.baselines)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_plan_of_it_has_nothing_left(replayed: Replayed, domain: str) -> None:
    plans = [
        task
        for name, gate in replayed.gates.items()
        if name.partition("-")[2] == domain
        for task in task_plans(name, gate, PriceTable())
    ]
    assert {task.task for task in plans if task.calls} == set()
    assert sum(task.cached for task in plans) > 300


def test_from_an_empty_cache_a_plan_counts_the_calls_that_the_run_took(tmp_path: Path) -> None:
    """Within a quarter, each stage of each domain and source: by the stages' own code."""
    planned = replay(given_project(tmp_path / "project"), tmp_path, files=[])
    recorded = {file.stem: _model_calls(file) for file in recorded_files()}
    left = {
        name: sum(map(len, gate.missing.values()))
        for name, gate in planned.gates.items()
        if not gate.unfit
    }
    assert {name for name, gate in planned.gates.items() if gate.unfit} == set()
    assert {name: calls for name, calls in left.items() if calls} == {
        name: pytest.approx(calls, rel=0.25) for name, calls in recorded.items() if calls
    }


def _model_calls(file: Path) -> int:
    return pl.read_parquet(file, columns=["kind"]).filter(pl.col("kind") == "model").height


@pytest.fixture(scope="module")
def recipes(replayed: Replayed) -> dict[str, dict[tuple[str, int, float | None], Recipe]]:
    """What the own domains' answers are worth, by method, m and budget."""
    settings = MetricSettings(bootstrap=100)
    found = {}
    for domain in OWN:
        made = replayed.results
        labels = read_table(made.labels(domain), Label)
        data = collect(
            domain,
            settings,
            questions=read_questions(made.benchmark(domain)),
            answers=record_lines(made.answers(domain), Answer),
            finals=record_lines(made.final_claims(domain), FinalClaims),
            judge={(one.question_id, one.claim_hash): one.label for one in labels},
            templates=read_templates(made.templates(domain)),
        )
        rows = (*answers(data), *method_cost(data))
        found[domain] = {
            (one.method, one.samples, one.budget_percent): one
            for one in recipes_of(rows, "excluded")
        }
    return found


@pytest.mark.parametrize(
    ("row", "recipe"),
    [
        ("closed book: 1, 1", ("Closed book", 1, None)),
        ("input RAG, the whole evidence in the prompt: 1, 2", ("Input-layer RAG", 1, None)),
        ("paper, everything in reach verified: 1, 6", ("SimulRAG", 1, 100)),
        ("paper, 25 % of claims verified: 5, 15", ("SimulRAG", 5, 25)),
        ("reconciled, 25 %: 5, 16", ("SimulRAG reconciled", 5, 25)),
        ("paper, 100 %: 5, 15", ("SimulRAG", 5, 100)),
        ("**reconciled, 100 % (the default): 5, 16**", ("SimulRAG reconciled", 5, 100)),
    ],
)
def test_the_readme_shows_what_the_run_found(
    recipes: dict[str, dict[tuple[str, int, float | None], Recipe]],
    row: str,
    recipe: tuple[str, int, float | None],
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", readme, re.M)
    shown = [cell.strip("*") for cell in line.split(" | ")]
    found = [recipes[domain][recipe] for domain in OWN]
    worth = ("informativeness", "factuality", "completeness")
    assert shown == [
        f"{true:.1f}, {share:.2f}, {asked:.2f}"
        for true, share, asked in ([one.value(name) or 0.0 for name in worth] for one in found)
    ]
    calls = int(row.strip("*").rpartition(", ")[2])
    assert [round(one.value("calls") or 0.0) for one in found] == [calls] * len(OWN)


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    "name",
    [
        "benchmark/{}.jsonl",
        "benchmark/{}-summary.json",
        "answers/{}.jsonl",
        "labels/{}.parquet",
        "labels/{}-final-claims.jsonl",
    ],
)
def test_the_outs_are_the_recorded_bytes(replayed: Replayed, domain: str, name: str) -> None:
    path = name.format(domain)
    assert (replayed.results.data / path).read_bytes() == (OUTS / path).read_bytes()
