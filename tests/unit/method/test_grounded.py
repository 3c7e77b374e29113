"""``method: grounded`` from question to a marked answer: looks, audit, second look, mending."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from simulators.base import ToolModel
from simulators.library import LibrarySimulator
from simulrag.calls import CallCache
from simulrag.errors import CallsPending, ModelUnavailable
from simulrag.method.grounded import choose, conclude, draft
from simulrag.method.recipes import answer_question
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends
from simulrag.records import Answer, FinalText, Statement
from simulrag.shown import stands_without, unverified
from simulrag.testing import ScriptedModel
from tests.unit.method.conftest import Depth, Lake
from tests.unit.method.planned import NO_TOOL, QUESTION, Plan, sound
from tests.unit.method.test_retrieval import corpus

SETTINGS = MethodSettings(samples=2, kappa=0.0, verbalized=False, final_budgets_percent=(100.0,))
TEXT = "It is 12 m deep and 9 m wide, which is good. Its bed is mud."
MENDED = "It is 12 m deep and 4 m wide, which is good. Its bed is mud. It is cold."


def found(quote: str, status: str = "supported", **changes: object) -> dict[str, object]:
    """One claim of an audit, in the words of its quote."""
    runs = [1] if status in ("supported", "wrong") else []
    rest = {"runs": runs, "correction": "", "runnable": False}
    return {"quote": quote, "claim": f"Claim: {quote}", "status": status, **rest, **changes}


DEEP = found("12 m deep")
WIDE = found("9 m wide", "wrong", correction="It is 4 m wide.")
GOOD = found("good", "judgement")
MUD = found("bed is mud", "open", runnable=True)
FISH = found("no fish", "open", runnable=True)
COLD = {"text": "It is cold.", "runs": [1]}
CHANGED = [(1, "4 m wide"), (2, "It is cold")]


def audited(*claims: dict[str, object], missing: object = ()) -> dict[str, object]:
    return {"claims": list(claims), "missing": missing or []}


def mending(text: str = MENDED, places: Any = CHANGED) -> dict[str, object]:
    return {"text": text, "places": [{"change": n, "quote": quote} for n, quote in places]}


def verdicts(**said: str | None) -> Callable[[dict[str, Any]], object]:
    """By the last word of a claim: None holds, a text is what the runs say, else undecided."""

    def of(index: int, text: str) -> dict[str, object]:
        word = text.rstrip(".").rsplit(maxsplit=1)[-1]
        new = said.get(word) or ""
        return {
            "index": index,
            "is_included": word in said,
            "should_update": bool(new),
            "updated_claim": new,
        }

    return lambda shown: {"claims": [of(*one) for one in enumerate(shown["claims"])]}


def scripted(**replies: object) -> ScriptedModel:
    """Says ``TEXT`` by the evidence, and finds nothing to say against it, but for ``replies``."""
    shared = "It is 12 m deep."
    said = {"input_rag": TEXT, "audit": audited(DEEP, GOOD), "mend": mending(), **replies}
    return Plan(
        answers=[[shared, "It is cold."], [shared]],
        aligned=[shared],
        replies=said,
    ).model()


async def answered(
    simulations: Simulations, settings: MethodSettings = SETTINGS, /, **replies: Any
) -> tuple[Answer, ScriptedModel]:
    model = scripted(**replies)
    return await answer_question(QUESTION, Backends(model, simulations), settings), model


def asked(model: ScriptedModel, *besides: str) -> list[str]:
    """The tasks in the order in which they were asked, those of the evidence and audit left out."""
    left = {"input_rag", "audit", *besides}
    return [str(call["task"]) for call in model.asked if call["task"] not in left]


def told(final: FinalText) -> list[tuple[str, str]]:
    """What stands at each statement's place, and how; nothing where it has no place."""
    for one in final.statements:
        assert (one.start is None) == (one.end is None)
        if one.start is not None:
            assert final.text[one.start : one.end] == one.quote
    return [("" if one.start is None else one.quote, one.standing) for one in final.statements]


def places(answer: Answer) -> list[object]:
    return [one.call.arguments["place"] for one in answer.evidence]


def by_claim(final: FinalText) -> dict[str, Statement]:
    return {one.text: one for one in final.statements}


