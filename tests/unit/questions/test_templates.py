"""Templates are refused, with the reason, before anything is sampled from them."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.models.base import Completion
from simulrag.questions.records import Placeholder, Template
from simulrag.questions.templates import (
    Templates,
    draw_templates,
    grid,
    sorted_out,
    template_problems,
)
from simulrag.records import Usage
from simulrag.task import Task


def changed(template: Template, **values: Any) -> Template:
    """``tool``, ``uses`` and ``fixed`` are the one run's; it uses all placeholders unless told."""
    dumped = {**template.model_dump(), **values}
    run = dict(dumped["runs"][0])
    if "placeholders" in values:
        run["uses"] = list(dict.fromkeys(item["name"] for item in values["placeholders"]))
    run |= {key: dumped.pop(key) for key in ("tool", "uses", "fixed") if key in dumped}
    return Template.model_validate({**dumped, "runs": values.get("runs", [run])})


def placeholder(**values: Any) -> dict[str, Any]:
    base = {
        "name": "speed_factor",
        "argument": "speed_factor",
        "low": 0.5,
        "high": 0.9,
        "decimals": 2,
        "wording": "percent_reduction",
    }
    return {**base, **values}


def ask(**values: Any) -> dict[str, Any]:
    base = {
        "run": 1,
        "against": 0,
        "scale": "value",
        "answers": [],
        "output": "co2_change_percent",
        "words": "CO2",
        "classes": [
            {"name": "small", "from_magnitude": 0},
            {"name": "large", "from_magnitude": 10},
        ],
        "better": "lower",
    }
    return {**base, **values}


SPEED = "The limit falls by {speed_factor} percent."


def test_a_right_template_has_no_problem(template: Template, corridor: Any) -> None:
    assert template_problems(template, corridor) == []


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"tool": "fly"}, "no tool 'fly' (tools: compare)"),
        ({"situation": SPEED}, "'demand_factor' is not in the situation"),
        (
            {"placeholders": [placeholder()]},
            "{demand_factor} is neither a placeholder nor a choice",
        ),
        ({"situation": "A limit of {speed_factor percent."}, "braces"),
        (
            {"situation": "{speed_factor:.2f} and {demand_factor}"},
            "write {speed_factor} without a format",
        ),
        (
            {
                "situation": "By {height} m.",
                "placeholders": [placeholder(name="height", argument="height")],
            },
            "no argument 'height'",
        ),
        ({"situation": SPEED, "placeholders": [placeholder(low=0.1)]}, "greater than or equal"),
        (
            {
                "situation": SPEED,
                "placeholders": [placeholder(low=1.1, high=1.9, wording="percent_increase")],
            },
            "less than or equal to 1.5",
        ),
        (
            {"situation": SPEED, "placeholders": [placeholder(high=1.2)]},
            "a percent_reduction needs a factor from 0 to below 1",
        ),
        (
            {"situation": SPEED, "placeholders": [placeholder(wording="percent_increase")]},
            "a percent_increase needs a factor above 1",
        ),
        (
            {"situation": SPEED, "placeholders": [placeholder(low=0.9, high=0.5)]},
            "fewer than two values",
        ),
        (
            {"situation": SPEED, "placeholders": [placeholder(), placeholder()]},
            "'speed_factor' is declared twice",
        ),
        ({"fixed": [{"argument": "lanes", "value": 9}]}, "lanes: Input should be less than"),
        ({"fixed": [{"argument": "lanes", "value": "two"}]}, "lanes: Input should be a valid"),
        ({"fixed": [{"argument": "colour", "value": 1}]}, "no argument 'colour'"),
        ({"asks": [ask(output="noise")]}, "no output 'noise'"),
        ({"asks": [ask(output="note")]}, "output 'note' is not a number"),
        ({"asks": [ask(), ask()]}, "'co2_change_percent (run 1, 0)' is asked about twice"),
        (
            {"asks": [ask(classes=[{"name": "small", "from_magnitude": 0}])]},
            "one class alone",
        ),
        (
            {
                "asks": [
                    ask(
                        classes=[
                            {"name": "small", "from_magnitude": 5},
                            {"name": "large", "from_magnitude": 10},
                        ]
                    )
                ]
            },
            "the first class starts at 5, not at 0",
        ),
        (
            {
                "asks": [
                    ask(
                        classes=[
                            {"name": "small", "from_magnitude": 0},
                            {"name": "medium", "from_magnitude": 30},
                            {"name": "large", "from_magnitude": 10},
                        ]
                    )
                ]
            },
            "from_magnitude does not ascend",
        ),
        (
            {
                "asks": [
                    ask(
                        classes=[
                            {"name": "large", "from_magnitude": 0},
                            {"name": "Large", "from_magnitude": 10},
                        ]
                    )
                ]
            },
            "the class 'large' is named twice",
        ),
    ],
)
def test_each_fault_is_named(
    template: Template, corridor: Any, values: dict[str, Any], reason: str
) -> None:
    problems = template_problems(changed(template, **values), corridor)
    assert any(reason in problem for problem in problems), problems
    assert all(problem.startswith("slow-priority: ") for problem in problems)


