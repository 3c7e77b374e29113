"""Published records: their rows, errors by them, and files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulators.base import ArgumentError
from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.places import load_places
from simulators.epidemiology.summary import Summary
from studies.climate import validate as climate
from studies.epidemiology import validate as epidemiology
from studies.urban import validate as urban

URBAN = (
    "i,speed_factor,demand_factor,lanes_txt,priority_txt,family,s_average_idling_time_s,"
    "s_total_vehicles,p_travel_time_change_pct,p_co2_emissions_change_pct,p_idling_time_change_pct"
)
SETTING = (
    "2,0.77,1.0,,1,speed+priority,1.0,134,-11.04,-33.27,-93.1",
    "3,0.77,1.0,,1,speed+priority,1.0,134,-11.04,-33.27,-93.1",
    "4,0.6,1.0,1.0,0,road_diet+speed,1.01,134,16.83,-31.6,-93.03",
    "5,1.0,1.22,,1,demand+priority,1.0,163,-27.08,-10.36,-93.1",
)
SEASONS = "i,states,start,R0,season,imm,metric,peak,lo,hi,peak_date,weeks,trend,growth,cum"
SEASON = (
    '2,"New Hampshire, New Jersey",2022-10-05,2.4,no,30.0,prevalence,488.5,342.0,650.0,'
    "2022-11-21,6.7,rapid growth,5800.0,18024.5",
    '3,"New Hampshire, New Jersey",2022-10-05,2.4,no,30.0,prevalence,488.5,342.0,650.0,'
    "2022-11-21,6.7,rapid growth,5800.0,18024.5",
    '8,"Idaho, Ohio",2022-10-06,2.0,high,60.0,incidence,20.0,14.0,200.0,2023-02-13,18.6,'
    "declining,-58.3,372.5",
)
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "official" / "climate"
CLIMATE = "i,kind,name,coord_src,lat,lon,ssp,hy,fy,co2,ch4,so2,bc,hist,base,ghg,aer,diff,gdiff"
PLACE = (
    "3,hist_vs_ghg,Hagerstown,x,39.6401,-77.7217,ssp126,2011.0,2074,"
    "30.94,-49.05,,,11.82,,12.18,,0.36,"
)


def folder(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "parsed.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_rows_of_one_setting_count_once(tmp_path: Path) -> None:
    published = urban.read_published(folder(tmp_path, URBAN, *SETTING))
    assert sorted(one.family for one in published) == ["demand", "road_diet", "speed"]
    diet = next(one for one in published if one.family == "road_diet")
    assert diet.arguments == {
        "speed_factor": 0.6,
        "demand_factor": 1.0,
        "lanes": 1,
        "use_priority_junction": False,
    }
    assert diet.values["co2_percent"] == -31.6


def test_lanes_may_be_written_2to1(tmp_path: Path) -> None:
    row = SETTING[2].replace("0.6,1.0,1.0", "0.6,1.0,2to1")
    assert urban.read_published(folder(tmp_path, URBAN, row))[0].arguments["lanes"] == 1


def test_rows_of_one_query_count_once(tmp_path: Path) -> None:
    published = epidemiology.read_published(folder(tmp_path, SEASONS, *SEASON))
    assert [one.states for one in published] == [("New Hampshire", "New Jersey"), ("Idaho", "Ohio")]
    assert [one.high_60 for one in published] == [False, True]


def test_published_names_are_shifted_from_florida_on() -> None:
    names = load_places().names

    def shown(name: str) -> str:
        return names[epidemiology.published_places([name])[0]]

    assert shown("Alabama") == "Alabama"
    assert shown("Delaware") == "Delaware"
    assert shown("Florida") == "District of Columbia"
    assert shown("Georgia") == "Florida"
    assert shown("Wyoming") == "Wisconsin"
    assert shown("District of Columbia") == "Wyoming"


def test_fading_prevalence_and_how_its_burden_follows_r0(tmp_path: Path) -> None:
    row = '1,"Idaho, Ohio",2022-10-06,{},no,{},{},9,1,20,2022-10-09,0.4,stable,0,{}'
    cases = [
        (1.75, 60, "prevalence", 900),
        (2.2, 60, "prevalence", 300),
        (2.2, 10, "prevalence", 9),
    ]
    cases += [(1.75, 60, "incidence", 30), (2.2, 60, "incidence", 90)]
    published = epidemiology.read_published(
        folder(tmp_path, SEASONS, *(row.format(*case) for case in cases))
    )
    assert [epidemiology.fading(one, DISEASE) for one in published] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert epidemiology.burden_by_r0(published) == {"prevalence": -1, "incidence": 1}
    assert epidemiology.burden_by_r0(published[:1]) == {"prevalence": None, "incidence": None}


def test_errors_are_logarithms_weeks_and_shares(tmp_path: Path) -> None:
    published = epidemiology.read_published(folder(tmp_path, SEASONS, *SEASON))
    ours = (Summary(488.5, 1, 2, 42, 800, 18024.5), Summary(0.0, 0, 0, 0, 0.0, 372.5))
    report = epidemiology.errors(list(zip(published, ours, strict=True)))
    assert report == {
        "log_peak_mae": 1.8444,
        "weeks_mae_big": 0.7,
        "trend_accuracy": 0.5,
        "log_cumulative_mae": 0.0,
        "n": 2,
        "n_big": 1,
    }


def test_the_command_prints_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert epidemiology.main([str(folder(tmp_path, SEASONS, *SEASON)), "--members", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["all"]["n"] == 2
    assert report["excluding_high_60"]["n"] == 1
    assert report["excluding_high_60"]["log_peak_mae"] < 1
    assert report["excluding_high_60"]["trend_accuracy"] == 1
    assert epidemiology.main([str(tmp_path), "--members", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err


def test_pooled_quantiles_are_of_a_typical_place() -> None:
    series = np.zeros((2, 40, 2), dtype=np.int64)
    series[:, 5, :] = [[10, 30], [20, 40]]
    summary = epidemiology.pooled(series)
    assert summary.peak_median == 25
    assert summary.peak_day == 5
    assert summary.cumulative_median == 25
    assert (summary.peak_lower_90, summary.peak_upper_90) == (11.5, 38.5)


@pytest.mark.skipif(
    not (PUBLISHED / "parsed.csv").is_file(), reason="the published records are not on this machine"
)
@pytest.mark.parametrize(
    ("version", "absolute", "change"), [("recorded", 0.75, 1.0), ("published-like", 0.6, 0.5)]
)
def test_the_errors_are_within_their_targets(
    version: str, absolute: float, change: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert climate.main([str(PUBLISHED), "--version", version]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] >= 300
    assert report["absolute_mae_degc"] <= absolute
    assert report["change_mae_degc"] <= change
    assert report["change_sign_accuracy"] >= 0.95
    assert report["all_sign_accuracy"] >= 0.8  # aerosol cases disagree: see the docs
    evidence = report["aerosol_evidence"]
    assert evidence["pairs_of_different_changes"] == evidence["pairs_with_one_temperature"] > 10
    assert evidence["global_mean_changes"] == evidence["global_mean_changes_of_zero"] > 10
    assert report["resolved_cities_share"] >= 0.7
    assert report["namesake_cities_share"] <= 0.03


def test_a_folder_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert climate.main([str(folder(tmp_path, CLIMATE, PLACE, PLACE.replace("3,", "4,", 1)))]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] == 1
    assert set(report) >= {
        "absolute_mae_degc",
        "change_mae_degc",
        "change_sign_accuracy",
        "resolved_cities_share",
    }
    assert report["resolved_cities_share"] == 1
    assert report["intervention_sign_accuracy"] is None


def test_a_response_to_the_aerosol_change_is_seen(tmp_path: Path) -> None:
    aerosol = "base_vs_aerosol,Pau,x,43.3,-0.37,ssp245,,2038,,,{so2},5,,10.88,,{aer},,{whole}"
    lines = [
        "1," + aerosol.format(so2=-10, aer="10.92", whole="0.00"),
        "2," + aerosol.format(so2=10, aer="10.92", whole=""),
        "3," + aerosol.format(so2=20, aer="10.70", whole="-0.10"),
    ]
    assert climate.aerosol_evidence(climate.read_published(folder(tmp_path, CLIMATE, *lines))) == {
        "pairs_of_different_changes": 3,
        "pairs_with_one_temperature": 1,
        "global_mean_changes": 2,
        "global_mean_changes_of_zero": 1,
    }


@pytest.mark.parametrize(
    ("read", "lines", "says"),
    [
        (urban, (URBAN,), "has no rows"),
        (urban, (URBAN.replace("family", "kind"), *SETTING), "lacks the columns family"),
        (urban, (URBAN, SETTING[0].replace("0.77", "fast")), "line 2"),
        (urban, (URBAN, SETTING[0].replace("speed+priority", "weather")), "weather"),
        (urban, (URBAN, SETTING[2].replace("1.0,1.0,0", "1.0,some,0")), "lanes_txt"),
        (climate, ("name,lat", "x,1"), "lacks the columns"),
        (climate, (CLIMATE, PLACE.replace("39.6401", "north")), "line 2"),
        (epidemiology, ("i,states", "1,Ohio"), "lacks the columns start"),
        (epidemiology, (SEASONS, SEASON[0].replace("Jersey", "Jersy")), "line 2: .*New Jersey"),
        (epidemiology, (SEASONS, SEASON[0].replace(",no,", ",some,")), "'some' is not a season"),
        (epidemiology, (SEASONS, SEASON[0].replace(",prevalence,", ",deaths,")), "'deaths' is not"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    read: Any, lines: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ArgumentError, match=says):
        read.read_published(folder(tmp_path, *lines))
