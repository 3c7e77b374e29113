"""Reading the published records of urban traffic."""

from __future__ import annotations

from pathlib import Path

from studies.urban.validate import read_published

HEADER = (
    "i,speed_factor,demand_factor,lanes_txt,priority_txt,family,s_average_idling_time_s,"
    "s_total_vehicles,p_travel_time_change_pct,p_co2_emissions_change_pct,p_idling_time_change_pct"
)
ROWS = (
    "2,0.77,1.0,,1,speed+priority,1.0,134,-11.04,-33.27,-93.1",
    "3,0.77,1.0,,1,speed+priority,1.0,134,-11.04,-33.27,-93.1",
    "4,0.6,1.0,1.0,0,road_diet+speed,1.01,134,16.83,-31.6,-93.03",
    "5,1.0,1.22,,1,demand+priority,1.0,163,-27.08,-10.36,-93.1",
)


def folder(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "parsed.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_rows_of_one_setting_count_once(tmp_path: Path) -> None:
    published = read_published(folder(tmp_path, HEADER, *ROWS))
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
    row = ROWS[2].replace("0.6,1.0,1.0", "0.6,1.0,2to1")
    assert read_published(folder(tmp_path, HEADER, row))[0].arguments["lanes"] == 1