async def test_a_text_with_nothing_wrong_stays_as_it_was_written(simulations: Simulations) -> None:
    answer, model = await answered(simulations, audit=audited(DEEP, GOOD, found("mud", "open")))
    assert answer.failure is None
    assert answer.text == TEXT
    assert told(answer.final) == [
        ("12 m deep", "checked"),
        ("good", "judgement"),
        ("mud", "beyond"),
    ]
    assert [one.runs for one in answer.final.statements] == [(0,), (), ()]
    assert answer.verified
    assert asked(model) == ["plan"]
    assert (answer.closed_book, answer.claims, answer.baselines) == ((), (), ())
    assert answer.final.line.method == "grounded"
    shown = next(call for call in model.asked if call["task"] == "input_rag")
    assert shown["context"] == answer.context == "It is 12.0 m."


async def test_what_is_wrong_is_corrected_and_what_is_missing_added(
    simulations: Simulations,
) -> None:
    answer, model = await answered(
        simulations, audit=audited(GOOD, WIDE, DEEP, found("bed is mud", "open"), missing=[COLD])
    )
    assert answer.text == MENDED
    assert told(answer.final) == [  # in the order of the text, not of the audit
        ("12 m deep", "checked"),
        ("4 m wide", "corrected"),
        ("good", "judgement"),
        ("bed is mud", "beyond"),
        ("It is cold", "added"),
    ]
    wide, cold = by_claim(answer.final)["It is 4 m wide."], by_claim(answer.final)["It is cold."]
    assert (wide.before, wide.correction, wide.runs) == ("Claim: 9 m wide", None, (0,))
    assert (cold.before, cold.correction, cold.runs) == (None, None, (0,))
    (mend,) = [call for call in model.asked if call["task"] == "mend"]
    assert (mend["answer"], mend["keep"]) == (TEXT, ["12 m deep"])
    assert mend["changes"] == [
        {"quote": "9 m wide", "says": "It is 4 m wide."},
        {"quote": "", "says": "It is cold."},
    ]
    assert answer.audit is not None
    assert (answer.audit.text, answer.audit.problems) == (TEXT, ())


async def test_what_is_missing_alone_is_added_and_verifies_the_answer(
    simulations: Simulations,
) -> None:
    reply = mending(TEXT + " It is cold.", [(1, "It is cold")])
    answer, _ = await answered(simulations, audit=audited(missing=[COLD]), mend=reply)
    assert told(answer.final) == [("It is cold", "added")]
    assert answer.verified


async def test_without_a_checked_word_nothing_is_verified(simulations: Simulations) -> None:
    answer, _ = await answered(simulations, audit=audited(GOOD, found("mud", "open")))
    assert not answer.verified


@pytest.mark.parametrize("dropped", ["12 m deep", "4 m wide"])
async def test_a_text_that_could_not_be_mended_stays_and_its_marks_tell(
    simulations: Simulations, dropped: str
) -> None:
    """A kept quote is dropped; a change stands nowhere."""
    reply = mending(MENDED.replace(dropped, "huge"))
    answer, _ = await answered(simulations, audit=audited(DEEP, WIDE, missing=[COLD]), mend=reply)
    assert answer.failure is None
    assert answer.text == TEXT
    assert told(answer.final) == [("12 m deep", "checked"), ("9 m wide", "wrong")]
    wide = answer.final.statements[1]
    assert (wide.text, wide.correction, wide.before) == (
        "Claim: 9 m wide",
        "It is 4 m wide.",
        None,
    )
    (failed,) = answer.failed_steps
    assert failed.step == "mend"
    assert dropped in failed.reason
    assert "mend" not in answer.final.usage


async def test_a_quote_that_is_not_in_the_text_has_no_place_and_comes_last(
    simulations: Simulations,
) -> None:
    claims = [found("13 m deep"), found(TEXT * 2, "open"), found("9  m\nwide"), found(".*")]
    answer, _ = await answered(simulations, audit=audited(*claims))
    assert told(answer.final) == [
        ("9 m wide", "checked"),
        ("", "checked"),
        ("", "beyond"),
        ("", "checked"),
    ]


async def test_a_wrong_claim_without_a_place_is_mended_too(simulations: Simulations) -> None:
    away = found("9.0 m across", "wrong", correction="It is 4 m wide.")
    reply = mending(MENDED, CHANGED[:1])
    answer, _ = await answered(simulations, audit=audited(DEEP, away), mend=reply)
    assert told(answer.final) == [("12 m deep", "checked"), ("4 m wide", "corrected")]


