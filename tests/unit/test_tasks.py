"""Tasks: one of each prompt, found by being there, and known to who counts and plans calls."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from simulrag.method.recipes import final_kinds
from simulrag.metrics.families import cost
from simulrag.metrics.methods import RANKED_BY
from simulrag.models.gateway import REPAIR_PROMPT
from simulrag.models.prompts import packaged_prompts
from simulrag.task import Task, tasks

ROOT = Path(__file__).parents[2]
NAMES = [name for name in packaged_prompts().tasks() if name != REPAIR_PROMPT]


def test_every_prompt_of_the_library_has_a_task() -> None:
    assert set(NAMES) <= set(tasks())
    assert len(NAMES) > 20


def test_a_second_task_of_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="there is a task 'merge' already"):
        Task("merge", tokens=1)
    assert tasks()["merge"].tokens != 1


def test_a_task_that_is_asked_for_another_reply_is_the_same_task() -> None:
    task = tasks()["merge"]
    prose = task.replying(None)
    assert (prose.name, prose.step, prose.reply) == ("merge", "merge", None)
    assert tasks()["merge"] is task
    assert task.reply is not None


def test_another_tasks_step_is_that_task_for_several_texts_at_once() -> None:
    found = tasks()
    for task in found.values():
        if task.step != task.name:
            assert found[task.step].step == task.step
            assert task.reply is not None
            assert set(task.reply.model_fields) == {"claims"}


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_of_every_task_is_its_steps(name: str) -> None:
    assert cost._step_of(name) == tasks()[name].step


def test_what_the_method_asks_is_charged_to_someone() -> None:
    charged = {step for kind in final_kinds().values() for steps in kind.in_turn for step in steps}
    charged |= {step for steps in RANKED_BY.values() for step in steps}
    assert charged <= set(NAMES)
    assert all(set(kind.shares) <= set(chain(*kind.in_turn)) for kind in final_kinds().values())
    tasks()  # imports the steps
    modules = [module for name, module in sys.modules.items() if name.startswith("simulrag.method")]
    asked = {
        value.step for module in modules for value in vars(module).values() if type(value) is Task
    }
    judged = {"evaluation_decompose", "evaluation_subjects"}  # of labels, which no method pays
    looked_up = {"queries", "tool_calls"}  # evidence, shared by all methods, and the rooms' own
    assert asked - judged - looked_up <= charged


def test_only_who_looks_tasks_up_imports_the_steps() -> None:
    heavy = "{'numpy', 'polars', 'simulrag.method'}"
    script = f"import sys, simulrag.task; print(len({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "0"
