"""What rooms bring, found without anybody's naming them."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows.hooks import prompts_of, room_names, rooms, stages_of_rooms
from simulrag.models.gateway import REPAIR_PROMPT
from simulrag.task import tasks
from tests.recorded import ROOT

PROMPTS = ROOT / "prompts"


def test_what_is_brought_comes_by_the_names_of_the_rooms() -> None:
    brought = [name for name, _ in rooms().hook.params_section()]
    assert brought == list(room_names())
    assert [module.split(".")[1] for module in stages_of_rooms().values()] == sorted(
        module.split(".")[1] for module in stages_of_rooms().values()
    )


def test_no_hook_has_the_name_of_a_module_of_a_room() -> None:
    """Its import would take the hook's place in the package."""
    hooks = {name for name in vars(rooms().hook) if not name.startswith("_")}
    files = [file for room in room_names() for file in (ROOT / "rooms" / room).iterdir()]
    assert len(hooks) > 5
    assert hooks & {file.stem for file in files} == set()


def test_every_prompt_has_a_task_and_every_task_a_prompt() -> None:
    for room in room_names():
        package = importlib.import_module(f"rooms.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    named = {*tasks(), REPAIR_PROMPT}
    assert set(prompts_of(PROMPTS).tasks()) == named
    assert {file.name for file in PROMPTS.glob("**/*.j2")} == {
        *(file.name for file in PROMPTS.glob("_*.j2")),
        *(f"{name}.md.j2" for name in named),
    }


@pytest.mark.parametrize("module", ["simulrag", "simulrag.task", "flows.hooks"])
def test_a_lower_floor_pulls_no_higher_one_up(module: str) -> None:
    """All that ``simulrag`` offers, every task of it, and the hooks without what rooms bring."""
    script = (
        f"import sys, {module}, simulrag, simulrag.task\n"
        "[getattr(simulrag, name) for name in simulrag.__all__]\n"
        "simulrag.task.tasks()\n"
        "higher = {'flows', 'rooms', 'typer', 'prefect', 'dvc'} & set(sys.modules)\n"
        "print(' '.join(sorted(higher)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode().split() == (["flows"] if module.startswith("flows") else [])


def test_a_package_brings_a_room_by_its_entry_point(tmp_path: Path) -> None:
    told = tmp_path / "weather-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Name: weather\nVersion: 1\n")
    (told / "entry_points.txt").write_text("[simulrag.rooms]\nweather = weather\n")
    (tmp_path / "weather.py").write_text(
        "from flows.hooks import hookimpl\n"
        "from flows.sections import RoomSection\n"
        "from simulrag.stage import Stage\n"
        "@hookimpl\n"
        "def params_section():\n"
        "    return 'weather', RoomSection\n"
        "@hookimpl\n"
        "def stage_modules():\n"
        "    return {'forecast': 'weather'}\n"
        "STAGE = Stage('forecast', 'what comes', None, over='')\n"
    )
    script = (
        "from flows.params import params_class\n"
        "from flows.cli.docs import entry\n"
        "from flows.stages import stage_of, stage_names\n"
        "print('weather' in params_class().model_fields, 'forecast' in stage_names())\n"
        "print(entry(stage_of('forecast'))['cmd'])\n"
    )
    places = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=places, capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == ["True True", "simulrag stage forecast"]
