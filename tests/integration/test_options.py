"""What was recorded of the method's options replays over the recorded run, from an empty cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.params import load_params
from simulrag.method.settings import ClaimsPerCall
from tests.recorded import ROOT, exported_calls, given_project, recorded_files, replay

OWN = ("urban", "climate", "epidemiology")
EXPORTS = ROOT / "studies" / "options" / "recorded"
ONE_BY_ONE: dict[str, Any] = {"claims_per_call": ClaimsPerCall(decompose=1)}
ALONE: dict[str, Any] = {**ONE_BY_ONE, "verbalized": False, "baselines": False}
OPTIONS: dict[str, dict[str, Any]] = {
    "one_by_one": ONE_BY_ONE,
    "boundary": {**ALONE, "boundary": "verdicts"},
    "second_look": {**ALONE, "second_look": True},
}
"""Each over the run that took every sample apart by itself."""


def test_each_export_is_of_an_option() -> None:
    """Of one decomposition the labels of its comparison; its answers are the recorded run's."""
    kept = {path.name for path in EXPORTS.iterdir() if path.is_dir()}
    assert kept == {*OPTIONS, "decompose"}
    assert list((EXPORTS / "decompose").glob("answer-*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_the_answers_of_an_option_make_no_call(option: str, tmp_path: Path) -> None:
    """Its labels keep what the recorded run said of a text, which the stage ``label`` does not."""
    project = given_project(tmp_path / "project")
    params = load_params(project.params)
    domains = params.domains if option == "one_by_one" else OWN
    answer = params.answer.model_copy(update=OPTIONS[option])
    base, own = (sorted((EXPORTS / n).glob("answer-*.parquet")) for n in ("one_by_one", option))
    files = [*recorded_files(), *dict.fromkeys([*base, *own])]
    found = replay(project, tmp_path, files, answer=answer, domains=domains)
    asked = [(name, gate.missing) for name, gate in found.gates if name.startswith("answer-")]
    assert asked == [(f"answer-{domain}", {}) for domain in domains]
    assert {key for key, *_ in exported_calls(own)} <= set(found.used)
