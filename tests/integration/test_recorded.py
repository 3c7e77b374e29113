"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic_core import to_json

from flows.params import load_params
from flows.plan.estimate import answer_calls, label_calls, stage_work
from flows.plan.rehearse import ROLES, Rehearsal, rehearse
from simulrag.metrics.families.answers import answers
from simulrag.metrics.families.cost import method_cost
from simulrag.metrics.recipes import Recipe, recipes_of
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer
from tests.recorded import ROOT, Recorded, Replayed, data_of, given_project, recorded_calls

OWN = ("urban", "climate", "epidemiology")
DOMAINS = (*OWN, *(f"{domain}-published" for domain in OWN))
OUTS = ROOT.parent / "shared/recorded-2/outs"
"""The outs of the recorded run, where somebody laid them beside the project."""

EARLIER_ANSWERS = {
    "urban": "eccb5787423adbbc4f5c0bfbf69c06f08d1fa7b50384269720c01a75463394c1",
    "climate": "ba647e3a71be7a2fccb65e4cb79cf13a1f63a96067c5cc734335bc32e24aa8b2",
    "epidemiology": "1f6d3cd03aad726ffe2e5799488bf6e15ce04a79d1c9ac0c443b7269269c6eac",
    "urban-published": "8e69a64d0d4f9eba1281944b52389045e2c3e122df488f1589a254f87325e956",
    "climate-published": "46ed99f6aa85c494707a586beef54aa25974cbac827c755361a8a126cea6616a",
    "epidemiology-published": "a121424bd5cc2403e9887a37aa208c214d4f047a78ed2d8acb0535a33e7da4e2",
}
EARLIER_FINAL_CLAIMS = {
    "urban": "77cfa9458b691db724e7d64fecd0cc72d6d0adc89d7d0ac92b526363a20e825a",
    "climate": "7ca9cc8268c295818cb55c8b1967c9577358ac31648dff75627d362cc95eca51",
    "epidemiology": "271af29cf58e0723c5b390fe2d2406b3f677ae0bfb1efbfd4edcd899ce19862e",
    "urban-published": "6c05774e0121ca64767c140307d7a4df54962c4675ff3fd906bd93fa0459255b",
    "climate-published": "896578cb9bb8d7e2bc561690e0a97f49c5f81bc614ebae2e53721ce8a5a8bec6",
    "epidemiology-published": "20ef39166994def77c28de1bfe7128c820194c84bab3b7ac8aa3a1826610b047",
}
"""SHA-256 of the recorded run's outs, from when the fields of a line lay flat in its records."""
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
            own = answer.final.line
            assert (own.method, own.budget_percent) == ("reconciled_complete", 100)
            lines = [final.line for final in answer.baselines]
            finals = {(line.method, line.samples, line.budget_percent) for line in lines}
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
        data = data_of(replayed.domains[domain], settings)
        rows = (*answers(data), *method_cost(data))
        found[domain] = {
            (one.method, one.line.samples, one.line.budget_percent): one
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


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    answers = [answer for _, answer in replayed.domains[domain].complete]
    for answer in answers:  # what was not written beside the other fields
        assert answer.final.line.samples == len(answer.closed_book)
        assert (answer.final.usage, answer.final.failure) == ({}, None)
    assert _sha256(map(_earlier, answers)) == EARLIER_ANSWERS[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_final_claims_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    finals = [_flat(final.model_dump(mode="json")) for final in replayed.domains[domain].finals]
    assert _sha256(finals) == EARLIER_FINAL_CLAIMS[domain]


def _earlier(answer: Answer) -> dict[str, Any]:
    """An answer as it was written when it held a copy of what its final text holds."""
    found: dict[str, Any] = {}
    for name, value in answer.model_dump(mode="json").items():
        if name == "final":
            own = _flat(value)
            copied = ("method", "budget_percent", "selected", "kept", "kappa", "statements")
            found |= {name: own[name] for name in copied} | {"final": own["text"]}
        else:
            found[name] = list(map(_flat, value)) if name == "baselines" else value
    return found


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its line's fields in the line's place."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        found |= value if name == "line" else {name: value}
    return found


def _sha256(records: Iterable[Mapping[str, Any]]) -> str:
    """Of their file."""
    return hashlib.sha256(b"".join(to_json(record) + b"\n" for record in records)).hexdigest()


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_labels_are_the_recorded_ones(replayed: Replayed, domain: str) -> None:
    found = replayed.domains[domain]
    labels = {(item.question_id, item.claim_hash): item for item in found.labels}
    for row in pl.read_parquet(OUTS / f"labels/{domain}.parquet").iter_rows(named=True):
        mine = labels[row["question_id"], row["claim_hash"]]
        assert (mine.label, mine.reason) == (row["label"], row["reason"])
