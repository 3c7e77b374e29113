"""The extrapolation of costs: lines through measurements, and the table made of them."""

from __future__ import annotations

import pytest

from benchmarks.scale import MODELS, STAGES, at, lines, table

POINTS = {
    count: {
        "calls": 100.0 * count + 7,
        "input_tokens": 40_000.0 * count,
        "simulator_runs": 1.0 * count,
        "cache_bytes": 4e5 * count,
        "export_bytes": 2e4 * count,
        "out_bytes": 3e4 * count,
        **{f"{stage}_cpu": 0.36 * count for stage in STAGES},
        **{f"{stage}_peak": 1e8 + 1e6 * count for stage in STAGES},
    }
    for count in (10, 30, 60)
}


def test_a_line_is_found_and_followed() -> None:
    slope, intercept = lines(POINTS)["calls"]
    assert (slope, intercept) == (pytest.approx(100), pytest.approx(7))
    assert at((slope, intercept), 1_000_000) == pytest.approx(100_000_007)
    assert at((-1.0, 5.0), 10) == 0.0


def test_the_table_follows_from_the_slopes() -> None:
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:5]]
        for cells in (line.split("|") for line in table(lines(POINTS)).splitlines()[2:])
    }
    assert rows["model calls"] == ["1,000,000", "10,000,000", "100,000,000"]
    assert rows["call cache, GB"] == ["4", "40", "400"]
    assert rows["memory of `answer`, GB"] == ["10", "100", "1,000"]
    assert rows["own CPU, hours"] == ["6", "60", "600"]
    # 10^6 calls of 3 s, 16 at a time
    assert rows["waiting for the model, 16 in flight, hours"][0] == "52"
    assert sum(model in title for title in rows for _, model in MODELS) == len(MODELS)
