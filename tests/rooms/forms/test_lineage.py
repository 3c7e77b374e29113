"""What lineage knows of documents that lie outside of the project."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from flows.project import Project
from flows.running.runner import execute
from flows.stages.simulators import STAGE
from rooms.forms.corpus import file_hashes
from rooms.forms.records import documents_file
from rooms.forms.settings import FormsParams
from simulrag.errors import InputError
from tests.integration.projects import PARAMS


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere" / "documents"
    (folder / "deeper").mkdir(parents=True)
    (folder / "b.md").write_text("second")
    (folder / "deeper" / "a.md").write_text("first")
    return folder


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_folder_is_known_by_its_files(documents: Path) -> None:
    assert file_hashes(documents) == {"b.md": digest("second"), "deeper/a.md": digest("first")}
    assert file_hashes(documents / "b.md") == {"b.md": digest("second")}
    with pytest.raises(InputError, match=r"forms\.documents: there is no file or folder .*gone"):
        file_hashes(documents / "gone")


def test_the_stage_writes_what_changes_with_a_document(tmp_path: Path, documents: Path) -> None:
    params = yaml.safe_load(PARAMS.read_text())
    params |= {"domains": ["urban"], "simulators": {"urban": {"name": "urban"}}}
    sources = {"textbook": {"files": [str(documents)], "licence": "CC0"}}
    params |= {"forms": {"sources": ["urban", "textbook"], "documents": sources}}
    project = Project(tmp_path)
    project.params.write_text(yaml.safe_dump(params))
    written = []
    for text in ("second", "second", "changed"):
        (documents / "b.md").write_text(text)
        execute(STAGE, project)
        written.append(documents_file(project.results, "textbook").read_bytes())
    assert written[0] == written[1] != written[2]
    (hashes,) = json.loads(written[2]).values()
    assert hashes["b.md"] == digest("changed")
    without = documents_file(project.results, "urban")
    assert json.loads(without.read_text()) == {}


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path, documents: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (documents / "secret.md").symlink_to(tmp_path / "secret.md")
    assert set(file_hashes(documents)) == {"b.md", "deeper/a.md"}


@pytest.mark.parametrize("name", ["x; touch y", "../../evil", ""])
def test_a_sources_name_is_no_command_and_no_path(name: str) -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        FormsParams.model_validate({"documents": {name: {"files": ["a"]}}})
