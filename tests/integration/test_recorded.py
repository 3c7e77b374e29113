"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import polars as pl
import pytest

from flows.params import load_params
from flows.plan.estimate import answer_calls, label_calls, stage_work
from flows.plan.rehearse import ROLES, Rehearsal, rehearse
from simulrag.metrics.families.answers import answers
from simulrag.metrics.families.cost import method_cost
from simulrag.metrics.gather import collect
from simulrag.metrics.recipes import Recipe, recipes_of
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, FinalClaims
from tests.recorded import ROOT, Recorded, Replayed, given_project, recorded_calls

OWN = ("urban", "climate", "epidemiology")
DOMAINS = (*OWN, *(f"{domain}-published" for domain in OWN))
OUTS = ROOT.parent / "shared/recorded-2/outs"
"""The outs of the recorded run, where somebody laid them beside the project."""

Kind = TypeVar("Kind", Answer, FinalClaims)
needs_outs = pytest.mark.skipif(
    not OUTS.is_dir(), reason="the recorded outs are not beside the project (../shared/recorded-2)"
)


def gates(replayed: Replayed) -> Iterator[tuple[str, Rehearsal]]:
    """What each stage asked, by domain or source."""
    for domain, found in replayed.domains.items():
        yield from ((f"{stage}-{domain}", gate) for stage, gate in found.gates.items())
    yield from replayed.forms.items()


def test_no_call_is_missing(replayed: Replayed) -> None:
    """Each prompt, handbook, schema and evidence text is rendered as it was recorded.

    A task that is named here has lost its recorded calls: what its keys hold was edited.
    """
    missing = {
        f"{stage}: {task}": f"{len(keys)} calls, first:\n{gate.unstored[task].messages[0].content}"
        for stage, gate in gates(replayed)
        for task, keys in gate.missing.items()
    }
    assert missing == {}
    for found in replayed.domains.values():
        assert len(found.complete) == len(found.questions) == found.labelled


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
    params = load_params(project.params).model_copy(update={"prompts": "mine"})
    with Recorded(tmp_path / "calls") as cache:
        found = asyncio.run(rehearse(project, params, cache, "urban-published"))
    assert {task: len(keys) for task, keys in found.gates["answer"].missing.items()} == {
        "uncovered": 4
    }


def test_the_answers_carry_both_budgets(replayed: Replayed) -> None:
    for found in replayed.domains.values():
        for _, answer in found.complete:
            assert (answer.method, answer.budget_percent) == ("reconciled_complete", 100)
            finals = {(f.method, f.samples, f.budget_percent) for f in answer.baselines}
            assert {("reconciled", 5, 25), ("reconciled", 5, 100), ("simulrag", 1, 100)} <= finals
            assert all(f.failure is None and f.text for f in answer.baselines)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_plan_of_it_has_nothing_left(replayed: Replayed, domain: str) -> None:
    works = [
        work
        for stage in ROLES
        for work in stage_work(replayed.domains[domain], stage, replayed.params)
    ]
    assert {work.task for work in works if work.calls} == set()
    assert sum(work.cached for work in works) > 300


def test_what_a_plan_assumes_is_what_the_run_took(replayed: Replayed) -> None:
    """Calls a question of each task, with nothing stored to tell."""
    params = replayed.params
    assumed = answer_calls(params.answer, oracle=False) | label_calls(params)
    took: Counter[str] = Counter()
    for domain in OWN:
        for stage in ("answer", "label"):
            for task, calls in replayed.domains[domain].gates[stage].stored.items():  # type: ignore[index]
                took[task] += len(calls)
    assert assumed.keys() == took.keys()
    for task, calls in assumed.items():
        limit = 1.3 if task == "final_reconciled" else 0.2  # equal statements are written once
        assert calls == pytest.approx(took[task] / 45, rel=limit), task


@pytest.fixture(scope="module")
def recipes(replayed: Replayed) -> dict[str, dict[tuple[str, int, float | None], Recipe]]:
    """What the own domains' answers are worth, by method, m and budget."""
    settings = MetricSettings(bootstrap=100)
    found = {}
    for domain in OWN:
        made = replayed.domains[domain]
        assert made.benchmark is not None
        data = collect(
            domain,
            settings,
            questions=made.questions,
            answers=(answer for _, answer in made.complete),
            finals=made.finals,
            judge={(one.question_id, one.claim_hash): one.label for one in made.labels},
            templates={template.template_id: template for template in made.benchmark.templates},
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
def test_the_questions_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    found = replayed.domains[domain]
    lines = "".join(question.model_dump_json() + "\n" for question in found.questions)
    assert lines == (OUTS / f"benchmark/{domain}.jsonl").read_text(encoding="utf-8")
    if found.benchmark is not None:
        summary = json.loads((OUTS / f"benchmark/{domain}-summary.json").read_text())
        assert found.benchmark.summary.model_dump(mode="json") == summary


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_are_the_recorded_ones(replayed: Replayed, domain: str) -> None:
    recorded = _lines(OUTS / f"answers/{domain}.jsonl", Answer)
    made = [answer for _, answer in replayed.domains[domain].complete]
    assert len(made) == len(recorded)
    for mine, theirs in zip(made, recorded, strict=True):
        for name in Answer.model_fields:  # a field at a time: a difference is then readable
            assert getattr(mine, name) == getattr(theirs, name), (mine.question_id, name)


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_labels_are_the_recorded_ones(replayed: Replayed, domain: str) -> None:
    found = replayed.domains[domain]
    labels = {(item.question_id, item.claim_hash): item for item in found.labels}
    for row in pl.read_parquet(OUTS / f"labels/{domain}.parquet").iter_rows(named=True):
        mine = labels[row["question_id"], row["claim_hash"]]
        assert (mine.label, mine.reason) == (row["label"], row["reason"])
    assert found.finals == _lines(OUTS / f"labels/{domain}-final-claims.jsonl", FinalClaims)


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    text = path.read_text(encoding="utf-8")
    return [kind.model_validate_json(line) for line in text.split("\n") if line]
