"""What the recorded model was shown, and what the simulators answered then, are still the same."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulators.base import Guided, handbook_with_guide, set_up_facts, validate_call
from simulators.registry import load

FOLDER = Path(__file__).resolve().parents[3] / "data" / "recorded"
SETTINGS: dict[str, dict[str, Any]] = {"urban": {}, "climate": {}, "epidemiology": {"members": 20}}
DOMAINS = list(SETTINGS)


@lru_cache(maxsize=8)
def requests(stage: str, domain: str, kind: str) -> list[tuple[dict[str, Any], Any]]:
    """Request and response of each recorded call. Skips where the recording is not there."""
    path = FOLDER / f"{stage}-{domain}.parquet"
    if not path.is_file():
        pytest.skip(f"{path} is not here: the recorded run is compared with where it is")
    rows = pl.read_parquet(path).filter(pl.col("kind") == kind)
    pairs = zip(rows["request"], rows["response"], strict=True)
    return [(json.loads(request), json.loads(response)) for request, response in pairs]


def _shown(stage: str, domain: str) -> list[str]:
    """The handbooks in the prompts of a stage."""
    found = []
    for request, _ in requests(stage, domain, "model"):
        text = request["messages"][0]["content"]
        if "<handbook>\n" in text:
            found.append(text.split("<handbook>\n")[1].split("\n</handbook>")[0])
    return found


@pytest.mark.parametrize("domain", DOMAINS)
def test_answering_models_are_shown_the_handbook_as_recorded(domain: str) -> None:
    shown = _shown("answer", domain)
    assert shown
    assert set(shown) == {load(domain, SETTINGS[domain]).handbook()}


@pytest.mark.parametrize("domain", DOMAINS)
def test_writers_of_benchmarks_are_shown_the_guide_and_the_set_up_too(domain: str) -> None:
    simulator = load(domain, SETTINGS[domain])
    (shown,) = _shown("benchmark", domain)
    guided, facts = handbook_with_guide(simulator).rstrip(), set_up_facts(simulator)
    assert shown == f"{guided}\n\n{facts}".rstrip()
    assert isinstance(simulator, Guided) == (domain != "urban")
    assert bool(facts) == (domain != "climate")  # whose handbook says all there is


def _same(domain: str, request: dict[str, Any], response: Any) -> None:
    simulator = load(domain, SETTINGS[domain])
    arguments = validate_call(simulator, request["tool"], request["arguments"])
    outputs = simulator.run(request["tool"], arguments, request["seed"])
    assert json.loads(outputs.model_dump_json()) == response


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_recorded_run_comes_out_the_same(domain: str) -> None:
    runs = requests("answer", domain, "simulator")
    assert len(runs) > 10
    _same(domain, *runs[len(runs) // 2])


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["benchmark", "answer"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_recorded_run_comes_out_the_same(domain: str, stage: str) -> None:
    for request, response in requests(stage, domain, "simulator"):
        _same(domain, request, response)
