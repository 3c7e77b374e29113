"""params.yaml: every mistake is one line with where, what and the likely key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from flows.params import STAGE_SECTIONS, StageParams, describe, load_params
from flows.project import find_project
from simulrag.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def changed(tmp_path: Path, change: dict[str, object]) -> Path:
    """The project's params.yaml with dotted keys set."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    for dotted, value in change.items():
        *path, last = dotted.split(".")
        place = raw
        for part in path:
            place = place[part]
        place[last] = value
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(raw))
    return file


def test_the_project_file_is_valid() -> None:
    params = load_params(ROOT / "params.yaml")
    assert params.answer.samples >= 1
    assert set(params.domains) <= set(params.simulators)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("answer.samples", 0, ["answer.samples", "greater than or equal to 1"]),
        ("answer.budget_percent", 130, ["answer.budget_percent", "less than or equal to 100"]),
        ("metrics.budgets_percent", [15, 130], ["metrics.budgets_percent", "130"]),
        ("answer.sampels", 5, ["answer.sampels", "unknown key", "samples"]),
        ("llm.budget", {"usd": 5}, ["llm.budget", "operations.budget"]),
        ("operations.budget", {"usd": -1}, ["operations.budget.usd"]),
        ("operations.budget", {"eur": 5}, ["operations.budget.eur", "usd"]),
        ("anwser", {}, ["anwser", "unknown key", "answer"]),
        ("answer.centrality", "closness", ["answer.centrality", "closeness"]),
        ("label.tolerance", -1, ["label", "tolerance"]),
        ("domains", [], ["domains"]),
        ("domains", ["atlantis"], ["atlantis", "simulators"]),
        ("domains", ["ubran"], ["params.yaml: domain 'ubran'", "did you mean 'urban'?"]),
        ("llm.answer.temprature", 1, ["llm.answer.temprature", "unknown key"]),
        ("answer.kappa_quantile", float("nan"), ["answer.kappa_quantile"]),
        ("answer.samples", True, ["answer.samples", "integer"]),
        ("label.tolerance", True, ["label.tolerance"]),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, key: str, value: object, words: list[str]) -> None:
    file = changed(tmp_path, {key: value})
    with pytest.raises(InputError) as caught:
        load_params(file)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("domains: [urban\n", "no valid YAML"),
        ("llm:\n\tjudge: 1\n", "line 2, column 1; indent with spaces"),
        ("llm: {base_url: http://127.0.0.1:8000/v1}\n", "in braces an address needs quotes"),
        ("domains: \x01\n", "a character that YAML does not take"),
        ("- urban\n", "must hold sections"),
    ],
)
def test_a_file_that_is_no_yaml(tmp_path: Path, text: str, words: str) -> None:
    """Whatever DVC would not take either: both read with one parser."""
    file = tmp_path / "params.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(words)):
        load_params(file)


def test_a_number_is_read_as_dvc_reads_it(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("  tolerance: rounding", "  tolerance: 5e-1"))
    assert load_params(file).label.tolerance == 0.5


def test_a_stage_reads_its_own_sections_only() -> None:
    params = StageParams(load_params(ROOT / "params.yaml"), "label")
    assert params.label is not None
    assert params.model("judge").model
    with pytest.raises(LookupError, match="label does not name params section answer"):
        _ = params.answer
    with pytest.raises(LookupError, match=r"llm\.answer"):
        params.model("answer")


def test_dvc_names_the_sections_that_the_loader_returns() -> None:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for stage, sections in STAGE_SECTIONS.items():
        named = {entry.replace(".${item.domain}", "") for entry in stages[stage]["params"]}
        assert named == set(sections), stage


def test_every_parameter_has_a_meaning() -> None:
    assert [name for name, meaning in describe() if not meaning] == []


def test_outside_a_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"params\.yaml"):
        find_project(tmp_path)


def test_an_unquoted_off_is_off(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("prefect: auto", "prefect: off"))
    assert load_params(file).operations.prefect == "off"


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("  samples: 5\n", "  samples: 5\n  samples: 6\n"))
    with pytest.raises(InputError, match=r"a key is given twice, line \d+, column 3"):
        load_params(file)


@pytest.mark.parametrize("field", ["provider", "endpoint", "base_url", "api_key_env", "sampling"])
def test_a_secret_in_the_wrong_field_is_not_repeated(tmp_path: Path, field: str) -> None:
    file = changed(tmp_path, {f"llm.answer.{field}": "sk-proj-PLANTED SECRET"})
    with pytest.raises(InputError) as caught:
        load_params(file)
    assert "PLANTED" not in str(caught.value)
    assert f"llm.answer.{field}" in str(caught.value) or "llm.answer" in str(caught.value)