def test_choices_lists_and_several_runs_are_checked_too(template: Template, corridor: Any) -> None:
    lanes = [
        {"words": word, "settings": [{"argument": "lanes", "value": value}]}
        for word, value in (("one lane", 1), ("three lanes", 3))
    ]
    runs = [
        {"tool": "compare", "words": "today", "uses": [], "fixed": []},
        {"tool": "compare", "words": "with {road}", "uses": ["road"], "fixed": []},
    ]
    difference = ask(run=2, against=1, output="travel_time_s", scale="percent")
    values: dict[str, Any] = {
        "situation": "The road gets {road}.",
        "placeholders": [],
        "choices": [{"name": "road", "options": lanes}],
        "runs": runs,
        "asks": [difference],
    }
    assert template_problems(changed(template, **values), corridor) == []
    wrong = [*lanes, {"words": "a list", "settings": [{"argument": "lanes", "value": [[1, 2]]}]}]
    for faulty, reason in (
        ({"choices": [{"name": "road", "options": wrong}]}, "lanes: Input should be a valid"),
        ({"runs": [runs[0], {**runs[1], "uses": ["street"]}]}, "run 2 uses 'street'"),
        ({"runs": [runs[0], runs[0]]}, "no run uses 'road'"),
        ({"asks": [{**difference, "against": 3}]}, "run 2 against 3 is no comparison"),
        ({"asks": [{**difference, "against": 0}]}, "percent needs a run to be compared with"),
    ):
        problems = template_problems(changed(template, **{**values, **faulty}), corridor)
        assert any(reason in problem for problem in problems), (reason, problems)


def test_two_templates_of_one_id_are_refused(template: Template, corridor: Any) -> None:
    assert sorted_out([template, template], corridor, "") == (
        [template],
        ["slow-priority: the template_id is used twice"],
    )


def test_the_grid_counts_in_decimals() -> None:
    steps = grid(Placeholder.model_validate(placeholder(low=0.295, high=0.3349)))
    assert (steps[0], steps[-1]) == (30, 33)


class OneReply:
    """Stands for the gateway: a reply that is checked as the gateway checks it."""

    def __init__(self, reply: Templates) -> None:
        self.reply = reply
        self.values: dict[str, object] = {}

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Any = None,
        **values: object,
    ) -> Completion:
        self.values = values
        check(self.reply)
        return Completion(
            text="", parsed=self.reply, usage=Usage(), model_version="test", cached=False
        )


async def test_drawing_checks_the_reply_and_keeps_at_most_count(
    template: Template, corridor: Any
) -> None:
    second = changed(template, template_id="another")
    asker = OneReply(Templates(templates=[template, second]))
    assert await draw_templates(asker, corridor, 1) == ([template], [])
    assert asker.values == {
        "handbook": corridor.handbook(),
        "count": 1,
    }


async def test_drawing_gives_problems_back_as_value_error(
    template: Template, corridor: Any
) -> None:
    asker = OneReply(Templates(templates=[changed(template, tool="fly")]))
    with pytest.raises(ValueError, match="slow-priority: there is no tool 'fly'"):
        await draw_templates(asker, corridor, 4)


async def test_good_templates_of_a_reply_are_kept_and_the_bad_one_is_said(
    template: Template, corridor: Any
) -> None:
    good = [changed(template, template_id=f"t{number}") for number in range(9)]
    bad = changed(template, template_id="bad", asks=[ask(output="noise")])
    asker = OneReply(Templates(templates=[*good[:4], bad, *good[4:]]))
    drawn = await draw_templates(asker, corridor, 10)
    assert drawn.templates == good
    assert drawn.problems == ["bad: compare has no output 'noise'"]
    twice = [bad, changed(bad, template_id="worse")]
    with pytest.raises(ValueError, match="bad: compare has no output 'noise'; worse: "):
        await draw_templates(OneReply(Templates(templates=[good[0], *twice])), corridor, 10)
