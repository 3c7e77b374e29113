"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from flows.params import load_params
from flows.sections import RoomSection
from tests.recorded import (
    ROOT,
    Replayed,
    given_project,
    recorded_calls,
    recorded_files,
    replay,
)

OWN = ("urban", "climate", "epidemiology")
UNEVEN = ("forms_benchmark-urban-search", "forms_metrics-", "planted-")
OF_NO_STAGE = {"check"}
"""Of texts that `simulrag check` is tried with (examples/check)."""
DOMAINS = (*OWN, *(f"{domain}-published" for domain in OWN))


def test_no_call_is_missing(replayed: Replayed) -> None:
    """Each prompt, handbook, schema and evidence text is rendered as it was recorded.

    A task that is named here has lost its recorded calls: what its keys hold was edited.
    """
    missing = {
        f"{stage}: {task}": f"{known} calls, first:\n{gate.unstored[task].messages[0].content}"
        for stage, gate in replayed.gates
        for task, calls in gate.missing.items()
        if (known := sum(call.known for call in calls.values()))
    }
    assert missing == {}
    assert not any(gate.missing for _, gate in replayed.gates)


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
    every = {file.stem for file in (ROOT / "data/recorded").glob("*.parquet")} - OF_NO_STAGE
    if others := sorted(every - here):
        pytest.skip(f"recorded for stages that are not here: {', '.join(others)}")


def test_an_edited_prompt_is_named(tmp_path: Path) -> None:
    project = given_project(tmp_path)
    own = project.prompts / "mine/audit.md.j2"
    own.parent.mkdir()
    own.write_text("Be brief. " + (project.prompts / "audit.md.j2").read_text())
    params = load_params(project.params)
    off = {name: type(part)() for name, part in params if isinstance(part, RoomSection)}
    found = replay(project, tmp_path / "replay", prompts="mine", domains=["urban-published"], **off)
    known = {
        task: sum(call.known for call in calls.values())
        for stage, gate in found.gates
        if stage == "answer-urban-published"
        for task, calls in gate.missing.items()
    }
    assert {task: count for task, count in known.items() if count} == {"audit": 4}


def test_from_an_empty_cache_a_plan_counts_the_calls_that_the_run_took(tmp_path: Path) -> None:
    """Within a quarter, each stage of each domain and source: by the stages' own code.

    But for what hangs on a question's runs and on its reference's claims, which a plan does not
    know, on how often a model looks on in a search, and on which forms the audits refuse.
    """
    planned = replay(given_project(tmp_path / "project"), tmp_path, files=[])
    recorded = {file.stem: _model_calls(file) for file in recorded_files()}
    assert {name for name, gate in planned.gates if gate.unfit} == set()
    left: Counter[str] = Counter()
    for name, gate in planned.gates:
        left[name] += sum(map(len, gate.missing.values()))
    looked = {f"{stage}-{domain}-search" for stage in ("answer", "label") for domain in OWN}
    known = {
        name: n
        for name, n in recorded.items()
        if n and name not in looked and not name.startswith(UNEVEN)
    }
    assert {name: left[name] for name in known} == {
        name: pytest.approx(calls, rel=0.25) for name, calls in known.items()
    }


def _model_calls(file: Path) -> int:
    return pl.read_parquet(file, columns=["kind"]).filter(pl.col("kind") == "model").height


def test_the_outs_are_those_of_dvc_lock(replayed: Replayed) -> None:
    """All that the stages write but the exports of calls, which name what a run had stored."""
    locked = yaml.safe_load((ROOT / "dvc.lock").read_text(encoding="utf-8"))["stages"]
    outs = {out["path"]: out["md5"] for stage in locked.values() for out in stage.get("outs", ())}
    made = {
        path: hashlib.md5(file.read_bytes()).hexdigest()
        for path in outs
        if (file := replayed.results.data / Path(path).relative_to("data")).is_file()
        and not path.startswith("data/calls/")
    }
    assert made == {path: outs[path] for path in made}
    for domain in DOMAINS:
        assert {f"data/answers/{domain}.jsonl", f"data/labels/{domain}.parquet"} <= made.keys()
