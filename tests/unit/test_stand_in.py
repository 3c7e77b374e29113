"""Stand-ins: one for every task, and whole benchmarks that pass their check."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.models.base import Message
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.questions.generation import generate
from simulrag.stand_in import MARK, OPEN, RIGHT, WRONG, Prompted, finding
from simulrag.task import tasks, without_model


def test_each_shape_of_a_reply_belongs_to_one_stand_in() -> None:
    made: dict[str, set[object]] = {}
    for task in tasks().values():
        for shape in task.shapes if task.stand_in is not None else ():
            made.setdefault(shape.__name__, set()).add(task.stand_in)
    assert {name for name, found in made.items() if len(found) > 1} <= {"ToolCalls", "Plan"}


PLAIN = [one.name for one in tasks().values() if one.reply is not None and one.stand_in is None]


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_what_no_step_checks_further_fits_its_schema(name: str) -> None:
    task = tasks()[name]
    assert task.reply is not None
    said = [Message(role="user", content="<claims>\n0: It is so.\n1: It is not.\n</claims>")]
    schema = task.reply.model_json_schema()
    task.reply.model_validate_json(without_model(Prompted(said, task.reply.__name__), schema))


def test_words_say_what_is_found() -> None:
    assert [finding(f"It is {word} so.") for word in (RIGHT, WRONG, OPEN)] == [
        "right",
        "wrong",
        "open",
    ]
    drawn = [finding(f"{MARK} {number}") for number in range(400)]
    assert 60 < drawn.count("wrong") < 140


def test_a_tool_that_bears_the_name_of_anothers_is_called_as_its_own_handbook_has_it() -> None:
    handbook = load("simulators.starter:Starter").handbook()
    called = Prompted([Message(role="user", content=handbook)]).example()
    assert called == ("run_scenario", {"inflow_m3_per_day": 0.0})
    of_urban = Prompted([Message(role="user", content=load("urban").handbook())]).tools()
    assert [simulator.name for simulator, _ in of_urban] == ["urban", "urban"]


@pytest.mark.parametrize("set_up", [True, False])
@pytest.mark.parametrize("name", ["urban", "climate", "epidemiology"])
async def test_a_benchmark_of_any_simulator_passes_its_check(
    tmp_path: Path, name: str, set_up: bool
) -> None:
    settings = {"members": 4} if name == "epidemiology" else {}
    simulator = load(name, settings)
    with CallCache(tmp_path / "cache", stage="test") as cache:
        provider = make_provider(ModelSettings(provider="stand-in", model="any"))
        gateway = Gateway(provider, provider.settings, cache, packaged_prompts())
        templates, questions, summary = await generate(
            gateway,
            Simulations(simulator, cache),
            "own",
            n=3,
            seed=1,
            template_count=10,
            set_up=set_up,
        )
        await gateway.close()
    assert templates
    assert len(questions) == 3, summary.rejections
    assert all(MARK in question.text for question in questions)
    assert gateway.failures == {}
