"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic_core import to_json

from flows.files import record_lines
from flows.params import load_params
from flows.sections import RoomSection
from simulrag.metrics.families.answers import answers
from simulrag.metrics.families.cost import method_cost
from simulrag.metrics.recipes import Recipe, recipes_of
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, FinalClaims
from tests.recorded import (
    ROOT,
    Replayed,
    data_of,
    given_project,
    recorded_calls,
    recorded_files,
    replay,
)

OWN = ("urban", "climate", "epidemiology")
UNEVEN = ("attribution-", "planted-", "forms_metrics-")
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


def test_every_export_is_of_a_stage_that_is_here() -> None:
    """Those of a room that was deleted are passed over, and named here."""
    here = {file.stem for file in recorded_files()}
    every = {file.stem for file in (ROOT / "data/recorded").glob("*.parquet")}
    if others := sorted(every - here):
        pytest.skip(f"recorded for stages that are not here: {', '.join(others)}")


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


def test_from_an_empty_cache_a_plan_counts_the_calls_that_the_run_took(tmp_path: Path) -> None:
    """Within a quarter, each stage of each domain and source: by the stages' own code.

    But for what hangs on a question's runs and on its reference's claims, which a plan does not
    know, and on which forms the audits refuse.
    """
    planned = replay(given_project(tmp_path / "project"), tmp_path, files=[])
    recorded = {file.stem: _model_calls(file) for file in recorded_files()}
    left = {
        name: sum(map(len, gate.missing.values()))
        for name, gate in planned.gates.items()
        if not gate.unfit
    }
    assert {name for name, gate in planned.gates.items() if gate.unfit} == set()
    known = {name: n for name, n in recorded.items() if n and not name.startswith(UNEVEN)}
    assert {name: left[name] for name in known} == {
        name: pytest.approx(calls, rel=0.25) for name, calls in known.items()
    }


def _model_calls(file: Path) -> int:
    return pl.read_parquet(file, columns=["kind"]).filter(pl.col("kind") == "model").height


@pytest.fixture(scope="module")
def recipes(replayed: Replayed) -> dict[str, dict[tuple[str, int, float | None], Recipe]]:
    """What the own domains' answers are worth, by method, m and budget."""
    settings = MetricSettings(bootstrap=100)
    found = {}
    for domain in OWN:
        data = data_of(replayed, domain, settings)
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
@pytest.mark.parametrize(
    "name",
    [
        "benchmark/{}.jsonl",
        "benchmark/{}-summary.json",
        "labels/{}.parquet",
    ],
)
def test_the_outs_are_the_recorded_bytes(replayed: Replayed, domain: str, name: str) -> None:
    path = name.format(domain)
    assert (replayed.results.data / path).read_bytes() == (OUTS / path).read_bytes()


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    answers = list(record_lines(replayed.results.answers(domain), Answer))
    for answer in answers:  # what was not written beside the other fields
        assert answer.final.line.samples == len(answer.closed_book)
        assert (answer.final.usage, answer.final.failure) == ({}, None)
    assert _sha256(map(_earlier, answers)) == EARLIER_ANSWERS[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_final_claims_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    finals = record_lines(replayed.results.final_claims(domain), FinalClaims)
    flat = [_flat(final.model_dump(mode="json")) for final in finals]
    assert _sha256(flat) == EARLIER_FINAL_CLAIMS[domain]


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