async def test_the_same_words_twice_are_two_places(simulations: Simulations) -> None:
    text = "The bay is 5 m deep, the arm 5 m."
    claims = [found("5 m"), found("5 m", "open")]
    answer, _ = await answered(simulations, input_rag=text, audit=audited(*claims))
    assert [(one.start, one.standing) for one in answer.final.statements] == [
        (text.index("5 m"), "checked"),
        (text.rindex("5 m"), "beyond"),
    ]


async def test_an_empty_text_is_mended_where_something_is_missing(
    simulations: Simulations,
) -> None:
    reply = mending("It is cold.", [(1, "It is cold.")])
    answer, _ = await answered(
        simulations, input_rag=" ", audit=audited(missing=[COLD]), mend=reply
    )
    assert told(answer.final) == [("It is cold.", "added")]
    empty, _ = await answered(simulations, input_rag=" ", audit=audited())
    assert (empty.failure, empty.text, empty.final.statements) == (None, "", ())


# Looks.


async def test_looks_go_on_while_the_model_needs_more(simulations: Simulations) -> None:
    plans = iter([sound("there", more=True), sound("far", "away"), sound("never")])
    answer, model = await answered(
        simulations, plan=sound("here", more=True), more_calls=lambda _: next(plans)
    )
    assert asked(model) == ["plan", "more_calls", "more_calls"]
    assert places(answer) == ["here", "there", "far", "away"]
    assert answer.retrieval is not None
    assert answer.retrieval.looks == (1, 2, 4)
    assert answer.simulator_runs == 4
    assert [one.call.arguments["place"] for one in answer.first_look.evidence] == ["here"]
    seen = [call["evidence"] for call in model.asked if call["task"] == "more_calls"]
    assert [len(one) for one in seen] == [1, 2]  # type: ignore[arg-type]
    shown = {call["task"]: call for call in model.asked}
    assert shown["input_rag"]["context"] == answer.context
    assert len(shown["audit"]["evidence"]) == 4  # type: ignore[arg-type]


async def test_a_model_that_always_needs_more_has_as_many_looks_as_are_set(
    simulations: Simulations,
) -> None:
    names = iter("abcdefgh")
    answer, model = await answered(
        simulations,
        SETTINGS.model_copy(update={"looks": 3}),
        plan=sound("here", more=True),
        more_calls=lambda _: sound(next(names), more=True),
        audit=audited(DEEP, MUD),
    )
    assert asked(model) == ["plan", "more_calls", "more_calls"]  # and no second look
    assert places(answer) == ["here", "a", "b"]
    assert told(answer.final)[-1] == ("bed is mud", "not_run")


@pytest.mark.parametrize(
    ("later", "asked_again", "found_too", "problem"),
    [
        (sound(more=True), 1, [], None),
        (sound("here", more=True), 1, [], None),  # known already
        (sound("dry", more=True), 2, [], "no water there"),
        (sound("dry", "there"), 2, ["there"], "no water there"),
        (sound("a", "b", "c", "d", "e", "f", "g"), 1, [], "7 calls where at most 6 are allowed"),
    ],
)
async def test_a_later_look_that_finds_nothing_or_fails_leaves_what_was_found(
    simulations: Simulations,
    later: object,
    asked_again: int,
    found_too: list[str],
    problem: str | None,
) -> None:
    answer, model = await answered(simulations, plan=sound("here", more=True), more_calls=later)
    assert answer.failure is None
    assert asked(model) == ["plan", *["more_calls"] * asked_again]
    assert places(answer) == ["here", *found_too]
    assert answer.retrieval is not None
    assert answer.retrieval.looks == ((1, 2) if found_too else (1,))
    assert (problem is None) == (answer.retrieval.problems == ())
    assert (problem or "") in "; ".join(answer.retrieval.problems)


@pytest.mark.parametrize(
    ("plan", "problem"),
    [(sound(*"abcdefg"), "7 calls where at most 6"), (sound("dry"), "no water there")],
)
async def test_a_first_look_that_fails_is_the_questions_failure(
    simulations: Simulations, plan: object, problem: str
) -> None:
    answer, model = await answered(simulations, plan=plan)
    assert answer.failure is not None
    assert answer.failure.step == "retrieve"
    assert problem in answer.failure.reason
    assert (answer.text, "input_rag" in asked(model, "")) == ("", False)


