"""Templates and questions that a person wrote: the guide's examples, and what is wrong in words."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest
import yaml

from simulators.starter import Starter
from simulrag.errors import InputError
from simulrag.questions.generation import templates_by_hand
from simulrag.questions.published import read_questions
from simulrag.questions.records import SetUpTemplate
from simulrag.questions.scenarios import scenario_stream

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "bring-your-own-simulator.md").read_text(encoding="utf-8")
FILE = Path("mine.yaml")


def block(start: str) -> str:
    """The guide's code block that begins so."""
    match = re.search(rf"^```\w+\n({re.escape(start)}.*?)^```$", GUIDE, re.M | re.S)
    assert match is not None
    return match[1]


EXAMPLE = block("- template_id: ")


def test_the_guides_templates_are_taken_and_drawn_from() -> None:
    templates = templates_by_hand(yaml.safe_load(EXAMPLE), FILE, Starter())
    assert [len(template.runs) for template in templates] == [1, 2]
    scenarios = list(islice(scenario_stream(templates, 1, "reservoir"), 4))
    assert {call.tool for one in scenarios for call in one.calls} == {
        "run_scenario",
        "run_for_days",
    }
    assert not any("{" in one.situation for one in scenarios)
    # So is what the benchmark stage writes of a model's templates, and one that states its set-up.
    written = json.dumps([one.model_dump() for one in templates])
    assert templates_by_hand(yaml.safe_load(written), FILE, Starter()) == templates
    told = [{**one, "set_up": "One reservoir and one town."} for one in yaml.safe_load(EXAMPLE)]
    assert all(isinstance(t, SetUpTemplate) for t in templates_by_hand(told, FILE, Starter()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("tool: run_scenario", "tool: draw_up"), "dry-summer: there is no tool 'draw_up' (tools:"),
        (("high: 40000", "high: 4e7"), "inflow_m3_per_day: Input should be less than"),
        (("from_magnitude: 200000", "from_magnitude: -1"), "template 2: 'asks.0.classes.1.from_"),
        (("{inflow}", "{river}"), "{river} is neither a placeholder nor a choice"),
        (("better: higher", "beter: higher"), "'asks.0.beter': Extra inputs"),
        (("- template_id: dry-summer\n ", "-"), "template 1: 'template_id' is missing"),
    ],
)
def test_what_is_wrong_is_said_in_words(change: tuple[str, str], words: str) -> None:
    assert change[0] in EXAMPLE
    with pytest.raises(InputError) as caught:
        templates_by_hand(yaml.safe_load(EXAMPLE.replace(*change)), FILE, Starter())
    assert str(caught.value).startswith("mine.yaml: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_three_problems_are_said_and_all_are_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    with pytest.raises(InputError) as caught:
        templates_by_hand([{"template_id": "a"}] * 5, file, Starter())
    assert str(caught.value).count("'situation', 'runs', 'asks' are missing") == 3
    beside = tmp_path / "mine.yaml.problems.txt"
    assert str(caught.value).endswith(f"all 5 problems are in {beside}")
    assert len(beside.read_text().splitlines()) == 5


@pytest.mark.parametrize("raw", [None, {}, [], "x", {"templates": []}])
def test_a_file_of_another_form_is_refused(raw: object) -> None:
    with pytest.raises(InputError, match="a list of templates is expected"):
        templates_by_hand(raw, FILE, Starter())
    with pytest.raises(InputError, match="template 1: "):
        templates_by_hand(["x"], FILE, Starter())


def test_the_guides_questions_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(block('{"question_id"'))
    assert [question.domain for question in read_questions(file)] == ["reservoir"] * 3
