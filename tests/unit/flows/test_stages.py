"""A stage is a value: everything that goes over the stages goes over these declarations."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ruamel.yaml import YAML

from flows.cli.docs import code_of, dvc_yaml, entry, without_the_gone
from flows.hooks import stages_of_rooms
from flows.params import load_params
from flows.project import Project
from flows.running.runner import execute
from flows.stages import exports, stage_names, stage_of, stages
from simulrag.errors import InputError
from simulrag.method.recipes import recipe_of
from simulrag.stage import Stage
from tests.integration.projects import copy_project, write_questions
from tests.recorded import ROOT, recorded_files

PARAMS = load_params(ROOT / "params.yaml")


def test_dvc_yaml_is_what_the_stages_declare() -> None:
    assert (ROOT / "dvc.yaml").read_text() == dvc_yaml(stages()), "run simulrag docs dvc"


def test_the_lock_holds_no_stage_that_is_gone() -> None:
    """DVC reads and writes all of it after every stage."""
    locked = YAML(typ="safe").load((ROOT / "dvc.lock").read_text())["stages"]
    run = {f"{one.name}@{item}".rstrip("@") for one in stages() for item in one.items(PARAMS)}
    assert set(locked) <= run


def test_the_stages_that_are_gone_leave_the_lock_and_no_other_changes() -> None:
    lock = (ROOT / "dvc.lock").read_text()
    left = without_the_gone(lock, [name for name in stage_names() if name != "label"])
    before, after = (YAML(typ="safe").load(text)["stages"] for text in (lock, left))
    assert after == {run: of for run, of in before.items() if not run.startswith("label@")}
    assert set(lock.splitlines()) > set(left.splitlines())


def test_a_stage_is_found_by_being_there() -> None:
    modules = {file.stem for file in (ROOT / "flows/stages").glob("*.py")} - {"__init__"}
    assert set(stage_names()) == modules | set(stages_of_rooms())
    assert [stage.name for stage in stages()] == list(stage_names())
    assert stage_names()[-2:] == ("metrics", "report")


@pytest.mark.parametrize("name", stage_names())
def test_a_declaration_names_what_is_there(name: str) -> None:
    stage = stage_of(name)
    assert [path for path in stage.code if not (ROOT / path).exists()] == []
    for section in (*stage.sections, *([f"llm.{stage.role}"] if stage.role else [])):
        value: object = PARAMS.model_dump()
        for part in section.format(item="urban").split("."):
            assert isinstance(value, dict)
            assert part in value, f"{name} declares {section}"
            value = value[part]


def test_a_stage_depends_on_the_code_that_it_imports_and_on_no_other_room() -> None:
    metrics = code_of(stage_of("metrics"))
    assert {"flows/stages/metrics.py", "simulrag/metrics"} <= set(metrics)
    assert "simulrag/judging/people.py" in metrics  # of a family, which nothing imports
    for name in stage_names():
        code = code_of(stage_of(name))
        assert [path for path in code if not (ROOT / path).exists()] == []
        room = stages_of_rooms().get(name, "").split(".")[:2]
        others = [path for path in code if path.startswith("rooms") and path.split("/")[:2] != room]
        assert others == [], name
        shared = [path for path in code if path.startswith("flows") and "stages" not in path]
        assert shared == (["flows/report"] if name == "report" else []), name


def test_what_asks_a_model_exports_its_calls() -> None:
    for stage in stages():
        outs = str(entry(stage)["outs"])
        assert ("data/calls/" in outs) == (stage.role is not None)
    assert set(exports(PARAMS)) == {file.stem for file in recorded_files()}


def test_a_stage_runs_over_the_list_that_it_names() -> None:
    assert stage_of("answer").items(PARAMS) == PARAMS.domains
    assert stage_of("report").items(PARAMS) == [""]


def test_an_unknown_domain_is_named_before_anything_is_opened(tmp_path: Path) -> None:
    project = Project(copy_project(tmp_path / "project"))
    with pytest.raises(InputError, match="'ubran' is not a domain; did you mean 'urban'"):
        execute(stage_of("answer"), project, "ubran")


def test_few_frames_lie_between_the_runner_and_the_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    recipe = replace(recipe_of("grounded"), draft=broken)
    monkeypatch.setattr("flows.stages.answer.recipe_of", lambda _: recipe)
    project = copy_project(tmp_path / "project")
    write_questions(project, "How long is the queue?")
    with pytest.raises(ZeroDivisionError) as caught:
        execute(stage_of("answer"), Project(project), "urban")
    files = [frame.filename for frame in traceback.extract_tb(caught.tb)]
    ours = [Path(file).relative_to(ROOT).as_posix() for file in files if _is_ours(file)]
    made = ours.index("flows/stages/answer.py")
    assert ours[made - 1] == "flows/running/runner.py"
    between = [file for file in ours[made:] if file != "flows/running/runner.py"]
    assert between.count("flows/stages/answer.py") == 2  # make, and the work on one question
    assert len(between) <= 4, between


def _is_ours(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(ROOT / "flows") or path.is_relative_to(ROOT / "simulrag")


def test_a_stage_of_a_plug_in_is_declared_like_any_other() -> None:
    async def make(at: object) -> None:
        raise NotImplementedError

    stage = Stage(
        "ranking",
        "a stage of somebody's own",
        make,
        over="domains",
        role="judge",
        sections=("metrics",),
        reads=("data/answers/{item}.jsonl",),
        makes=("data/ranking/{item}.jsonl",),
    )
    found = entry(stage)
    assert found["matrix"] == {"domain": "${domains}"}
    assert "data/answers/${item.domain}.jsonl" in found["deps"]
    assert {"data/calls/ranking-${item.domain}.parquet": {"persist": True}} in found["outs"]


def test_identities_are_of_the_domains_in_params_yaml(tmp_path: Path) -> None:
    """A domain's file changes with its simulator, and only then."""
    settings = {"urban": {"name": "urban"}, "city": {"name": "urban", "seed": 3}}
    project = Project(
        copy_project(tmp_path / "project", domains=["urban", "city"], simulators=settings)
    )
    execute(stage_of("simulators"), project)
    files = [project.results.simulator(name) for name in ("urban", "city")]
    urban, city = (yaml.safe_load(file.read_text()) for file in files)
    assert {**urban, "domain": "city"} == city
    before = [file.read_bytes() for file in files]
    execute(stage_of("simulators"), project)
    assert [file.read_bytes() for file in files] == before
