"""``simulrag label``: claims out, labels back, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from flows.cli.label import label_app
from flows.files import read_records, write_records, write_table
from flows.project import Project
from simulrag.errors import InputError
from simulrag.judging.people import HumanLabel, in_order
from simulrag.records import Label
from tests.unit.metrics.people import annotation
from tests.unit.metrics.synthetic import study

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project after its label stage, and the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    params = yaml.safe_load((ROOT / "tests/params.yaml").read_text())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | {"domains": ["urban"]}))
    place = made.results
    data = study(6)
    place.benchmark("urban").parent.mkdir(parents=True)
    write_records(place.benchmark("urban"), data.questions)
    write_records(place.answers("urban"), data.answers)
    write_table(place.labels("urban"), data.labels, Label)
    return made


def label(*arguments: str, check: bool = True) -> Result:
    """A command's result; an error of ours is its ``exception``."""
    done = CliRunner().invoke(label_app, arguments)
    if check:
        assert done.exception is None, done.exception
    return done


def annotated(project: Project, count: int, *by: int) -> list[dict[str, Any]]:
    label("export", "--sample", str(count))
    tasks = json.loads((project.results.label_studio / "tasks.json").read_text())
    assert len(tasks) == count
    return [
        {"id": n, **task, "annotations": [annotation(person, "true") for person in by]}
        for n, task in enumerate(tasks)
    ]


def test_label_studio_there_and_back(project: Project, tmp_path: Path) -> None:
    exported = annotated(project, 5, 1, 2)
    assert (project.results.label_studio / "config.xml").read_text().startswith("<View>")
    file = tmp_path / "export.json"
    file.write_text(json.dumps(exported))
    done = label("import", str(file))
    assert "10 labels of 5 claims -> data/labels/human.jsonl; 0 left out" in done.output
    labels = read_records(project.results.human_labels, HumanLabel)
    assert len(labels) == 10
    assert labels == in_order(labels)
    before = project.results.human_labels.read_bytes()
    label("import", str(file))
    assert project.results.human_labels.read_bytes() == before


def test_a_bad_import_changes_nothing(project: Project, tmp_path: Path) -> None:
    exported = annotated(project, 3, 1)
    file = tmp_path / "export.json"
    file.write_text(json.dumps(exported))
    label("import", str(file))
    before = project.results.human_labels.read_bytes()
    exported[2]["data"]["question_id"] = "nobody"
    file.write_text(json.dumps(exported))
    done = label("import", str(file), check=False)
    assert isinstance(done.exception, InputError)
    assert "1 of 3 labels are of claims that these answers do not have" in str(done.exception)
    file.with_name("empty.json").write_text("[]")
    done = label("import", str(file.with_name("empty.json")), check=False)
    assert "they stay" in str(done.exception)
    assert project.results.human_labels.read_bytes() == before
    done = label("import", str(file), "--drop-unknown")
    assert "2 labels of 2 claims" in done.output
    assert "1 left out" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "nowhere.json"), "nowhere.json cannot be read"),
        (("export", "--sample", "0"), "0 is not a sample of claims"),
        (("export", "--domain", "ubran"), "did you mean 'urban'"),
    ],
)
@pytest.mark.usefixtures("project")
def test_mistakes_are_told(arguments: tuple[str, ...], message: str) -> None:
    done = label(*arguments, check=False)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
