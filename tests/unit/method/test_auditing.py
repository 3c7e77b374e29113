"""The audit of a text: what a reply may say, and what is asked for once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulators.base import Tool
from simulrag.calls import CallCache
from simulrag.errors import ReplyInvalid
from simulrag.method.audit import AuditReply, audit_text
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings
from simulrag.records import AuditedClaim, MissingPoint
from simulrag.stand_in import Prompted
from simulrag.task import without_model
from simulrag.testing import ScriptedModel
from tests.making import evidence
from tests.unit.method.conftest import Lake

RUNS = [evidence("It is 12 m."), evidence("It is 15 m.")]
TEXT = "It is 12 m deep."
TOOLS = Lake().tools


def said(status: str = "supported", **changes: object) -> dict[str, object]:
    """One claim of a reply, by the first run where it has to be by one."""
    runs = [1] if status in ("supported", "wrong") else []
    correction = "It is 15 m." if status == "wrong" else ""
    rest = {"runs": runs, "correction": correction, "runnable": False}
    return {"quote": "12 m", "claim": "It is 12 m.", "status": status, **rest, **changes}


def reply(*claims: dict[str, object], missing: object = ()) -> dict[str, object]:
    return {"claims": list(claims), "missing": missing or []}


def lacking(*runs: int) -> list[dict[str, object]]:
    return [{"text": "It is\n15 m wide.", "runs": list(runs)}]


async def test_runs_are_told_by_their_indices_and_words_in_one_line() -> None:
    """Each run once, in order; the quote to the letter."""
    claims = [
        said(runs=[2, 1, 2], quote="12\n m", claim=" It is\n12 m. "),
        said("wrong", runs=[2], correction="It  is 15 m."),
        said("open", runnable=True),
        said("judgement"),
    ]
    ask = ScriptedModel(reply(*claims, missing=lacking(2)))
    found = await audit_text("q?", TEXT, RUNS, TOOLS, ask)
    assert found.text == TEXT
    assert found.claims == (
        AuditedClaim(quote="12\n m", claim="It is 12 m.", status="supported", runs=(0, 1)),
        AuditedClaim(
            quote="12 m", claim="It is 12 m.", status="wrong", runs=(1,), correction="It is 15 m."
        ),
        AuditedClaim(quote="12 m", claim="It is 12 m.", status="open", runnable=True),
        AuditedClaim(quote="12 m", claim="It is 12 m.", status="judgement"),
    )
    assert found.missing == (MissingPoint(text="It is 15 m wide.", runs=(1,)),)
    assert found.problems == ()


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (said(runs=[3]), "claim 1 (supported): there are runs 1 to 2, not 3"),
        (said(runs=[0, 1]), "claim 1 (supported): there are runs 1 to 2, not 0"),
        (said("wrong", runs=[-1, 9, 9]), "claim 1 (wrong): there are runs 1 to 2, not -1, 9"),
        (said(runs=[]), "claim 1 (supported): name the runs that decide it"),
        (said("wrong", runs=[]), "claim 1 (wrong): name the runs that decide it"),
        (said("open", runs=[1]), "claim 1 (open): runs are for supported and wrong"),
        (said("judgement", runs=[1]), "claim 1 (judgement): runs are for supported and wrong"),
        (said("wrong", correction=" \n"), "claim 1 (wrong): give the correction"),
        (said(correction="No."), "claim 1 (supported): a correction is for wrong claims alone"),
        (said("open", correction="No."), "claim 1 (open): a correction is for wrong claims alone"),
        (said(runnable=True), "claim 1 (supported): runnable is for open claims alone"),
        (said("wrong", runnable=True), "claim 1 (wrong): runnable is for open claims alone"),
        (said("judgement", runnable=True), "claim 1 (judgement): runnable is for open claims"),
        (said("true"), "status"),
        (said(quote=""), "quote"),
        (said(runs=[True]), "runs"),
        (said(sure=True), "sure"),
    ],
)
async def test_a_claim_that_cannot_be_is_refused(claim: dict[str, object], problem: str) -> None:
    with pytest.raises(ReplyInvalid) as raised:
        await audit_text("q?", TEXT, RUNS, TOOLS, ScriptedModel(reply(claim)))
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("runs", "problem"),
    [((), "missing 1: name the runs that give it"), ((3,), "missing 1: there are runs 1 to 2")],
)
async def test_what_is_missing_names_runs_that_are_there(
    runs: tuple[int, ...], problem: str
) -> None:
    """A point that cannot be is left aside, and the claims beside it are not lost."""
    ask = ScriptedModel(reply(said(), missing=lacking(*runs)))
    found = await audit_text("q?", TEXT, RUNS, TOOLS, ask)
    assert (len(found.claims), found.missing) == (1, ())
    (told,) = found.problems
    assert told.startswith(f"left aside: {problem}")


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([[0], [1]], 0),  # counted from 0: run 1 is meant for run 2
        ([[2], [3]], 0),  # counted from 2
        ([[1], [3]], 1),  # neither: one number is wrong
        ([[0], [1, 2]], 1),
        ([[1], [2]], 2),
    ],
)
async def test_runs_that_may_be_counted_otherwise_stand_behind_nothing(
    numbers: list[list[int]], kept: int
) -> None:
    judged = said("judgement", runs=[])
    ask = ScriptedModel(reply(*(said(runs=runs) for runs in numbers), judged))
    found = await audit_text("q?", TEXT, RUNS, TOOLS, ask)
    assert [one.status for one in found.claims] == ["supported"] * kept + ["judgement"]
    assert len(found.problems) == 2 - kept


async def test_an_audit_keeps_the_claims_that_can_be_and_is_replayed_so(tmp_path: Path) -> None:
    bad = reply(said(), said("wrong", correction=""), said("open", runs=[1]))
    first, model = await through_a_gateway(tmp_path, bad, bad)
    assert ([one.status for one in first.claims], len(model.sent)) == (["supported"], 2)
    assert [told.partition(":")[0] for told in first.problems] == ["left aside"] * 2
    again, model = await through_a_gateway(tmp_path)
    assert (again, model.sent) == (first, [])


async def through_a_gateway(folder: Path, *replies: object) -> tuple[Any, ScriptedModel]:
    settings = ModelSettings(provider="scripted", model="scripted")
    model = ScriptedModel(*map(json.dumps, replies))
    with CallCache(folder, stage="test") as cache:
        gateway = Gateway(model, settings, cache, packaged_prompts())
        return await audit_text("How deep?", TEXT, RUNS, TOOLS, gateway), model


async def test_one_repair_names_every_fault(tmp_path: Path) -> None:
    bad = reply(said(runs=[7]), said("wrong", correction=""), missing=lacking())
    found, model = await through_a_gateway(tmp_path, bad, reply(said()))
    assert [one.status for one in found.claims] == ["supported"]
    _, repair = model.sent
    for fault in (
        "claim 1 (supported): there are runs 1 to 2, not 7",
        "claim 2 (wrong): give the correction",
        "missing 1: name the runs that give it",
    ):
        assert fault in repair[-1].content


async def test_the_model_is_shown_numbered_runs_and_the_tools_that_are_left(
    tmp_path: Path,
) -> None:
    _, model = await through_a_gateway(tmp_path, reply(said()))
    system, user = model.sent[0]
    assert "sound" in system.content
    assert "No tool can be run further" not in system.content
    assert "Run 1:\nIt is 12 m.\n" in user.content
    assert "Run 2:\nIt is 15 m.\n" in user.content
    assert f"<answer>\n{TEXT}\n</answer>" in user.content


async def test_without_tools_nothing_can_be_run_whatever_the_model_says() -> None:
    none: dict[str, Tool] = {}
    ask = ScriptedModel(reply(said("open", runnable=True)))
    found = await audit_text("q?", TEXT, RUNS, none, ask)
    assert [one.runnable for one in found.claims] == [False]
    assert ask.asked[0]["tools"] == ""
    system, _ = packaged_prompts().render(
        "audit", question="q?", evidence=["It is 12 m."], tools="", answer=TEXT
    )
    assert "No tool can be run further" in system.content


async def test_an_empty_text_claims_nothing_and_may_lack_something() -> None:
    found = await audit_text("q?", "", RUNS, TOOLS, ScriptedModel(reply(missing=lacking(1))))
    assert (found.text, found.claims, len(found.missing)) == ("", (), 1)


@pytest.mark.parametrize("seed", [str(number) for number in range(20)])
async def test_a_plan_goes_on_with_an_audit_that_could_be(seed: str) -> None:
    shown = {"question": "q?", "answer": "One. Two.", "evidence": ["x"], "tools": "# sound"}
    asked = packaged_prompts().render("audit", **shown | {"question": f"q{seed}?"})
    text = without_model(Prompted(asked, "AuditReply"), AuditReply.model_json_schema())
    stand_in = AuditReply.model_validate_json(text)
    found = await audit_text("q?", "One. Two.", RUNS, TOOLS, ScriptedModel(stand_in.model_dump()))
    assert [one.quote for one in found.claims] == ["One.", "Two."]
