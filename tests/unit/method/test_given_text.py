"""A given text, checked by runs that are made for its claims."""

from __future__ import annotations

from typing import Any

import pytest

from simulators.base import Simulator
from simulrag.calls import CallCache
from simulrag.errors import InputError
from simulrag.method.grounded import check_given
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import NoSource, Simulations
from simulrag.method.steps import Backends
from simulrag.records import Answer
from simulrag.shown import unverified
from simulrag.testing import ScriptedModel
from tests.unit.method.planned import QUESTION
from tests.unit.method.test_grounded import (
    COLD,
    DEEP,
    GOOD,
    MENDED,
    TEXT,
    WIDE,
    audited,
    mending,
    places,
    told,
)

VAIN: dict[str, Any] = {"mend": mending(TEXT, [])}
CLAIMS = {"claims": [{"claim": "It is 12 m deep."}, {"claim": "It is 9 m wide."}]}


def calls(*places: str) -> dict[str, object]:
    return {"calls": [{"tool": "sound", "arguments": {"place": place}} for place in places]}


async def checked(
    simulations: Simulations, /, *, mends: bool = False, runs: int = 6, **replies: Any
) -> tuple[Answer, list[str]]:
    """The text as it was checked, and the tasks that were asked."""
    said = {
        "evaluation_decompose": CLAIMS,
        "second_look": calls("here"),
        "mend": mending(),
        **replies,
    }
    model = ScriptedModel(by_task=lambda task, values: said[task])
    use, settings = Backends(model, simulations), MethodSettings(runs=runs)
    answer = await check_given(TEXT, QUESTION, use, settings, mend=mends)
    return answer, [str(call["task"]) for call in model.asked]


async def test_its_claims_send_for_the_runs_that_it_is_held_against(
    simulations: Simulations,
) -> None:
    answer, asked = await checked(
        simulations, second_look=calls("here", "there"), audit=audited(DEEP, WIDE, GOOD)
    )
    assert asked == ["evaluation_decompose", "second_look", "audit"]
    assert places(answer) == ["here", "there"]
    assert (answer.simulator_runs, answer.failure, answer.verified) == (2, None, True)
    assert answer.text == TEXT
    assert told(answer.final) == [
        ("12 m deep", "checked"),
        ("9 m wide", "wrong"),
        ("good", "judgement"),
    ]
    assert {task: one.calls for task, one in answer.usage.items()} == dict.fromkeys(asked, 1)


async def test_it_is_mended_where_that_is_asked_for(simulations: Simulations) -> None:
    found = audited(DEEP, WIDE, GOOD, missing=[COLD])
    left, _ = await checked(simulations, audit=found)
    assert (left.text, left.audit is not None and len(left.audit.missing)) == (TEXT, 1)
    answer, asked = await checked(simulations, mends=True, audit=found)
    assert asked[-1] == "mend"
    assert answer.text == MENDED
    assert ("4 m wide", "corrected") in told(answer.final)
    assert ("It is cold", "added") in told(answer.final)
    _, asked = await checked(simulations, mends=True, audit=audited(DEEP))
    assert "mend" not in asked, "nothing is wrong or missing"


async def test_a_mending_in_vain_leaves_the_text_and_says_so(simulations: Simulations) -> None:
    answer, _ = await checked(simulations, mends=True, audit=audited(WIDE), **VAIN)
    assert answer.failure is None
    assert answer.text == TEXT
    assert [one.step for one in answer.failed_steps] == ["mend"]


async def test_a_text_without_a_claim_is_neither_run_for_nor_audited(
    simulations: Simulations,
) -> None:
    answer, asked = await checked(simulations, evaluation_decompose={"claims": []})
    assert asked == ["evaluation_decompose"]
    assert (answer.evidence, answer.audit, answer.verified, answer.failure) == (
        (),
        None,
        False,
        None,
    )
    assert (answer.text, answer.final.statements) == (TEXT, ())


async def test_where_no_run_decides_a_claim_nothing_is_audited(simulations: Simulations) -> None:
    answer, asked = await checked(simulations, second_look=calls())
    assert asked == ["evaluation_decompose", "second_look"]
    assert (answer.evidence, answer.audit, answer.failure) == ((), None, None)
    assert answer.retrieval is not None
    assert answer.retrieval.status == "not_applicable"


async def test_a_text_for_which_no_call_can_be_made_is_marked_so(simulations: Simulations) -> None:
    fly = {"calls": [{"tool": "fly", "arguments": {}}]}
    answer, asked = await checked(simulations, second_look=fly)
    assert asked == ["evaluation_decompose", "second_look"]
    assert (answer.failure, answer.evidence, answer.audit) == (None, (), None)
    assert answer.retrieval is not None
    assert answer.retrieval.status == "refused"
    assert "Nothing was run: lake has no tool 'fly'" in unverified(answer, given=True)


async def test_runs_that_all_fail_are_a_failure_and_some_a_problem(
    simulations: Simulations,
) -> None:
    answer, _ = await checked(simulations, second_look=calls("dry"))
    assert answer.failure is not None
    assert (answer.failure.step, answer.failure.reason) == ("retrieve", "no water there")
    answer, _ = await checked(simulations, second_look=calls("dry", "here"), audit=audited(DEEP))
    assert answer.failure is None
    assert answer.retrieval is not None
    assert answer.retrieval.problems == ("no water there",)


async def test_no_more_runs_are_made_than_the_settings_say(simulations: Simulations) -> None:
    answer, _ = await checked(simulations, runs=1, second_look=calls("here", "there"))
    assert answer.failure is not None
    assert "2 calls where at most 1 are allowed" in answer.failure.reason


@pytest.fixture
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Simulations:
    """A simulator without tools."""
    source: Simulator = NoSource()
    return Simulations(source, CallCache(tmp_path_factory.mktemp("calls"), stage="test"))


async def test_a_simulator_without_tools_checks_nothing(nothing: Simulations) -> None:
    with pytest.raises(InputError, match="has no tool, so nothing can be run"):
        await checked(nothing)
