"""A project of version 0.2.0 under today's code: ``old/`` holds the outs of two questions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flows.cli.app import app
from flows.cli.errors import ended
from flows.files import read_records, read_table
from flows.project import Project, Results
from simulrag.errors import InputError
from simulrag.records import FinalClaims, Label, Question
from tests.integration.projects import copy_project
from tests.integration.terminal import Terminal

OLD = Path(__file__).with_name("old")


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_set_that_is_gone_is_refused_in_one_line_with_the_ways_on(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = copy_project(tmp_path / "project", prompts=name)
    said = Terminal(project, monkeypatch, capsys)("stage", "benchmark", "--domain", "urban")
    assert said.code == 2
    (line,) = (one for one in said.err.splitlines() if one != "benchmark-urban")
    assert "the sets first, second, common are gone" in line
    assert f"copy your old prompts/common, and prompts/{name} over it, to " in line
    assert line.endswith("or set prompts: null")


@pytest.fixture
def old_outs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Of a project that the working directory is in."""
    project = Project(copy_project(tmp_path / "project", domains=["climate"]))
    shutil.copytree(OLD / "outs", project.root / "data", dirs_exist_ok=True)
    monkeypatch.chdir(project.root)
    return project.results


def test_its_questions_and_labels_are_read(old_outs: Results) -> None:
    assert len(read_records(old_outs.benchmark("climate"), Question)) == 2
    assert {one.label for one in read_table(old_outs.labels("climate"), Label)} >= {"true", "false"}


@pytest.mark.parametrize(
    "command",
    [
        *(("stage", name, "--domain", "climate") for name in ("label", "metrics", "attribution")),
        ("ask", "climate-f6370df28ed7"),
    ],
)
def test_its_answers_are_refused_in_one_line_that_says_what_to_run(
    command: tuple[str, ...], old_outs: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(lambda: app(command)) == 2
    (line,) = (one for one in capsys.readouterr().err.splitlines() if one.startswith("error"))
    assert f"{old_outs.answers('climate')}:1: " in line
    assert line.endswith(
        "run `simulrag stage answer --domain climate`, which pays no stored call again"
    )


def test_its_final_claims_are_refused_alike(old_outs: Results) -> None:
    path = old_outs.final_claims("climate")
    with pytest.raises(InputError, match=r":1: line: .* `simulrag stage label --domain climate`"):
        read_records(path, FinalClaims)
    elsewhere = path.rename(path.with_name("mine.jsonl"))
    with pytest.raises(InputError, match=r"mine\.jsonl:1: line: Field required$"):
        read_records(elsewhere, FinalClaims)