# Without evidence.


async def test_without_a_tool_the_answer_is_the_closed_book_one_and_not_audited(
    simulations: Simulations,
) -> None:
    answer, model = await answered(simulations, plan=NO_TOOL)
    assert answer.failure is None
    assert answer.text == "Answer 0"
    assert (answer.audit, answer.final.statements, answer.verified) == (None, (), False)
    assert asked(model) == ["plan", "closed_book"]
    assert set(answer.final.usage) == {"closed_book"}


class OfQuestion(ToolModel):
    question: str = Field(description="a question")


class Known(Lake):
    """A lake whose evidence is looked up by the question."""

    oracle = True

    def __init__(self) -> None:
        super().__init__()
        self.tools = {"sound": replace(self.tools["sound"], arguments=OfQuestion)}

    def run(self, tool: str, arguments: ToolModel, seed: int) -> Depth:
        return Depth(depth_m=12.0)


async def test_published_evidence_cannot_be_run_further(tmp_path: Path) -> None:
    with CallCache(tmp_path / "oracle", stage="test") as cache:
        answer, model = await answered(
            Simulations(Known(), cache),
            SETTINGS.model_copy(update={"beside": ("rag",)}),
            audit=audited(DEEP, MUD),
        )
    assert answer.retrieval is not None
    assert (answer.retrieval.status, answer.retrieval.looks) == ("oracle", ())
    assert told(answer.final) == [("12 m deep", "checked"), ("bed is mud", "beyond")]
    assert [call["tools"] for call in model.asked if call["task"] == "audit"] == [""]
    assert {"plan", "second_look"} & set(asked(model)) == set()
    # RAG by looks is RAG where nothing was planned.
    assert [one.line.method for one in answer.baselines] == ["input_rag", "output_rag"]


# The second look.


def further(*places: str) -> dict[str, object]:
    """The runs of a second look."""
    return {"calls": sound(*places)["calls"]}


async def test_a_second_look_decides_what_further_runs_tell(simulations: Simulations) -> None:
    """One open claim holds, one is wrong and mended, one stays open; one no tool could decide."""
    text = f"{TEXT} It has no fish, and frogs, maybe."
    open_ones = [MUD, FISH, found("frogs", "open", runnable=True), found("maybe", "open")]
    answer, model = await answered(
        simulations,
        input_rag=text,
        audit=audited(DEEP, *open_ones),
        second_look=further("there", "far"),
        verify_batch=verdicts(mud=None, fish="It has a fish."),
        mend=mending(text.replace("no fish", "a fish"), [(1, "a fish")]),
    )
    assert answer.failure is None
    assert asked(model) == ["plan", "second_look", "verify_batch", "mend"]
    assert told(answer.final) == [
        ("12 m deep", "checked"),
        ("bed is mud", "checked"),
        ("a fish", "corrected"),
        ("frogs", "not_run"),
        ("maybe", "beyond"),
    ]
    assert [one.runs for one in answer.final.statements] == [(0,), (1, 2), (1, 2), (), ()]
    assert places(answer) == ["here", "there", "far"]
    assert answer.simulator_runs == 3
    assert answer.retrieval is not None
    assert answer.retrieval.looks == (1,)
    shown = {call["task"]: call for call in model.asked}
    left = ["Claim: bed is mud", "Claim: no fish", "Claim: frogs"]
    assert shown["second_look"]["claims"] == shown["verify_batch"]["claims"] == left
    assert shown["second_look"]["most"] == SETTINGS.runs
    assert shown["verify_batch"]["context"] == answer.context
    assert shown["mend"]["keep"] == ["12 m deep", "bed is mud"]


@pytest.mark.parametrize(
    ("look", "problem"),
    [
        (further(), None),
        (further("here"), None),  # known already
        (further("dry"), "no water there"),
        (further(*"abcdefg"), "7 calls where at most 6 are allowed"),
        ({"calls": [{"tool": "fly", "arguments": {}}]}, "fly"),
    ],
)
async def test_a_second_look_that_finds_nothing_leaves_claims_open(
    simulations: Simulations, look: object, problem: str | None
) -> None:
    answer, model = await answered(simulations, audit=audited(DEEP, MUD), second_look=look)
    assert answer.failure is None
    assert asked(model) == ["plan", "second_look"]
    assert places(answer) == ["here"]
    assert told(answer.final) == [("12 m deep", "checked"), ("bed is mud", "not_run")]
    assert answer.audit is not None
    problems = [*answer.audit.problems, *(one.reason for one in answer.failed_steps)]
    assert (problem is None) == (problems == [])
    assert (problem or "") in "; ".join(problems)


