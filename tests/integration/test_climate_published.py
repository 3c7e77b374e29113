"""The climate simulator against the published records, where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulators.base import ArgumentError
from simulators.climate.validate import main, read_published

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "official" / "climate"
HEADER = "i,kind,name,coord_src,lat,lon,ssp,hy,fy,co2,ch4,so2,bc,hist,base,ghg,aer,diff,gdiff"
ROW = (
    "3,hist_vs_ghg,Hagerstown,x,39.6401,-77.7217,ssp126,2011.0,2074,"
    "30.94,-49.05,,,11.82,,12.18,,0.36,"
)


@pytest.mark.skipif(
    not (PUBLISHED / "parsed.csv").is_file(), reason="the published records are not on this machine"
)
def test_the_errors_are_within_their_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(PUBLISHED)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n"] >= 300
    assert report["absolute_mae_degc"] <= 0.85
    assert report["past_to_projection_sign_accuracy"] >= 0.95
    assert report["change_sign_accuracy"] >= 0.8  # aerosol cases disagree: see the docs
    assert report["resolved_cities_share"] >= 0.7


def folder(tmp_path: Path, *lines: str) -> Path:
    (tmp_path / "parsed.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_folder_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder(tmp_path, HEADER, ROW, ROW.replace("3,", "4,", 1)))]) == 0
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


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((HEADER,), "no rows"),
        (("name,lat", "x,1"), "lacks the columns"),
        ((HEADER, ROW.replace("39.6401", "north")), "line 2"),
    ],
)
def test_wrong_folders(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        read_published(folder(tmp_path, *lines))


def test_a_missing_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "cannot be read" in capsys.readouterr().err
