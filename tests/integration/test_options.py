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
OPTIONS: dict[str, dict[str, Any]] = {
    "decompose": {"claims_per_call": ClaimsPerCall(decompose=5)},
    "boundary": {"boundary": "verdicts"},
    "second_look": {"second_look": True},
}


def test_each_export_is_of_an_option() -> None:
    assert {path.name for path in EXPORTS.iterdir() if path.is_dir()} == set(OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_the_answers_of_an_option_make_no_call(option: str, tmp_path: Path) -> None:
    """Its labels keep what the recorded run said of a text, which the stage ``label`` does not."""
    project = given_project(tmp_path / "project")
    changes = {"verbalized": False, "baselines": False, **OPTIONS[option]}
    answer = load_params(project.params).answer.model_copy(update=changes)
    own = sorted((EXPORTS / option).glob("answer-*.parquet"))
    found = replay(project, tmp_path, [*recorded_files(), *own], answer=answer, domains=OWN)
    asked = {f"answer-{domain}": found.gates[f"answer-{domain}"].missing for domain in OWN}
    assert asked == {name: {} for name in asked}
    assert {key for key, *_ in exported_calls(own)} <= set(found.used)
