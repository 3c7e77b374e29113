"""The recorded run is replayed whole: no miss, no recorded call unused, the recorded outs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TypeVar

import polars as pl
import pytest

from flows.plan.estimate import answer_calls, label_calls, stage_work
from flows.plan.rehearse import ROLES, Rehearsed
from simulrag.records import Answer, FinalClaims, claim_hash
from tests.recorded import ROOT, Replayed, recorded_calls

DOMAINS = ("urban", "climate", "epidemiology")
OUTS = ROOT.parent / "shared/recorded"
"""The outs of the recorded run, where somebody laid them beside the project."""

AT_25_PERCENT = {"urban": (5.1, 0.70), "climate": (4.0, 0.48), "epidemiology": (3.7, 0.28)}
"""True claims a question and factuality of the final answers (RECORDED.md there)."""

UNRECORDED = {"budget_percent": None, "kappa": None}
"""What a final answer beside the question's own carries now and did not when it was recorded."""

Kind = TypeVar("Kind", Answer, FinalClaims)
needs_outs = pytest.mark.skipif(
    not OUTS.is_dir(), reason="the recorded outs are not beside the project (../shared/recorded)"
)


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_call_is_missing(replayed: Replayed, domain: str) -> None:
    """Each prompt, handbook, schema and evidence text is rendered as it was recorded.

    A task that is named here has lost its recorded calls: what its keys hold was edited.
    """
    found = replayed.domains[domain]
    missing = {
        f"{stage}: {task}": f"{len(keys)} calls, first:\n{gate.unstored[task].messages[0].content}"
        for stage, gate in found.gates.items()
        for task, keys in gate.missing.items()
    }
    assert missing == {}
    assert len(found.complete) == len(found.questions) == found.labelled == 15


def test_every_recorded_call_is_used(replayed: Replayed) -> None:
    """By kind of call: the simulator and its tool, or the reply's schema and the prompt's begin."""
    unused = {
        f"{request['simulator']}.{request['tool']}: run `simulrag record --simulators`"
        if kind == "simulator"
        else f"{(request['schema'] or {}).get('title')}: {request['messages'][0]['content'][:60]}"
        for key, kind, request in recorded_calls()
        if key not in replayed.used
    }
    assert unused == set()


def test_the_answers_carry_both_budgets(replayed: Replayed) -> None:
    for found in replayed.domains.values():
        for _, answer in found.complete:
            assert answer.budget_percent == 100
            finals = {(f.method, f.samples, f.budget_percent) for f in answer.baselines}
            assert {("simulrag", 5, 25), ("simulrag", 1, 25), ("simulrag", 1, 100)} <= finals
            assert all(f.failure is None and f.text for f in answer.baselines)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_plan_of_it_has_nothing_left(replayed: Replayed, domain: str) -> None:
    works = [
        work
        for stage in ROLES
        for work in stage_work(replayed.domains[domain], stage, replayed.params)
    ]
    assert {work.task for work in works if work.calls} == set()
    assert sum(work.cached for work in works) > 1900


def test_what_a_plan_assumes_is_what_the_run_took(replayed: Replayed) -> None:
    """Calls a question of each task, with nothing stored to tell."""
    params = replayed.params
    assumed = answer_calls(params.answer, oracle=False) | label_calls(params)
    took: Counter[str] = Counter()
    for found in replayed.domains.values():
        for stage in ("answer", "label"):
            for task, calls in found.gates[stage].stored.items():  # type: ignore[index]
                took[task] += len(calls)
    assert assumed.keys() == took.keys()
    for task, calls in assumed.items():
        assert calls == pytest.approx(took[task] / 45, rel=0.15), task


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_questions_are_the_recorded_bytes(replayed: Replayed, domain: str) -> None:
    made = replayed.domains[domain].benchmark
    assert made is not None
    lines = "".join(question.model_dump_json() + "\n" for question in made.questions)
    assert lines == (OUTS / f"benchmark/{domain}.jsonl").read_text(encoding="utf-8")
    summary = json.loads((OUTS / f"benchmark/{domain}-summary.json").read_text())
    assert made.summary.model_dump(mode="json") == summary


@needs_outs
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_answers_at_100_percent_are_the_recorded_ones(replayed: Replayed, domain: str) -> None:
    recorded = _lines(OUTS / f"answers/{domain}.jsonl", Answer)
    made = [_as_recorded(answer) for _, answer in replayed.domains[domain].complete]
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
    finals = [
        item.model_copy(update=UNRECORDED)
        for item in found.finals
        if item.budget_percent in (None, 100)
    ]
    assert finals == _lines(OUTS / f"labels/{domain}-final-claims.jsonl", FinalClaims)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_table_at_25_percent(replayed: Replayed, domain: str) -> None:
    true, false = _true_and_false(replayed.domains[domain], budget_percent=25)
    questions = len(replayed.domains[domain].questions)
    assert (round(true / questions, 1), round(true / (true + false), 2)) == AT_25_PERCENT[domain]


def _as_recorded(answer: Answer) -> Answer:
    """The answer as code with a single budget, 100 %, wrote it down."""
    baselines = (
        final.model_copy(update=UNRECORDED)
        for final in answer.baselines
        if final.budget_percent in (None, 100)
    )
    return answer.model_copy(update={"budget_percent": None, "baselines": tuple(baselines)})


def _true_and_false(found: Rehearsed, budget_percent: float) -> tuple[int, int]:
    """The labelled claims of SimulRAG's final answers at a budget; undecided ones left out."""
    labels = {(item.question_id, item.claim_hash): item.label for item in found.labels}
    given = [
        labels[final.question_id, claim_hash(claim)]
        for final in found.finals
        if (final.method, final.samples) == ("simulrag", 5)
        if final.budget_percent == budget_percent
        for claim in final.claims
    ]
    return given.count("true"), given.count("false")


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    text = path.read_text(encoding="utf-8")
    return [kind.model_validate_json(line) for line in text.split("\n") if line]
