"""dvc.yaml names what the stages read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flows.cli.lineage import stage_deps
from flows.params import load_params
from flows.project import Project
from simulrag.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def test_deps_are_the_import_closure_the_prompts_and_the_outs_before() -> None:
    project = Project(ROOT)
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    expected = stage_deps(project, load_params(project.params).domains)
    for stage, deps in expected.items():
        assert stages[stage]["deps"] == deps, f"{stage}: run python -m flows.cli.lineage"


def test_the_closure_holds_what_a_reader_expects() -> None:
    deps = stage_deps(Project(ROOT), ["urban", "mars"])
    assert "simulrag/method/verification.py" in deps["answer"]
    assert "prompts/verify.md.j2" in deps["answer"]
    assert "prompts/repair.md.j2" in deps["answer"]
    assert "prompts/verify.md.j2" not in deps["label"]
    assert "prompts/label.md.j2" in deps["label"]
    assert "data/answers/mars.jsonl" in deps["metrics"]
    assert "flows/cli.py" not in deps["answer"]


def test_no_folder_is_a_dep() -> None:
    for deps in stage_deps(Project(ROOT), ["urban"]).values():
        assert all(Path(dep).suffix for dep in deps)


def test_a_project_whose_code_is_not_the_installed_one_is_told(tmp_path: Path) -> None:
    """Two clones and the .venv of the first: its code would be named in the second's dvc.yaml."""
    with pytest.raises(InputError, match="activate the project's own"):
        stage_deps(Project(tmp_path), ["urban"])
