"""Sampling: clean numbers in range, distinct, deterministic, stable when asked for more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from simulators.base import validate_call
from simulrag.questions.records import Template
from simulrag.questions.scenarios import SampledScenario, scenario_stream


def sample_scenarios(
    templates: Sequence[Template], count: int, seed: int, domain: str
) -> list[SampledScenario]:
    return list(islice(scenario_stream(templates, seed, domain), count))


def with_id(template: Template, name: str, **values: Any) -> Template:
    return Template.model_validate({**template.model_dump(), "template_id": name, **values})


def test_the_situation_shows_clean_percentages_of_the_factor(template: Template) -> None:
    for scenario in sample_scenarios([template], 300, 1, "urban"):
        speed, demand = re.findall(r"by (\S+) percent, expects (\S+) percent", scenario.situation)[
            0
        ]
        assert re.fullmatch(r"\d+", speed)
        assert re.fullmatch(r"\d+", demand)
        assert scenario.shown == {"speed_factor": float(speed), "demand_factor": float(demand)}
        assert scenario.calls[0].arguments["speed_factor"] == round(1 - int(speed) / 100, 2)
        assert scenario.calls[0].arguments["demand_factor"] == round(1 - int(demand) / 100, 2)


def test_every_call_is_one_the_simulator_accepts(template: Template, corridor: Any) -> None:
    for scenario in sample_scenarios([template], 300, 2, "urban"):
        arguments = validate_call(corridor, scenario.calls[0].tool, scenario.calls[0].arguments)
        assert 0.5 <= arguments.speed_factor <= 0.9  # type: ignore[attr-defined]


def test_asking_for_more_keeps_the_first(template: Template) -> None:
    templates = [template, with_id(template, "second")]
    many = sample_scenarios(templates, 60, 7, "urban")
    assert sample_scenarios(templates, 50, 7, "urban") == many[:50]
    assert sample_scenarios(templates, 50, 8, "urban") != many[:50]


def test_scenarios_are_distinct_and_exhausted_ranges_end_the_stream(template: Template) -> None:
    narrow = with_id(
        template,
        "narrow",
        situation="{lanes} lanes each way.",
        placeholders=[
            {
                "name": "lanes",
                "argument": "lanes",
                "low": 1,
                "high": 3,
                "decimals": 0,
                "wording": "value",
            }
        ],
        runs=[{"tool": "compare", "words": "-", "uses": ["lanes"], "fixed": []}],
    )
    scenarios = sample_scenarios([narrow, with_id(narrow, "narrow-too")], 50, 0, "urban")
    assert sorted(str(item.calls[0].arguments["lanes"]) for item in scenarios) == ["1", "2", "3"]
    assert sorted(item.situation for item in scenarios) == [
        "1 lanes each way.",
        "2 lanes each way.",
        "3 lanes each way.",
    ]


def test_a_template_without_placeholders_is_one_scenario(template: Template) -> None:
    fixed = [{"argument": "use_priority_junction", "value": True}]
    plain = with_id(
        template,
        "plain",
        situation="The junction gets signs.",
        placeholders=[],
        runs=[{"tool": "compare", "words": "-", "uses": [], "fixed": fixed}],
    )
    (scenario,) = sample_scenarios([plain], 5, 0, "urban")
    assert scenario.calls[0].arguments == {"use_priority_junction": True}


def test_the_id_goes_by_domain_and_call_alone(template: Template) -> None:
    first = sample_scenarios([template], 1, 3, "urban")[0]
    other = sample_scenarios([template], 1, 3, "elsewhere")[0]
    assert other.calls == first.calls
    assert other.scenario_id != first.scenario_id
    assert re.fullmatch(r"urban-[0-9a-f]{12}", first.scenario_id)


def test_increase_and_value_wordings(template: Template) -> None:
    rising = with_id(
        template,
        "rising",
        situation="Demand grows by {demand_factor} percent at {speed_factor} times the limit.",
        placeholders=[
            {
                "name": "demand_factor",
                "argument": "demand_factor",
                "low": 1.1,
                "high": 1.5,
                "decimals": 3,
                "wording": "percent_increase",
            },
            {
                "name": "speed_factor",
                "argument": "speed_factor",
                "low": 0.4,
                "high": 1.2,
                "decimals": 1,
                "wording": "value",
            },
        ],
    )
    for scenario in sample_scenarios([rising], 100, 0, "urban"):
        shown, value = re.findall(r"by (\S+) percent at (\S+) times", scenario.situation)[0]
        assert len(shown) <= len("49.9")
        assert (
            abs(float(shown) / 100 + 1 - float(str(scenario.calls[0].arguments["demand_factor"])))
            < 1e-9
        )
        assert float(value) == scenario.calls[0].arguments["speed_factor"]
