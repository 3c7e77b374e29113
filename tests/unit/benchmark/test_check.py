"""A right reference passes; each kind of wrong one is rejected with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.benchmark.check import check_reference
from simulrag.benchmark.facts import gather_facts
from simulrag.benchmark.reading import pieces
from simulrag.benchmark.scenarios import SampledScenario
from simulrag.models.replies import Template
from simulrag.records import Evidence, ReferenceClaim, ToolCall

# Speed limit -23 %, demand -12 %: travel time +23.9 %, CO2 -38.4 %.
OUTPUTS = {
    "travel_time_s": 86.73,
    "travel_time_change_percent": 23.9,
    "idling_change_percent": -93.1,
    "co2_change_percent": -38.4,
    "note": "fine",
}
QUESTION = (
    "The city cuts the speed limit by 23 percent, expects 12 percent less traffic and gives the "
    "junction priority signs. What is the percentage change in average travel time, and is it "
    "minor (under 10%), moderate (10-30%) or significant (over 30%)? What is the percentage "
    "change in CO2 emissions, and is it small (under 40%), medium (40-50%) or large (over 50%)? "
    "Is the outcome an improvement overall?"
)
REFERENCE = (
    "The average travel time increases by 23.9%, which is a moderate change. CO2 emissions fall "
    "by 38.4%, a small reduction. The outcome is mixed: travel takes longer while emissions drop."
)
CLAIMS = (
    ("The average travel time increases by 23.9%.", "quantitative"),
    ("The change in travel time is moderate.", "qualitative"),
    ("CO2 emissions fall by 38.4%.", "quantitative"),
    ("The reduction in CO2 emissions is small.", "qualitative"),
    ("The outcome is mixed.", "qualitative"),
)


@pytest.fixture
def scenario() -> SampledScenario:
    return SampledScenario(
        scenario_id="urban-1",
        template_id="slow-priority",
        calls=(ToolCall(tool="compare", arguments={"speed_factor": 0.77, "demand_factor": 0.88}),),
        words=("the plan",),
        situation=(
            "The city cuts the speed limit by 23 percent, expects 12 percent less traffic and "
            "gives the junction priority signs."
        ),
        shown={"speed_factor": 23.0, "demand_factor": 12.0},
    )


def evidence(**outputs: Any) -> Evidence:
    return Evidence(
        simulator="corridor",
        call=ToolCall(tool="compare", arguments={}),
        seed=0,
        outputs={**OUTPUTS, **outputs},
        text="The text is never read by the check: travel time falls by 99%.",
    )


class Checking:
    """The check with everything right but what a test changes."""

    def __init__(self, template: Template, scenario: SampledScenario) -> None:
        self.template = template
        self.scenario = scenario

    def __call__(
        self,
        question: str = QUESTION,
        reference: str = REFERENCE,
        claims: tuple[tuple[str, str], ...] = CLAIMS,
        **outputs: Any,
    ) -> dict[str, list[str]]:
        records = [ReferenceClaim.model_validate({"text": t, "kind": k}) for t, k in claims]
        found: dict[str, list[str]] = {}
        for problem in check_reference(
            question,
            reference,
            records,
            template=self.template,
            scenario=self.scenario,
            evidence=(evidence(**outputs),),
        ):
            found.setdefault(problem.kind, []).append(problem.detail)
        return found


@pytest.fixture
def check(template: Template, scenario: SampledScenario) -> Checking:
    return Checking(template, scenario)


def reference(old: str, new: str) -> str:
    assert old in REFERENCE
    return REFERENCE.replace(old, new)


def claims(index: int, text: str, kind: str | None = None) -> tuple[tuple[str, str], ...]:
    changed = list(CLAIMS)
    changed[index] = (text, kind or CLAIMS[index][1])
    return tuple(changed)


def test_a_right_reference_has_no_problem(check: Checking) -> None:
    assert check() == {}


@pytest.mark.parametrize(
    "text",
    [
        # Rounded to fewer decimals, another order, the set-up and thresholds repeated.
        "CO2 emissions are down 38%, a small cut. Travel time rises by 24%, which is moderate.",
        "With the 23% lower speed limit, travel time grows by 23.9% (moderate, between 10% and "
        "30%). As traffic falls by 12%, CO2 emissions fall by 38.4%, which is small.",
        "Travel time increases by a moderate 23.9%, and CO2 emissions decrease by a small 38.4%.",
        "There is a moderate 23.9% increase in travel time and a small 38.4% drop in CO2.",
        "Average travel time goes up by 23.9% to 86.73 s. This increase is moderate. CO2 emissions "
        "change by -38.4%. They stay below the 40% threshold, so the reduction is small.",
        "Travel time and CO2 emissions change by 23.9% and -38.4%, moderate and small changes.",
        "Travel time increases by a moderate 23.9%, mainly due to the 23% speed limit reduction. "
        "CO2 emissions decrease by a small 38.4%.",
        "Idling drops by 93.1%. Travel time increases by 23.9%, which counts as moderate, while "
        "CO2 emissions are reduced by 38.4%, which counts as small.",
    ],
)
def test_right_references_in_other_words(check: Checking, text: str) -> None:
    assert check(reference=text) == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (reference("23.9%", "25.9%"), "number"),
        (reference("23.9%", "23.87%"), "number"),
        (reference("by 38.4%", "by 38.4% or 9.1 tonnes"), "number"),
        # A number of the set-up, or a threshold, given as a result.
        (reference("23.9%", "23%"), "number"),
        (reference("38.4%", "40%"), "number"),
        (
            "Travel time rises by 23.9%, a moderate rise, not a 12% drop in travel time. CO2 "
            "emissions fall by 38.4%, which is small.",
            "number",
        ),
        # Results that changed places.
        (
            "Average travel time increases by 38.4%, and CO2 emissions fall by 23.9%. The first is "
            "moderate and the second small.",
            "number",
        ),
        (REFERENCE + " Idling changes by 23.9%.", "number"),
        (REFERENCE + " Idling rises by 93.1%.", "direction"),
        (reference("increases by 23.9%", "falls by 23.9%"), "direction"),
        (reference("increases by 23.9%", "changes by -23.9%"), "direction"),
        (reference("fall by 38.4%", "rise by 38.4%"), "direction"),
        ("It falls by 23.9%, a moderate travel time. CO2 falls by 38.4%, small.", "direction"),
        (reference("a moderate change", "a significant change"), "class"),
        (reference("small reduction", "large reduction"), "class"),
        (REFERENCE + " This CO2 reduction counts as medium.", "class"),
        (reference("CO2 emissions fall by 38.4%, a small reduction. ", ""), "missing"),
        (reference("increases by 23.9%, which is a moderate change", "increases"), "missing"),
        (reference(", a small reduction", ""), "missing"),
    ],
)
def test_a_wrong_reference_is_rejected_with_its_reason(
    check: Checking, text: str, kind: str
) -> None:
    problems = check(reference=text)
    assert kind in problems, problems
    assert all(detail.startswith("reference: ") for detail in problems[kind])


@pytest.mark.parametrize(
    ("index", "text", "tag", "kind"),
    [
        (0, "The average travel time increases by 29.3%.", None, "number"),
        (0, "The average travel time decreases by 23.9%.", None, "direction"),
        (0, "The average travel time increases by 38.4%.", None, "number"),
        (0, "The average travel time increases by 23.9%.", "qualitative", "tag"),
        (0, "The average travel time increases.", "quantitative", "tag"),
        (2, "CO2 emissions stay below 40%.", "quantitative", "tag"),
        (1, "The change in travel time is minor.", None, "class"),
        (3, "CO2 emissions rise.", None, "direction"),
        (3, "The reduction in CO2 emissions is moderate.", None, "class"),
        (2, "CO2 emissions fall.", "qualitative", "missing"),
    ],
)
def test_a_wrong_claim_is_rejected_with_its_reason(
    check: Checking, index: int, text: str, tag: str | None, kind: str
) -> None:
    problems = check(claims=claims(index, text, tag))
    assert kind in problems, problems
    place = "claims" if kind == "missing" else f"claim {index}"
    assert any(detail.startswith(f"{place}: ") for detail in problems[kind])
    assert not any(
        detail.startswith("reference") for found in problems.values() for detail in found
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (QUESTION + " Travel time rises by 23.9%; why?", "leak"),
        (QUESTION + " Is a 38% cut in CO2 enough?", "leak"),
        (QUESTION.replace("(40-50%) or large (over 50%)", "or large"), "threshold"),
        (QUESTION.replace("10%", "25%").replace("10-30%", "25-30%"), "threshold"),
    ],
)
def test_a_wrong_question_is_rejected_with_its_reason(
    check: Checking, text: str, kind: str
) -> None:
    problems = check(question=text)
    assert kind in problems, problems


def test_a_result_that_equals_a_number_of_the_set_up_is_no_leak(check: Checking) -> None:
    right = {
        "reference": REFERENCE.replace("23.9%", "23%"),
        "claims": claims(0, "The average travel time increases by 23%."),
    }
    assert check(**right, travel_time_change_percent=23.0) == {}


def test_a_result_on_a_limit_is_ambiguous(check: Checking) -> None:
    problems = check(
        reference=REFERENCE.replace("23.9%", "30%").replace("moderate", "significant"),
        claims=(
            ("The average travel time increases by 30%.", "quantitative"),
            ("The change in travel time is significant.", "qualitative"),
            *CLAIMS[2:],
        ),
        travel_time_change_percent=30.0,
    )
    assert problems == {
        "ambiguous": ["question: travel_time_change_percent lies on a limit of its classes"]
    }


@pytest.mark.parametrize(("value", "accepted"), [(0.4, True), (-0.4, True), (6.0, False)])
def test_unchanged_may_be_said_of_a_change_far_below_the_first_class(
    check: Checking, value: float, accepted: bool
) -> None:
    text = REFERENCE.replace(
        "increases by 23.9%, which is a moderate change",
        f"stays about stable with {value}%, a minor change",
    )
    problems = check(reference=text, travel_time_change_percent=value)
    about = [d for found in problems.values() for d in found if d.startswith("reference")]
    assert (about == []) is accepted, problems


def test_an_asked_output_that_the_run_left_open_is_missing(check: Checking) -> None:
    problems = check(co2_change_percent=None)
    assert "evidence: a number for co2_change_percent" in problems["missing"]


def test_classes_go_by_magnitude(check: Checking) -> None:
    problems = check(
        reference=REFERENCE.replace("increases by 23.9%", "falls by 23.9%"),
        claims=claims(0, "The average travel time falls by 23.9%."),
        travel_time_change_percent=-23.9,
    )
    assert problems == {}


def test_a_quantity_that_no_table_knows_is_found_by_its_words(
    template: Template, scenario: SampledScenario
) -> None:
    values = template.model_dump()
    values["asks"][1].update(output="noise_change_percent", words="the change in street noise")
    check = Checking(Template.model_validate(values), scenario)
    right = {
        "question": QUESTION.replace("CO2 emissions", "street noise"),
        "reference": REFERENCE.replace("CO2 emissions fall", "The street noise falls"),
        "claims": (
            *CLAIMS[:2],
            ("The street noise falls by 38.4%.", "quantitative"),
            ("The reduction in street noise is small.", "qualitative"),
        ),
        "noise_change_percent": -38.4,
        "co2_change_percent": 7.0,
    }
    assert check(**right) == {}
    wrong = {**right, "claims": (*right["claims"], ("The street noise rises.", "qualitative"))}
    assert list(check(**wrong)) == ["direction"]


def test_numbers_with_units_of_another_kind_do_not_match(check: Checking) -> None:
    problems = check(reference=REFERENCE + " A trip takes 86.7 percent.")
    assert list(problems) == ["number"]
    assert check(reference=REFERENCE + " A trip takes 86.7 seconds, or 1.4 minutes.") == {}


def test_pieces_part_two_results_and_keep_shared_ones(
    template: Template, scenario: SampledScenario
) -> None:
    facts = gather_facts(template, scenario, (evidence(),))
    assert pieces("Travel time rises by 2%, while CO2 falls by 1% and stays low. Good.", facts) == [
        "Travel time rises by 2%",
        ", while CO2 falls by 1% and stays low.",
        "Good.",
    ]
    assert len(pieces("Travel time and CO2 fall by 2% and 1%.", facts)) == 1
