"""``method: reconciled`` from question to answer, worked by hand, and bad input on its way."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.calls import CallCache
from simulrag.errors import ReplyInvalid
from simulrag.method.algorithm import Instruments, answer_question, choose, conclude, draft
from simulrag.method.settings import ClaimsPerCall, MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.statements import statements_of
from simulrag.method.subjects import find_subjects
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings
from simulrag.records import Answer, Selection, Statement, Verdict, claim_hash
from simulrag.testing import ScriptedModel
from tests.making import ALIGNED, SILENT, answer, claim, corrected, facet, line, subject
from tests.unit.method.planned import NO_TOOL, QUESTION, SETTINGS, Plan, answered, plan

LINE = line("reconciled", 3, 100, 0)


@pytest.mark.parametrize("merging", ["joint", "tree"])
@pytest.mark.parametrize("verify", ["all", "selected"])
async def test_from_question_to_an_answer_of_one_voice(
    simulations: Simulations, verify: str, merging: str
) -> None:
    changes = {"verify": verify, "merging": merging, "beside": ("paper", "rag")}
    found, model = await answered(plan(), simulations, **changes)
    assert found.failure is None
    # Of the depth there are three numbers, log 3; of the others two to one, or one silent.
    votes = [claim.confidence["votes"] for claim in found.claims]
    assert [claim.text for claim in found.claims[:5]] == plan().answers[0]
    assert votes[:5] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3])
    lines = {
        (text.line.method, text.line.budget_percent): text
        for text in found.baselines
        if text.line.method in ("reconciled", "simulrag") and text.line.samples == 3
    }
    assert list(lines) == [(method, p) for method in ("reconciled", "simulrag") for p in (100, 20)]
    # A fifth of ten claims is two: those that speak for the depth. Its number is corrected, its
    # class agrees; the judgement that rests on it falls, since nothing decides it.
    assert lines["reconciled", 20].text == (
        "corrected: 12 m deep. / checked: It is deep. / "
        "unchecked: 2 ha wide. [3 ha wide.] / outside: 8 degrees. [9 degrees.]"
    )
    # Everything in reach: the area too, where the fewer answers were right.
    assert lines["reconciled", 100].text == (
        "corrected: 12 m deep. / checked: It is deep. / corrected: 3 ha wide. / "
        "outside: 8 degrees. [9 degrees.]"
    )
    assert found.final.line.method == "reconciled_complete"
    assert found.text == lines["reconciled", 100].text + " / simulated: Its bed is mud."
    assert found.final.statements[-1] == Statement(text="Its bed is mud.", standing="simulated")
    kept = ["10 m deep.", "It is deep.", "2 ha wide.", "8 degrees."]
    assert [found.claims[i].text for i in found.final.kept] == kept
    assert found.verified
    # The paper's answer stays beside it as it was: what nobody checked stands side by side.
    assert "8 degrees. / " in lines["simulrag", 100].text
    assert "9 degrees." in lines["simulrag", 100].text
    unasked = [claim.text for claim in found.claims if claim.verdict is None]
    assert unasked == ([] if verify == "all" else plan().outside)
    grouping = {"joint": {"joint": 1}, "tree": {"merge": 2, "entailment": 3, "subjects": 1}}
    asked = Counter(str(call["task"]) for call in model.asked)
    assert {task: asked[task] for task in grouping[merging]} == grouping[merging]


async def test_only_what_would_speak_is_sent(simulations: Simulations) -> None:
    """A claim a facet, all of one answer, settles a subject that the evidence decides."""
    found, model = await answered(plan(), simulations, verify="selected")
    (smaller,) = found.baselines
    assert [found.claims[i].text for i in smaller.selected] == ["10 m deep.", "It is deep."]
    sent = ["10 m deep.", "It is deep.", "2 ha wide.", "Worth a swim."]
    assert [found.claims[i].text for i in found.final.selected] == sent
    (verified,) = [call["claims"] for call in model.asked if call["task"] == "verify_batch"]
    assert list(verified) == sent  # type: ignore[call-overload]


async def test_a_question_by_itself_takes_thirteen_calls_and_writes_one_answer(
    simulations: Simulations,
) -> None:
    answers = plan().answers
    made = plan(answers=[*answers, answers[0], answers[2]])
    model = made.model()
    settings = MethodSettings(
        method="reconciled", merging="joint", claims_per_call=ClaimsPerCall(decompose=5)
    ).for_one_question()
    found = await answer_question(QUESTION, Instruments(model, simulations), settings)
    assert found.failure is None
    assert (found.final.line.method, found.baselines) == ("reconciled_complete", ())
    asked = Counter(str(call["task"]) for call in model.asked)
    about_claims = ("joint", "boundary_batch", "verify_batch", "read_claims")
    once = dict.fromkeys(("plan", *about_claims, "uncovered", "final_reconciled"), 1)
    assert asked == {"closed_book": 5, "decompose_batch": 1, **once}
    assert asked.total() == 13


async def test_without_evidence_every_subject_still_has_one_voice(
    simulations: Simulations,
) -> None:
    found, _ = await answered(plan(replies={"plan": NO_TOOL}), simulations)
    assert not found.verified
    # All numbers of the depth have one vote each; with the class, the first and the third answer
    # are level, and the claim that comes first decides.
    assert found.text == (
        "unchecked: 10 m deep. [11 m deep. | 13 m deep.] / unchecked: It is deep. / "
        "unchecked: 2 ha wide. [3 ha wide.] / outside: 8 degrees. [9 degrees.] / "
        "unchecked: Worth a swim."
    )


def grouped(*facets: list[int]) -> dict[str, object]:
    named = [{"kind": "number", "exclusive": True, "claims": own} for own in facets]
    return {"subjects": [{"about": "depth", "facets": named, "rests_on": []}]}


async def test_a_grouping_that_is_no_partition_fails_the_question(simulations: Simulations) -> None:
    made = plan(answers=[["10 m deep.", "It is deep."]] * 3, replies={"subjects": grouped([0])})
    found, _ = await answered(made, simulations, merging="tree")
    assert found.failure is not None
    assert found.failure.step == "group"
    assert "missing: 1" in found.failure.reason
    assert found.text == ""


async def test_such_a_grouping_is_repaired_once(tmp_path: Path) -> None:
    bad, good = json.dumps(grouped([0, 1], [1])), json.dumps(grouped([0], [1]))
    settings = ModelSettings(provider="scripted", model="scripted")
    texts = ["10 m deep.", "It is deep."]
    with CallCache(tmp_path, stage="test") as cache:
        stubborn, docile = ScriptedModel(bad, bad), ScriptedModel(bad, good)
        gateways = [Gateway(one, settings, cache, packaged_prompts()) for one in (stubborn, docile)]
        with pytest.raises(ReplyInvalid, match="repeated: 1"):
            await find_subjects("How deep?", texts, gateways[0])
        assert len(stubborn.sent) == 2
        assert "repeated: 1" in stubborn.sent[1][-1].content
        (depth,) = await find_subjects("How deep?", texts, gateways[1])
    assert [side.claims for side in depth.facets] == [(0,), (1,)]


async def test_a_subject_of_forty_claims_is_settled_by_one_verdict(
    simulations: Simulations,
) -> None:
    answers = [[f"{10 * s + i + 1} m deep." for i in range(8)] for s in range(5)]
    texts = [text for own in answers for text in own]
    made = Plan(
        answers=answers,
        subjects=[("its depth", [("number", True, texts)], [])],
        corrected=dict.fromkeys(texts, "99 m deep."),
    )
    found, model = await answered(made, simulations, samples=5)
    assert len(found.claims) == 40
    assert found.text == "corrected: 99 m deep."
    assert sum(call["task"] == "verify_batch" for call in model.asked) == 2  # 20 claims a call
    ((choice,),) = choose([found], SETTINGS.model_copy(update={"tau": 3.68}))
    assert choice.subjects == (0,)  # log 40 is 3.69: each answer spreads its vote over eight


async def test_identical_answers_are_certain_and_said_once(simulations: Simulations) -> None:
    made = plan(
        answers=[["10 m deep.", "It is deep."]] * 3,
        subjects=[
            ("depth", [("number", True, ["10 m deep."]), ("class", True, ["It is deep."])], [])
        ],
        uncovered=[],
    )
    found, _ = await answered(made, simulations)
    assert [claim.confidence["votes"] for claim in found.claims] == [1, 1]
    assert found.text == "corrected: 12 m deep. / checked: It is deep."
    sure, _ = await answered(made, simulations, tau=0.0)
    assert (sure.final.selected, sure.text) == (
        (),
        "unchecked: 10 m deep. / unchecked: It is deep.",
    )


async def test_one_sample_has_one_voice(simulations: Simulations) -> None:
    first = plan().answers[0]
    subjects = [
        (about, [(kind, only, [t for t in own if t in first]) for kind, only, own in facets], rests)
        for about, facets, rests in plan().subjects
    ]
    found, _ = await answered(plan(answers=[first], subjects=subjects), simulations, samples=1)
    assert found.text == (
        "corrected: 12 m deep. / checked: It is deep. / corrected: 3 ha wide. / "
        "outside: 8 degrees. / simulated: Its bed is mud."
    )


async def test_subjects_that_name_no_quantity(simulations: Simulations) -> None:
    answers = [["Rain fills it.", "Springs feed it."], ["Rain fills it."], ["It is old."]]
    made = Plan(
        answers=answers,
        subjects=[
            ("why it is full", [("reason", False, ["Rain fills it.", "Springs feed it."])], []),
            ("its age", [("other", False, ["It is old."])], []),
        ],
        corrected={"Rain fills it.": "Rivers fill it.", "Springs feed it.": "Rivers fill it."},
    )
    found, _ = await answered(made, simulations)
    # Two reasons corrected to one text are one statement.
    assert found.text == "corrected: Rivers fill it. / unchecked: It is old."


def whole(answer: Answer) -> Selection:
    """All claims of the first subject, as no budget would send them."""
    return Selection(line=LINE, selected=answer.subjects[0].claims, subjects=(0,))


async def test_two_classes_that_are_both_true_are_told(simulations: Simulations) -> None:
    made = Plan(
        answers=[["It is deep."], ["It is shallow."], ["It is deep."]],
        subjects=[("its depth", [("class", True, ["It is deep.", "It is shallow."])], [])],
        aligned=["It is deep.", "It is shallow."],
    )
    found, _ = await answered(made, simulations)
    assert found.text == "checked: It is deep."  # the other was not sent
    (told,) = statements_of(found, whole(found))
    assert (told.text, told.others) == ("It is deep.", ("It is shallow.",))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("other", "corrected: 12 m deep. / unchecked: Good."),
        ("judgement", "corrected: 12 m deep."),  # its grounds are gone
    ],
)
async def test_an_undecided_facet_beside_a_decided_one_has_one_voice_at_most(
    simulations: Simulations, kind: str, said: str
) -> None:
    sides = [("number", True, ["10 m deep.", "11 m deep."]), (kind, True, ["Good.", "Bad."])]
    made = Plan(
        answers=[["10 m deep.", "Good."], ["11 m deep.", "Bad."], ["10 m deep.", "Good."]],
        subjects=[("its depth", sides, [])],
        corrected={"10 m deep.": "12 m deep."},
    )
    found, _ = await answered(made, simulations)
    assert found.text == said


async def test_where_nothing_is_kept_the_question_fails_and_says_what_to_do(
    simulations: Simulations,
) -> None:
    made = plan(replies={"plan": NO_TOOL})
    found, model = await answered(made, simulations, kappa=1.1)
    assert found.failure is not None
    assert found.failure.step == "synthesise"
    assert "lower answer.kappa" in found.failure.reason
    assert "final_reconciled" not in {call["task"] for call in model.asked}


async def test_a_claim_that_was_not_sent_counts_as_unchecked(simulations: Simulations) -> None:
    """Verdicts are stored for all claims; a choice may use those that it selected only."""
    found, _ = await answered(plan(), simulations)
    number = found.subjects[0].facets[0].claims[0]
    choice = Selection(line=LINE, selected=(number,), subjects=(0,))
    said = [item for item in statements_of(found, choice) if item.subject == 0]
    # The class is dropped: nothing unchecked stands beside the corrected number.
    assert [(item.text, item.standing) for item in said] == [("12 m deep.", "corrected")]


KINDS = st.sampled_from(["number", "direction", "class", "judgement", "reason", "other"])
VERDICTS = st.sampled_from(
    [
        None,
        ALIGNED,
        SILENT,
        Verdict(status="error", reason="no reply"),
        corrected("It is 1."),
        corrected("It is 2."),
    ]
)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Answer, Selection]:
    """Any verified draft and any choice of whole subjects."""
    start, subjects = 0, []
    samples = draw(st.integers(1, 4))
    for _ in range(draw(st.integers(1, 4))):
        facets = []
        for _ in range(draw(st.integers(1, 3))):
            size = draw(st.integers(1, 3))
            claims = tuple(range(start, start + size))
            facets.append(facet(*claims, kind=draw(KINDS), exclusive=draw(st.booleans())))
            start += size
        subjects.append(subject(*facets))
    rests = draw(st.lists(st.integers(0, len(subjects) - 1), unique=True, max_size=2))
    last = subjects[-1].model_copy(update={"rests_on": tuple(rests)})
    supports = st.lists(st.booleans(), min_size=samples, max_size=samples)
    made = [
        claim(
            f"Claim {at} is {draw(st.sampled_from(['1', '1.2', 'big']))}.",
            support=tuple(draw(supports)),
            confidence={"closeness": 0.5, "votes": draw(st.sampled_from([0.2, 0.8]))},
            boundary=draw(st.booleans()),
            verdict=draw(VERDICTS),
        )
        for at in range(start)
    ]
    verified = answer("q", made, closed_book=("x",) * samples, subjects=(*subjects[:-1], last))
    chosen = draw(st.lists(st.integers(0, len(subjects) - 1), unique=True))
    selected = sorted(claim for at in chosen for claim in verified.subjects[at].claims)
    return verified, Selection(
        line=LINE.model_copy(update={"kappa": draw(st.sampled_from([0.0, 0.5]))}),
        selected=tuple(selected),
        subjects=tuple(sorted(chosen)),
    )


@hypothesis.settings(deadline=None)  # a slow machine may be slow
@given(drafts())
def test_no_exclusive_facet_has_two_voices(case: tuple[Answer, Selection]) -> None:
    verified, choice = case
    said = statements_of(verified, choice)
    spoken = [item.claim for item in said]
    assert len(set(spoken)) == len(spoken)
    assert len({claim_hash(item.text) for item in said}) == len(said)
    for side in itertools.chain.from_iterable(one.facets for one in verified.subjects):
        if side.exclusive:
            assert len(set(side.claims) & set(spoken)) <= 1
    for item in said:
        assert item.claim is not None
        if item.standing in ("checked", "corrected"):
            assert item.claim in choice.selected


async def test_a_draft_that_failed_stays_as_it_is(simulations: Simulations) -> None:
    use = Instruments(plan(replies={"joint": {"subjects": []}}).model(), simulations)
    failed = await draft(QUESTION, use, SETTINGS)
    assert failed.failure is not None
    (choices,) = choose([failed], SETTINGS)
    assert all(choice.selected == () for choice in choices)
    assert await conclude(QUESTION, failed, choices, use, SETTINGS) == failed
