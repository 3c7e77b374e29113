"""Templates, questions and reference answers of the offline model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field

from simulators.base import Tool, ToolModel, render_handbook
from simulrag.models.offline.generation import (
    benchmark_question,
    find_value,
    reference_claims,
    templates,
)
from simulrag.models.offline.single import asked
from simulrag.models.offline.tool_calls import tool_calls
from simulrag.models.replies import Templates
from simulrag.statements import quantities, thresholds

_WITH = "with the interventions against"
EVIDENCE = f"""Average travel time: 65.82 s {_WITH} 73.99 s in the baseline, a change of -11.04 %.
Average idling time: 1.0 s {_WITH} 14.49 s in the baseline, a change of -93.10 %.
Total CO2 emissions: 25557610.87 mg {_WITH} 38300266.68 mg, a change of +3.27 %."""


class RoadArguments(ToolModel):
    speed_factor: float = Field(default=1.0, ge=0.6, le=1.5, description="speed limit factor")
    demand_factor: float = Field(default=1.0, ge=0.3, le=1.5, description="demand factor")
    lanes: int = Field(default=2, ge=1, le=3, description="lanes")
    use_priority_junction: bool = Field(default=False, description="priority junction")
    seed: int = Field(default=1, ge=0, le=99, description="random seed")


class RoadOutputs(ToolModel):
    travel_time_change_percent: float
    idling_change_percent: float
    co2_change_percent: float


class FieldArguments(ToolModel):
    rain_mm: float = Field(
        ge=100, le=900, json_schema_extra={"unit": "mm"}, description="yearly rain"
    )
    nitrogen_kg: float = Field(default=80, ge=0, le=200, json_schema_extra={"unit": "kg"})
    variety: str = "any"


class FieldOutputs(ToolModel):
    yield_change_percent: float = Field(description="change in yield")
    protein_share: float = Field(description="protein share")


def handbook(arguments: type[ToolModel], outputs: type[ToolModel], name: str) -> str:
    return render_handbook("Words.", {name: Tool(name, "Compares.", arguments, outputs, "")})


def ask(output: str, words: str, better: str = "lower") -> dict[str, Any]:
    limits = [("minor", 0.0), ("moderate", 10.0), ("significant", 25.0)]
    return asked(output, words, limits, better)


TRAVEL = ask("travel_time_change_percent", "the percentage change in average travel time")
IDLING = ask("idling_change_percent", "the percentage change in average vehicle idling time")
CO2 = ask("co2_change_percent", "the percentage change in total CO2 emissions")


def test_road_templates_are_distinct_and_inside_the_handbook() -> None:
    road = handbook(RoadArguments, RoadOutputs, "compare_with_baseline")
    found = templates(road, 50)
    Templates.model_validate_json(json.dumps({"templates": found}))
    assert len(found) >= 8
    assert len({item["template_id"] for item in found}) == len(found)
    assert len(templates(road, 3)) == 3
    for item in found:
        varied = [placeholder["argument"] for placeholder in item["placeholders"]]
        assert all("{" + name + "}" in item["situation"] for name in varied)
        assert item["situation"].count("{") == len(varied)
        for placeholder in item["placeholders"]:
            low = 0.6 if placeholder["argument"] == "speed_factor" else 0.3
            assert low <= placeholder["low"] < placeholder["high"] <= 1.5
            reduces = placeholder["wording"] == "percent_reduction"
            assert placeholder["high"] <= 1 if reduces else placeholder["low"] >= 1


def test_situations_can_be_read_back_into_their_arguments() -> None:
    road = handbook(RoadArguments, RoadOutputs, "compare_with_baseline")
    for item in templates(road, 50):
        wanted = {fixed["argument"]: fixed["value"] for fixed in item["runs"][0]["fixed"]}
        shown = {}
        for placeholder in item["placeholders"]:
            name = placeholder["argument"]
            wanted[name] = round(0.3 * placeholder["low"] + 0.7 * placeholder["high"], 2)
            sign = -1 if placeholder["wording"] == "percent_reduction" else 1
            shown[name] = f"{round(sign * (wanted[name] - 1) * 100):g}"
        asks = json.dumps(item["asks"])
        text = benchmark_question(item["situation"].format(**shown), asks, EVIDENCE)
        assert tool_calls(text["question"], road, []) == [
            {"tool": "compare_with_baseline", "arguments": wanted}
        ]


def test_an_unknown_handbook_gets_pairs_of_its_own_arguments_and_outputs() -> None:
    found = templates(handbook(FieldArguments, FieldOutputs, "grow"), 10)
    Templates.model_validate_json(json.dumps({"templates": found}))
    assert [[p["argument"] for p in item["placeholders"]] for item in found] == [
        ["rain_mm"],
        ["rain_mm", "nitrogen_kg"],
    ]
    assert "yearly rain" in found[0]["situation"]
    assert {a["output"] for a in found[0]["asks"]} == {"yield_change_percent", "protein_share"}
    assert templates("No tables here.", 5) == []


@pytest.mark.parametrize("situation", [f"Plan {n} lowers limits by 20%." for n in range(8)])
def test_question_gives_thresholds_and_no_result(situation: str) -> None:
    text = benchmark_question(situation, json.dumps([TRAVEL, IDLING, CO2]), EVIDENCE)
    assert text == benchmark_question(situation, json.dumps([TRAVEL, IDLING, CO2]), EVIDENCE)
    assert text["question"].startswith(situation)
    assert [item.subject for item in thresholds(text["question"])] == [
        "travel_time",
        "idling",
        "co2",
    ]
    assert [[c.name for c in item.classes] for item in thresholds(text["question"])] == [
        ["minor", "moderate", "significant"]
    ] * 3
    asked = {q.value for q in quantities(text["question"].removeprefix(situation))}
    assert asked == {10, 25}
    reference = text["reference_answer"]
    assert [q.value for q in quantities(reference)] == [11.04, 93.10, 3.27]
    assert reference.index("moderate") < reference.index("significant") < reference.index("minor")
    assert (
        "mixed: better in average travel time and average vehicle idling time but worse"
        in reference
    )


def test_wording_varies_with_the_situation() -> None:
    written = {
        benchmark_question(f"Plan {n}.", json.dumps([TRAVEL, CO2]), EVIDENCE)["reference_answer"]
        for n in range(12)
    }
    assert len(written) >= 3


@pytest.mark.parametrize(
    ("better", "judgement"),
    [("lower", "an improvement overall"), ("higher", "no improvement"), ("neither", "")],
)
def test_the_closing_judgement_follows_from_what_is_better(better: str, judgement: str) -> None:
    asks = [{**TRAVEL, "better": better}, {**IDLING, "better": better}]
    text = benchmark_question("A plan.", json.dumps(asks), EVIDENCE)
    assert judgement in text["reference_answer"]
    assert ("improve" in text["question"] + text["reference_answer"]) == (better != "neither")


def test_no_change_and_levels_are_said_as_such() -> None:
    flat = "Average travel time: 70 s against 70 s, a change of 0.00 %."
    text = benchmark_question("A plan.", json.dumps([TRAVEL]), flat)
    assert "unchanged (0.00%)" in text["reference_answer"]
    level = {**ask("travel_time_s", "the average travel time"), "classes": []}
    text = benchmark_question("A plan.", json.dumps([level]), EVIDENCE)
    assert "65.82 s" in text["reference_answer"]


def test_evidence_is_looked_up_by_subject_and_unit() -> None:
    found = find_value("idling_change_percent", "the percentage change in idling", EVIDENCE)
    assert found is not None
    assert (found.value, found.digits, found.unit) == (-93.10, "93.10", "percent")
    worded = "Average travel time shows a decrease of 4.5 %."
    less = find_value("travel_time_change_percent", "the change in travel time", worded)
    assert less is not None
    assert less.value == -4.5
    assert find_value("fuel_change_percent", "the percentage change in fuel use", EVIDENCE) is None
    with pytest.raises(ValueError, match="none of the asked outputs"):
        benchmark_question("A plan.", json.dumps([TRAVEL]), "Nothing happened.")


def test_reference_claims_carry_every_number_and_their_kind() -> None:
    text = benchmark_question("Limits fall by 20%.", json.dumps([TRAVEL, IDLING, CO2]), EVIDENCE)
    claims = reference_claims(text["question"], text["reference_answer"])
    assert [c["kind"] for c in claims] == ["quantitative", "qualitative"] * 3 + ["qualitative"]
    stated = [q.value for c in claims for q in quantities(c["claim"])]
    assert stated == [11.04, 93.10, 3.27]


@pytest.mark.parametrize(
    ("output", "words", "line", "value"),
    [
        (
            "days_until_empty",
            "the days until the reservoir is empty",
            "With demand at 1.13 times today's and an inflow of 72669.74 m3/day, the time until "
            "the reservoir is empty is 75.0 days.",
            75.0,
        ),
        (
            "mean_lynxes",
            "the mean number of lynxes",
            "With 0.5 times today's hunting, the peak number of hares is 2345.1 animals and the "
            "mean number of lynxes is 33.2 animals.",
            33.2,
        ),
        (
            "mean_lynxes_change_percent",
            "the change of the mean number of lynxes against today's hunting",
            "With 0.5 times today's hunting, the mean number of hares changes by 3.2 percent and "
            "the mean number of lynxes changes by -4.1 percent.",
            -4.1,
        ),
    ],
)
def test_a_value_is_found_behind_the_arguments_that_a_sentence_begins_with(
    output: str, words: str, line: str, value: float
) -> None:
    """Sentences as a simulator of one's own may write them."""
    found = find_value(output, words, line)
    assert found is not None
    assert found.value == value