@pytest.mark.parametrize(
    ("changes", "claims"),
    [
        ({"looks": 1}, [DEEP, MUD]),  # the plan was the only look
        ({}, [DEEP, found("bed is mud", "open")]),  # no tool would decide it
        ({}, [DEEP]),
    ],
)
async def test_there_is_no_second_look_without_a_look_left_or_something_to_run(
    simulations: Simulations, changes: dict[str, object], claims: list[dict[str, object]]
) -> None:
    settings = SETTINGS.model_copy(update=changes)
    _, model = await answered(simulations, settings, audit=audited(*claims))
    assert asked(model) == ["plan"]


async def test_a_verdict_that_announces_a_correction_and_gives_none_decides_nothing(
    simulations: Simulations,
) -> None:
    said = {"index": 0, "is_included": True, "should_update": True, "updated_claim": ""}
    answer, _ = await answered(
        simulations,
        audit=audited(MUD),
        second_look=further("there"),
        verify_batch={"claims": [said]},
    )
    assert told(answer.final) == [("bed is mud", "not_run")]


# Failures.


def failing(task: str, **more: Any) -> dict[str, Any]:
    """Replies that lead to every step, of which one task has none."""
    return {
        "plan": sound("here", more=True),
        "more_calls": sound(),
        "audit": audited(DEEP, WIDE, MUD),
        "second_look": further("there"),
        **more,
        task: ModelUnavailable("no reply"),
    }


@pytest.mark.parametrize(
    ("task", "step", "text"),
    [("plan", "retrieve", ""), ("input_rag", "answer", ""), ("audit", "audit", TEXT)],
)
async def test_a_failure_names_its_step_and_what_was_written_is_kept(
    simulations: Simulations, task: str, step: str, text: str
) -> None:
    answer, _ = await answered(simulations, **failing(task))
    assert answer.failure is not None
    assert (answer.failure.step, answer.failure.reason) == (step, "no reply")
    assert (answer.text, answer.final.statements) == (text, ())


@pytest.mark.parametrize(
    ("task", "step", "marks"),
    [
        ("more_calls", "more_calls", ["checked", "wrong", "not_run"]),
        ("second_look", "second_look", ["checked", "wrong", "not_run"]),
        ("verify_batch", "verify", ["checked", "wrong", "not_run"]),
        ("mend", "mend", ["checked", "wrong", "checked"]),
    ],
)
async def test_what_only_adds_fails_alone_and_the_record_names_it(
    simulations: Simulations, task: str, step: str, marks: list[str]
) -> None:
    said = failing(task, mend=ModelUnavailable("no reply"), verify_batch=verdicts(mud=None))
    if task == "more_calls":
        said["second_look"] = further()
    answer, _ = await answered(simulations, **said)
    assert (answer.failure, answer.text, answer.verified) == (None, TEXT, True)
    assert [standing for _, standing in told(answer.final)] == marks
    assert step in [one.step for one in answer.failed_steps]
    assert {one.reason for one in answer.failed_steps} == {"no reply"}
    assert f"{step.replace('_', ' ')} (no reply)" in stands_without(answer)
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


async def test_a_record_of_which_nothing_failed_has_its_old_bytes(simulations: Simulations) -> None:
    answer, _ = await answered(simulations)
    assert (answer.failed_steps, stands_without(answer)) == ((), "")
    assert "failed_steps" not in answer.model_dump_json()


@pytest.mark.parametrize(
    "task", ["closed_book", "decompose", "merge", "entailment", "boundary_batch"]
)
async def test_what_stands_beside_fails_alone(simulations: Simulations, task: str) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("paper", "rag")})
    answer, _ = await answered(simulations, settings, **{task: ModelUnavailable("no reply")})
    assert (answer.failure, answer.text) == (None, TEXT)
    assert [one.step.partition(": ")[0] for one in answer.failed_steps] == ["beside"]
    assert answer.baselines == (), "no comparison with what has no claims"


