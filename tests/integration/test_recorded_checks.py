"""The six texts with planted errors: their checks are recorded, and find every error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from flows.assistant import AssistantDesk
from flows.project import Project
from simulrag.errors import InputError
from tests.integration.projects import copy_project, simulrag
from tests.recorded import ROOT

WRONG = {
    "urban-ffa07a4ea394": ("14.65 % less CO2", "9.22 % more petrol"),
    "urban-d21cc5488472": ("to 64.90 s", "NOx falls by 2.71 %"),
    "climate-a23ffdae1f84": ("Helsinki 12.10 degC", "which is large"),
    "climate-0caa1ebb0032": ("which is modest", "cool the city by 0.16 degC"),
    "epidemiology-81731d3dc57f": ("482", "a moderate one"),
    "epidemiology-51b4ea7b69a4": ("605.5 admissions a day", "a fall of 28.92 percent"),
}
"""Words of each planted error, by the question."""
CONSEQUENCES = ("-11.59 %", "so a large one", "which is moderate", "a moderate change")
"""Words that are wrong because an error beside them is."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    domains = ["urban", "climate", "epidemiology"]
    folder = copy_project(tmp_path_factory.mktemp("checks") / "project", domains=domains)
    shutil.copytree(ROOT / "examples/check", folder / "examples/check")
    for domain in domains:
        simulrag(folder, "stage", "benchmark", "--domain", domain, check=True)
    return folder


@pytest.mark.parametrize("question", WRONG)
def test_every_planted_error_is_found_and_nothing_else_is_called_wrong(
    project: Path, question: str
) -> None:
    domain = question.partition("-")[0]
    text = f"examples/check/{question}.txt"
    named = ("check", text, "--domain", domain, "--question", question, "--json")
    done = simulrag(project, *named)
    assert done.returncode == 3, done.stderr
    said = json.loads(done.stdout)
    wrong = [one for one in said["statements"] if one["standing"] == "wrong"]
    for words in WRONG[question]:
        assert any(words in one["quote"] for one in wrong), words
    planted = (*WRONG[question], *CONSEQUENCES)
    for one in wrong:
        assert any(words in one["quote"] for words in planted), one["quote"]
        assert one["correction"]
        assert one["runs"]
    assert said["answer"] == (project / text).read_text().strip()


def test_an_assistant_is_given_the_same_marks_and_no_new_ones_without_leave(project: Path) -> None:
    question = "epidemiology-51b4ea7b69a4"
    asked = {"domain": "epidemiology", "question": question}
    text = (project / f"examples/check/{question}.txt").read_text()
    desk = AssistantDesk(Project(project))
    found = desk.serve("check", {"text": text, **asked})
    wrong = [one["quote"] for one in found.fields["statements"] if one["standing"] == "wrong"]
    assert [words in "; ".join(wrong) for words in WRONG[question]] == [True, True]
    assert found.text.count("[✗ wrong by run") == len(wrong)
    assert "(checked by recorded replies of anthropic: claude" in found.text
    with pytest.raises(InputError, match=r"not recorded.* --allow-calls-that-cost"):
        desk.serve("check", {"text": f"{text} So it is.", **asked})
