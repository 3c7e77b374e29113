"""The notebook of examples/, run from its first cell to its last in a project that ran once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simulrag.records import Answer
from tests.integration.projects import ROOT

nbclient = pytest.importorskip("nbclient", reason="the extra examples is not installed")
nbformat = pytest.importorskip("nbformat", reason="the extra examples is not installed")
pytestmark = pytest.mark.slow


def test_its_answers_show_themselves(finished: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    shutil.copytree(finished / "data" / "answers", project / "data" / "answers")
    shutil.copy(finished / "params.yaml", project)
    notebook = nbformat.read(ROOT / "examples" / "first-answer.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(project)}}
    ).execute()
    recorded, made = (text for cell in notebook.cells if "<summary>" in (text := shown(cell)))
    first = (project / "data" / "answers" / "urban.jsonl").read_text("utf-8").splitlines()[0]
    statements = Answer.model_validate_json(first).final.statements
    assert all(one.quote.split()[0] in recorded for one in statements)
    assert len(statements) > 0
    assert "model calls (0 of them stored) and 1 simulator run," in made
    told = "".join(
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    )
    assert "audit: replies 3 (0 stored before), simulator runs 1\n" in told
    assert "\nchecked | " in told
    assert "\x1b" not in told


def shown(cell: dict[str, object]) -> str:
    """The HTML of a cell's result; "" where it shows none."""
    outputs = cell.get("outputs", [])
    assert isinstance(outputs, list)
    return "".join(output["data"].get("text/html", "") for output in outputs if "data" in output)