@pytest.mark.parametrize("verify", ["all", "selected"])
async def test_claims_beside_that_were_not_verified_write_no_answer(
    simulations: Simulations, verify: str
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("paper",), "verify": verify})
    answer, model = await answered(simulations, settings, verify_batch=ModelUnavailable("no"))
    assert [one.step for one in answer.failed_steps] == ["beside: verify"]
    assert (answer.failure, answer.text, answer.baselines) == (None, TEXT, ())
    assert "final" not in asked(model)


REFUSED = [
    {"calls": [{"tool": "fly", "arguments": {}}], "more": False},
    {"calls": [{"tool": "sound", "arguments": {"depth": 1}}], "more": False},
]


@pytest.mark.parametrize("plan", REFUSED, ids=["unknown tool", "impossible arguments"])
@pytest.mark.parametrize("method", ["grounded", "paper"])
async def test_calls_that_are_refused_twice_leave_an_answer_marked_so(
    simulations: Simulations, plan: dict[str, object], method: str
) -> None:
    settings = SETTINGS.model_copy(update={"method": method})
    answer, model = await answered(simulations, settings, plan=plan)
    assert (answer.failure, answer.failed_steps, answer.evidence) == (None, (), ())
    assert asked(model).count("plan") == settings.max_attempts
    assert answer.text
    assert (answer.verified, answer.audit) == (False, None)
    assert answer.retrieval is not None
    assert answer.retrieval.status == "refused"
    (problem,) = answer.retrieval.problems
    assert unverified(answer) == f"Unverified: no call could be run: {problem}."


async def test_evidence_that_decides_nothing_leaves_an_answer_marked_so(
    simulations: Simulations,
) -> None:
    answer, _ = await answered(simulations, audit=audited(found("good", "judgement")))
    assert (answer.failure, answer.verified, places(answer)) == (None, False, ["here"])
    assert unverified(answer) == "Unverified: no claim was verified."


async def test_an_audit_that_cannot_be_fails_the_question_and_its_text_is_kept(
    simulations: Simulations,
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("paper", "rag")})
    answer, model = await answered(simulations, settings, audit=audited(found("12 m", runs=[])))
    assert answer.failure is not None
    assert answer.failure.step == "audit"
    assert "name the runs that decide it" in answer.failure.reason
    assert (answer.text, answer.audit, answer.baselines) == (TEXT, None, ())
    assert "second_look" not in asked(model)


async def test_calls_that_wait_stop_the_question_after_all_that_does_not_hang_on_them(
    simulations: Simulations,
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("paper",)})
    model = scripted(plan=CallsPending("waits"))
    with pytest.raises(CallsPending):
        await draft(QUESTION, Backends(model, simulations), settings)
    assert {"closed_book", "merge", "boundary_batch"} <= set(asked(model))


# Beside it.


def calls(final: FinalText) -> dict[str, int]:
    return {task: usage.calls for task, usage in final.usage.items()}


LOOKS = {"plan": sound("here", more=True), "more_calls": sound("there")}
WHOLE: dict[str, Any] = {
    **LOOKS,
    "audit": audited(DEEP, WIDE, MUD),
    "second_look": further("far"),
    "verify_batch": verdicts(mud=None, deep=None),
    "mend": mending(MENDED, CHANGED[:1]),
    "input_rag": lambda shown: f"By {shown['context'].count('m.')} runs. {TEXT}",
}


@pytest.mark.parametrize("verify", ["all", "selected"])
async def test_the_published_method_and_rag_stand_beside_by_their_own_evidence(
    simulations: Simulations, verify: str
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("paper", "rag"), "verify": verify})
    answer, model = await answered(simulations, settings, **WHOLE)
    assert answer.failure is None
    assert answer.audit is not None
    assert answer.audit.text.startswith("By 2 runs.")
    lines = {(one.line.method, one.line.samples): one for one in answer.baselines}
    assert list(lines) == [
        ("input_rag", 1),
        ("output_rag", 1),
        ("simulrag", 1),
        ("simulrag", 2),
        ("rag_looks", 1),
    ]
    assert {one.failure for one in answer.baselines} == {None}
    assert lines["input_rag", 1].text.startswith("By 1 runs.")
    assert lines["rag_looks", 1].text == answer.audit.text
    assert lines["simulrag", 2].text == "It is 12 m deep. / It is cold."
    assert [one.line.method for one in answer.finals][:2] == ["grounded", "closed_book"]
    seen = [call["context"] for call in model.asked if call["task"] == "verify_batch"]
    assert sorted(str(one).count("12.0 m.") for one in seen) == [1, 3]
    revised = next(call for call in model.asked if call["task"] == "output_rag")
    assert str(revised["context"]) == "It is 12.0 m."


