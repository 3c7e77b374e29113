"""The published records of seasons: their rows, their shifted names, and errors by them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.places import load_places
from simulators.epidemiology.summary import Summary
from studies.epidemiology.validate import (
    burden_by_r0,
    errors,
    fading,
    main,
    pooled,
    published_places,
    read_published,
)

HEADER = "i,states,start,R0,season,imm,metric,peak,lo,hi,peak_date,weeks,trend,growth,cum"
ROWS = (
    '2,"New Hampshire, New Jersey",2022-10-05,2.4,no,30.0,prevalence,488.5,342.0,650.0,'
    "2022-11-21,6.7,rapid growth,5800.0,18024.5",
    '3,"New Hampshire, New Jersey",2022-10-05,2.4,no,30.0,prevalence,488.5,342.0,650.0,'
    "2022-11-21,6.7,rapid growth,5800.0,18024.5",
    '8,"Idaho, Ohio",2022-10-06,2.0,high,60.0,incidence,20.0,14.0,200.0,2023-02-13,18.6,'
    "declining,-58.3,372.5",
)


def folder(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "parsed.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_rows_of_one_query_count_once(tmp_path: Path) -> None:
    published = read_published(folder(tmp_path, HEADER, *ROWS))
    assert [one.states for one in published] == [("New Hampshire", "New Jersey"), ("Idaho", "Ohio")]
    assert [one.high_60 for one in published] == [False, True]


def test_published_names_are_shifted_from_florida_on() -> None:
    names = load_places().names

    def shown(name: str) -> str:
        return names[published_places([name])[0]]

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
    published = read_published(folder(tmp_path, HEADER, *(row.format(*case) for case in cases)))
    assert [fading(one, DISEASE) for one in published] == [True, True, False, False, False]
    assert burden_by_r0(published) == {"prevalence": -1, "incidence": 1}
    assert burden_by_r0(published[:1]) == {"prevalence": None, "incidence": None}


def test_errors_are_logarithms_weeks_and_shares(tmp_path: Path) -> None:
    published = read_published(folder(tmp_path, HEADER, *ROWS))
    ours = (Summary(488.5, 1, 2, 42, 800, 18024.5), Summary(0.0, 0, 0, 0, 0.0, 372.5))
    report = errors(list(zip(published, ours, strict=True)))
    assert report == {
        "log_peak_mae": 1.8444,
        "weeks_mae_big": 0.7,
        "trend_accuracy": 0.5,
        "log_cumulative_mae": 0.0,
        "n": 2,
        "n_big": 1,
    }


def test_the_command_prints_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder(tmp_path, HEADER, *ROWS)), "--members", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["all"]["n"] == 2
    assert report["excluding_high_60"]["n"] == 1
    assert report["excluding_high_60"]["log_peak_mae"] < 1
    assert report["excluding_high_60"]["trend_accuracy"] == 1
    assert main([str(tmp_path), "--members", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err


def test_pooled_quantiles_are_of_a_typical_place() -> None:
    series = np.zeros((2, 40, 2), dtype=np.int64)
    series[:, 5, :] = [[10, 30], [20, 40]]
    summary = pooled(series)
    assert summary.peak_median == 25
    assert summary.peak_day == 5
    assert summary.cumulative_median == 25
    assert (summary.peak_lower_90, summary.peak_upper_90) == (11.5, 38.5)
