"""Templates from the guides of the real handbooks, and from one of a user's own."""

from __future__ import annotations

import json

import pytest

from simulators.registry import load
from simulrag.benchmark.scenarios import sample_scenarios
from simulrag.benchmark.templates import template_problems
from simulrag.models.offline.templates import templates
from simulrag.models.offline.tool_calls import tool_calls
from simulrag.models.replies import Templates
from simulrag.models.strictness import strict_schema

COUNTS = {"climate": 6, "epidemiology": 7}


def test_the_contract_suits_strict_structured_output() -> None:
    assert strict_schema(Templates.model_json_schema()) is not None


@pytest.mark.parametrize("domain", sorted(COUNTS))
def test_the_handbooks_guide_gives_templates_that_the_tools_accept(domain: str) -> None:
    simulator = load(domain)
    reply = json.dumps({"templates": templates(simulator.handbook(), 10)})
    found = Templates.model_validate_json(reply).templates
    assert len(found) == COUNTS[domain]
    assert template_problems(found, simulator) == []
    assert any(len(template.runs) == 2 for template in found)


@pytest.mark.parametrize("domain", sorted(COUNTS))
def test_their_situations_are_read_back_into_their_calls(domain: str) -> None:
    simulator = load(domain)
    handbook = simulator.handbook()
    reply = json.dumps({"templates": templates(handbook, 10)})
    found = Templates.model_validate_json(reply).templates
    asks = {template.template_id: template.asks for template in found}
    for scenario in sample_scenarios(found, 30, 3, domain):
        words = " ".join(f"What is {ask.words}?" for ask in asks[scenario.template_id])
        calls = tool_calls(f"{scenario.situation} {words}", handbook, [])
        wanted = [(call.tool, call.arguments) for call in scenario.calls]
        got = [(str(call["tool"]), call["arguments"]) for call in calls]
        assert sorted(map(_canonical, got)) == sorted(map(_canonical, wanted)), scenario.situation


def _canonical(call: tuple[str, object]) -> str:
    text = json.dumps(call, sort_keys=True)
    return json.dumps(_floats(json.loads(text)), sort_keys=True)


def _floats(value: object) -> object:
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
