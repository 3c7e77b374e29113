"""The urban simulator on real SUMO runs (about a tenth of a second each)."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from simulators.base import RunError, ToolModel, validate_call
from simulators.urban import UrbanSimulator
from simulators.urban import simulator as simulator_module
from simulators.urban.corridor import CORRIDOR, corridor_network
from simulators.urban.runs import BASELINE, Setting, Workplace, run_corridor


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(simulator_module, "_baselines", {})
    return tmp_path / "runs.jsonl"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


@pytest.fixture
def urban(cache: Path, log: Path) -> UrbanSimulator:
    return UrbanSimulator(cache_dir=cache, run_log=log)


def ask(urban: UrbanSimulator, tool: str, seed: int = 0, **arguments: object) -> ToolModel:
    return urban.run(tool, validate_call(urban, tool, arguments), seed)


def runs(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_the_same_call_gives_the_same_outputs(urban: UrbanSimulator, log: Path) -> None:
    first = ask(urban, "run_scenario", speed_factor=0.8, replicates=2)
    assert ask(urban, "run_scenario", speed_factor=0.8, replicates=2) == first
    assert runs(log) == 4
    assert ask(urban, "run_scenario", seed=1, speed_factor=0.8, replicates=2) != first


def test_a_seed_among_the_arguments_beats_the_runs_seed(urban: UrbanSimulator) -> None:
    of_run = ask(urban, "run_scenario", seed=5)
    assert ask(urban, "run_scenario", seed=9) != of_run
    arguments = validate_call(urban, "run_scenario", {"seed": 5})
    assert urban.run("run_scenario", arguments, 9) == of_run


def test_nothing_changed_is_no_change(urban: UrbanSimulator, log: Path) -> None:
    outputs = ask(urban, "compare_with_baseline")
    changes = {k: v for k, v in outputs.model_dump().items() if k.endswith("change_percent")}
    assert set(changes.values()) == {0.0}
    assert runs(log) == 1


def test_the_baseline_of_a_seed_is_simulated_once(urban: UrbanSimulator, log: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        factors = [0.7, 0.8, 0.9, 1.1]
        list(pool.map(lambda f: ask(urban, "compare_with_baseline", speed_factor=f), factors))
    assert runs(log) == len(factors) + 1
    ask(urban, "compare_with_baseline", seed=1, speed_factor=0.7)
    assert runs(log) == len(factors) + 3
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(entry["setting"]["speed_factor"] == 1 for entry in entries) == 2


def test_the_interventions_do_what_the_handbook_says(urban: UrbanSimulator) -> None:
    calm = ask(urban, "compare_with_baseline", speed_factor=0.6).model_dump()
    assert calm["travel_time_change_percent"] > 10
    more = ask(urban, "compare_with_baseline", demand_factor=1.22).model_dump()
    assert more["scenario_vehicles"] == 163
    assert more["co2_change_percent"] > 10
    wave = ask(urban, "compare_with_baseline", use_priority_junction=True).model_dump()
    assert wave["scenario_idling_s"] == pytest.approx(1.0, abs=0.05)
    assert wave["co2_change_percent"] < -10
    diet = ask(urban, "compare_with_baseline", lanes=1).model_dump()
    assert diet["scenario_idling_s"] == pytest.approx(1.0, abs=0.3)
    assert diet["scenario_travel_time_s"] > wave["scenario_travel_time_s"]


@pytest.mark.parametrize("demand", [0.3, 1.5])
@pytest.mark.parametrize("speed", [0.3, 1.5])
@pytest.mark.parametrize("lanes", [1, 3])
def test_the_corners_of_the_ranges_run(
    urban: UrbanSimulator, speed: float, demand: float, lanes: int
) -> None:
    outputs = ask(
        urban, "run_scenario", speed_factor=speed, demand_factor=demand, lanes=lanes
    ).model_dump()
    assert outputs["travel_time_s"] > 0


def test_a_run_that_takes_too_long_is_an_error(cache: Path, log: Path) -> None:
    ask(UrbanSimulator(cache_dir=cache), "run_scenario")
    with pytest.raises(RunError, match="timeout_s"):
        ask(UrbanSimulator(cache_dir=cache, timeout_s=0.001), "run_scenario", seed=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon_s": 300.0}, r"\d+ vehicles had not arrived"),
        ({"green_s": 5.0, "red_s": 900.0}, "gridlock"),
    ],
)
def test_traffic_that_does_not_flow_is_an_error(
    cache: Path, changes: dict[str, float], words: str
) -> None:
    with pytest.raises(RunError, match=words):
        run_corridor(BASELINE, 0, Workplace(cache, 60, None), replace(CORRIDOR, **changes))  # type: ignore[arg-type]


def test_a_failed_baseline_is_not_remembered(cache: Path, log: Path) -> None:
    with pytest.raises(RunError):
        ask(UrbanSimulator(cache_dir=cache, timeout_s=0.001), "compare_with_baseline")
    outputs = ask(UrbanSimulator(cache_dir=cache), "compare_with_baseline")
    assert outputs.model_dump()["baseline_vehicles"] == 134


def test_an_unwritable_cache_is_an_error(tmp_path: Path, log: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(RunError, match="cache_dir"):
        ask(UrbanSimulator(cache_dir=occupied), "run_scenario")


def _build(cache: Path) -> str:
    work = {"speed_factor": 0.9, "lanes": 2, "signalised": True}
    path = corridor_network(CORRIDOR, cache_dir=cache, timeout_s=60, **work)  # type: ignore[arg-type]
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_processes_that_build_one_network_at_once_share_it(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        texts = pool.map(_build, [tmp_path] * 3)
    assert all(text.rstrip().endswith("</net>") for text in texts)
    assert len(set(texts)) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_network_is_built_once_per_geometry(cache: Path, tmp_path: Path) -> None:
    own = tmp_path / "cache"
    work = Workplace(own, 60, None)
    run_corridor(BASELINE, 0, work)
    run_corridor(Setting(demand_factor=0.5), 1, work)
    assert len(list(own.iterdir())) == 1
    run_corridor(Setting(speed_factor=0.9), 1, work)
    assert len(list(own.iterdir())) == 2


def test_the_fingerprint_holds_for_any_workplace(tmp_path: Path, urban: UrbanSimulator) -> None:
    other = UrbanSimulator(cache_dir=tmp_path / "x", run_log=tmp_path / "y", timeout_s=3)
    assert other.fingerprint() == urban.fingerprint()
    assert len(urban.fingerprint()) == 64


def test_the_log_may_come_from_the_environment(
    cache: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMULRAG_URBAN_RUN_LOG", str(log))
    ask(UrbanSimulator(cache_dir=cache), "run_scenario", seed=3)
    entry = json.loads(log.read_text())
    assert entry["seed"] == 3
    assert entry["simulator"] == "urban"