async def test_rag_alone_stands_beside_without_the_published_method(
    simulations: Simulations,
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("rag",)})
    answer, model = await answered(simulations, settings, **WHOLE)
    assert [one.line.method for one in answer.baselines] == ["input_rag", "output_rag", "rag_looks"]
    assert answer.closed_book == ("Answer 0",)
    assert [one.line.method for one in answer.finals][:2] == ["grounded", "closed_book"]
    assert {"merge", "decompose", "final"} & set(asked(model)) == set()
    assert answer.claims == ()


async def test_what_stands_beside_does_not_change_the_answer(simulations: Simulations) -> None:
    alone, _ = await answered(simulations, **WHOLE)
    settings = SETTINGS.model_copy(update={"beside": ("paper", "rag")})
    beside, _ = await answered(simulations, settings, **WHOLE)
    assert beside.final == alone.final
    assert (beside.audit, beside.retrieval) == (alone.audit, alone.retrieval)


async def test_each_final_answer_counts_its_own_calls_and_the_question_what_they_share(
    simulations: Simulations,
) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("rag",)})
    answer, model = await answered(simulations, settings, **WHOLE)
    own = dict.fromkeys(("audit", "input_rag", "mend", "second_look", "verify_batch"), 1)
    assert calls(answer.final) == own
    shared = {"closed_book": 1, "plan": 1, "more_calls": 1}
    assert {task: usage.calls for task, usage in answer.usage.items()} == own | shared
    assert [calls(one) for one in answer.baselines] == [
        {"input_rag": 1},
        {"output_rag": 1},
        {"input_rag": 1},
    ]
    # RAG by looks is the text that was audited: asked once, counted in both.
    assert len(model.asked) == sum(one.calls for one in answer.usage.values()) + 2


async def test_a_text_that_is_not_mended_needs_two_calls_of_its_own(
    simulations: Simulations,
) -> None:
    answer, _ = await answered(simulations)
    assert calls(answer.final) == {"audit": 1, "input_rag": 1}


async def test_several_questions_are_chosen_for_one_by_one(simulations: Simulations) -> None:
    use = Backends(scripted(), simulations)
    drafted = await draft(QUESTION, use, SETTINGS)
    bad = Backends(scripted(plan=ModelUnavailable("no reply")), simulations)
    failed = await draft(QUESTION, bad, SETTINGS)
    assert choose([drafted, failed], SETTINGS) == [(), ()]
    assert await conclude(QUESTION, failed, (), use, SETTINGS) == failed
    assert (await conclude(QUESTION, drafted, (), use, SETTINGS)).failure is None


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Simulations]:
    with CallCache(tmp_path / "library", stage="test") as cache:
        yield Simulations(LibrarySimulator(corpus(tmp_path), retrieves_by="question"), cache)


async def test_further_passages_are_no_part_of_the_first_look(library: Simulations) -> None:
    """Nothing is planned where the question's own words find passages."""
    look = {"calls": [{"tool": "query_rag", "arguments": {"query": "carbon", "top_k": 1}}]}
    update = {"beside": ("paper", "rag"), "verify": "selected"}
    settings = SETTINGS.model_copy(update=update)
    answer, model = await answered(library, settings, audit=audited(MUD), second_look=look)
    assert answer.failure is None
    assert len(answer.evidence) == 2
    assert len(answer.first_look.evidence) == 1
    revised = next(call for call in model.asked if call["task"] == "output_rag")
    assert revised["context"] == answer.first_look.context


class Silent(Lake):
    """A lake whose runs say nothing in words."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = {"sound": replace(self.tools["sound"], template="")}


async def test_runs_without_a_word_are_no_evidence(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"beside": ("rag",)})
    with CallCache(tmp_path / "silent", stage="test") as cache:
        answer, _ = await answered(Simulations(Silent(), cache), settings)
    assert (answer.failure, answer.text, answer.audit) == (None, "Answer 0", None)
    texts = {one.line.method: (one.text, one.usage) for one in answer.baselines}
    assert texts == dict.fromkeys(("input_rag", "output_rag", "rag_looks"), ("Answer 0", {}))
