"""The check compares numbers and reads no English: each rule, broken and kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simulrag.questions.check import check_reference, numbers
from simulrag.questions.records import Ask, MagnitudeClass, Run, Template, asked_value
from simulrag.questions.scenarios import SampledScenario
from simulrag.records import Evidence, ReferenceClaim, ToolCall

QUESTION = "The limit falls by 23 percent. How does the travel time change: minor or large (10 %)?"


def ask(**changes: object) -> Ask:
    classes = [
        MagnitudeClass(name="minor", from_magnitude=0),
        MagnitudeClass(name="large", from_magnitude=10),
    ]
    fields: dict[str, object] = {
        "run": 1,
        "against": 0,
        "scale": "value",
        "output": "change_percent",
        "words": "the change in travel time",
        "classes": classes,
        "answers": [],
        "better": "lower",
    }
    return Ask.model_validate({**fields, **changes})


def run(**outputs: object) -> Evidence:
    call = ToolCall(tool="compare", arguments={"speed_factor": 0.77, "lanes": 2})
    given = {"change_percent": 12.44, "runs": {"last": [71.5, 68.0]}, **outputs}
    text = "Travel time: 71.5 s, a change of 12.44 %."
    return Evidence.model_validate(
        {"simulator": "s", "call": call, "seed": 0, "outputs": given, "text": text}
    )


def problems(
    reference: str,
    *claims: str,
    question: str = QUESTION,
    asks: Sequence[Ask] | None = None,
    evidence: Sequence[Evidence] | None = None,
) -> list[tuple[str, str]]:
    """Kind and place of every problem."""
    runs = list(evidence or [run()])
    template = Template(
        template_id="t",
        situation="The limit falls by {speed_factor} percent, as in 2019.",
        placeholders=[],
        choices=[],
        runs=[
            Run(tool="compare", words=f"plan {i}", uses=[], fixed=[]) for i, _ in enumerate(runs)
        ],
        asks=list(asks or [ask()]),
    )
    scenario = SampledScenario(
        scenario_id="s",
        template_id="t",
        calls=tuple(item.call for item in runs),
        words=tuple("plan" for _ in runs),
        situation="The limit falls by 23 percent, as in 2019.",
        shown={"speed_factor": 23.0},
    )
    found = check_reference(
        question,
        reference,
        [ReferenceClaim(text=text, kind="quantitative") for text in claims],
        template=template,
        scenario=scenario,
        evidence=runs,
    )
    return [(problem.kind, problem.detail.partition(":")[0]) for problem in found]


@pytest.mark.parametrize(
    "reference",
    [
        "A large change: the travel time grows by 12.44 %.",
        "A large change of 12.4 %, or 12 percent, rounded.",
        "Large, to 71.5 s (68 s in the other run), with the limit 23 percent lower, as in 2019.",
        "Large; the factor is 0.77 on 2 lanes. (1) It is above 10 %.",
        "A large DECREASE of -12.44 %: signs are for the verification.",
    ],
)
def test_numbers_that_were_shown_or_asked_pass_at_their_own_rounding(reference: str) -> None:
    assert problems(reference, "The travel time grows by 12.4 %.") == []


@pytest.mark.parametrize(
    "reference", ["A large change of 12.5 %.", "A large change of 13 %.", "Large, to 71.52 s."]
)
def test_a_number_that_stands_nowhere_is_named(reference: str) -> None:
    assert problems(reference) == [("number", "reference")]


def test_claims_are_checked_like_the_reference() -> None:
    assert problems("A large change.", "It is 12.4 %.", "It is 99 %.") == [("number", "claim 1")]


def test_the_asked_result_must_not_stand_in_the_question() -> None:
    leaking = QUESTION + " It is about 12.4 %."
    assert problems("A large change of 12.44 %.", question=leaking) == [("leak", "question")]


def test_the_asked_class_has_to_be_named() -> None:
    assert problems("It grows by 12.44 %.") == [("missing", "reference")]


def test_a_result_on_a_limit_of_its_classes_is_ambiguous() -> None:
    found = problems("A large change of 10 %.", evidence=[run(change_percent=-10.0)])
    assert found == [("ambiguous", "evidence")]


def test_an_output_in_words_has_to_be_named() -> None:
    asked = [ask(output="level", classes=[], answers=["rising", "falling"])]
    runs = [run(level="rising")]
    assert problems("It is Rising.", asks=asked, evidence=runs) == []
    assert problems("It falls.", asks=asked, evidence=runs) == [("missing", "reference")]


def test_an_ask_without_a_number_is_missing() -> None:
    found = problems("A large change.", evidence=[run(change_percent=None)])
    assert ("missing", "evidence") in found


def test_differences_and_percents_of_two_runs_are_asked_values() -> None:
    two = [run(change_percent=12.0), run(change_percent=9.0)]
    difference = asked_value(ask(run=1, against=2), two)
    percent = asked_value(ask(run=1, against=2, scale="percent"), two)
    assert difference is not None
    assert (difference.value, difference.class_name) == (3.0, "minor")
    assert percent is not None
    assert percent.value == pytest.approx(100 / 3)
    assert percent.class_name == "large"
    assert (
        asked_value(ask(run=1, against=2, scale="percent"), [two[0], run(change_percent=0)]) is None
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234 cars and 12,5", [1234, 12, 5]),
        ("2.5 million, 3 thousand", [2.5e6, 3e3]),
        ("SO2, x1.5 and v2.0.1", []),
        ("90 % of 0.05", [90, 0.05]),
    ],
)
def test_numbers_of_a_text(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers(text)] == values
