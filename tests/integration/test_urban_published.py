"""The corridor against the published records, where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulators.urban.corridor import CORRIDOR
from simulators.urban.runs import Workplace
from studies.urban.calibrate import FREE, loss, search
from studies.urban.validate import main, read_published

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "official" / "urban"
needs_records = pytest.mark.skipif(
    not (PUBLISHED / "parsed.csv").is_file(), reason="the published records are not on this machine"
)


@needs_records
@pytest.mark.slow
def test_the_errors_are_within_their_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main([str(PUBLISHED)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] >= 45
    for measure in ("travel_time_mae_points", "co2_mae_points"):
        assert set(report[measure]) == {"speed", "demand", "road_diet"}
    assert report["travel_time_mae_points"]["speed"] <= 1.5
    assert report["travel_time_mae_points"]["demand"] <= 1.5
    assert report["travel_time_mae_points"]["road_diet"] <= 3
    assert report["co2_mae_points"]["speed"] <= 1
    assert report["co2_mae_points"]["demand"] <= 1
    assert report["co2_mae_points"]["road_diet"] <= 3
    assert report["idling_mae_points"] <= 0.3
    assert report["idling_mae_s"] <= 0.3
    assert report["vehicle_count_max_error"] <= 1
    assert report["sign_accuracy"] == 1


@pytest.mark.slow
def test_calibration_searches_from_the_present_constants(tmp_path: Path) -> None:
    header = (
        "speed_factor,demand_factor,lanes_txt,priority_txt,family,s_average_idling_time_s,"
        "s_total_vehicles,p_travel_time_change_pct,p_co2_emissions_change_pct,"
        "p_idling_time_change_pct"
    )
    row = "0.5,1.0,,1,speed+priority,1.0,134,60.0,-20.0,-93.1"
    (tmp_path / "parsed.csv").write_text(f"{header}\n{row}\n")
    rows = read_published(tmp_path)
    workplace = Workplace(tmp_path / "cache", 60, None)
    found = search(rows, [0], 8, workplace)
    assert any(getattr(found, name) != getattr(CORRIDOR, name) for name in FREE)
    assert loss(found, rows, [0], workplace) < loss(CORRIDOR, rows, [0], workplace)
