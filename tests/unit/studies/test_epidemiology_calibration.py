"""The calibration on the mean field."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from simulators.epidemiology.disease import DISEASE
from simulators.epidemiology.places import load_places
from studies.epidemiology.calibrate import FREE, main, search, summary
from studies.epidemiology.validate import Published

CODES = load_places().codes
QUERY = Published(
    states=("Ohio", "Utah"),
    places=(CODES.index("OH"), CODES.index("UT")),
    start=date(2022, 10, 1),
    r0=2.2,
    season="moderate",
    immunity_percent=20,
    metric="prevalence",
    peak=300,
    weeks=9,
    trend="rapid growth",
    cumulative=20000,
)


def test_a_search_finds_the_constant_that_made_the_records() -> None:
    made = replace(DISEASE, severity=1.0)
    seen = []
    for r0 in (1.8, 2.2, 2.8):
        truth = summary(replace(QUERY, r0=r0), made)
        seen.append(
            replace(
                QUERY,
                r0=r0,
                peak=truth.peak_median,
                weeks=truth.peak_day / 7,
                trend=truth.trend,
                cumulative=truth.cumulative_median,
            )
        )
    found = search(seen, 60)
    assert abs(np.log(found.severity)) < abs(np.log(DISEASE.severity)) / 2
    assert found.latent_days == DISEASE.latent_days


def test_the_command_prints_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f'"Ohio, Utah",2022-10-01,{r0},moderate,20.0,prevalence,300,9,rapid growth,20000'
        for r0 in (2.0, 2.2, 2.4, 2.6)
    ]
    header = "states,start,R0,season,imm,metric,peak,weeks,trend,cum"
    (tmp_path / "parsed.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    assert main([str(tmp_path), "--evaluations", "10"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["constants"]) == set(FREE)
    assert report["errors"]["n"] == 4
    assert main([str(tmp_path), "--evaluations", "8", "--split", "--seed", "1"]) == 0
    halves = json.loads(capsys.readouterr().out)
    assert [half["unseen"]["n"] for half in halves] == [2, 2]
    assert main([str(tmp_path / "absent")]) == 2
