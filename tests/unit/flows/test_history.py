"""The history of refreshes, and why a refresh ended as it did."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from flows.refresh.history import RefreshRecord, add_rows, file_of, page, reasons_of
from flows.params import Operations, load_params
from flows.project import Project
from flows.stages.reasons import REASONS, listening
from flows.stages.bench import check_coverage, exits
from simulrag.errors import InputError
from simulrag.metrics.drift import Change

DROP = Change(
    domain="urban",
    metric="auroc",
    before=0.9,
    after=0.6,
    difference=-0.3,
    lower_95=-0.4,
    upper_95=-0.2,
    p=0.001,
    p_holm=0.005,
    drop=True,
    reason="",
)


def record(period: str, **changes: object) -> RefreshRecord:
    values = {
        "period": period,
        "status": "completed",
        "seed": 5,
        "source": "a" * 40,
        "domains": ("urban",),
        "compared_with": None,
    }
    return RefreshRecord.model_validate(values | changes)


def rows(project: Project) -> list[dict[str, str]]:
    with file_of(project).open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_a_period_has_one_row_a_domain_however_often_it_ran(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.results.metrics.mkdir(parents=True)
    (project.results.metrics / "urban.json").write_text(json.dumps({"auroc": 0.6, "f1": None}))
    add_rows(project, record("2026-11-16T0300Z", status="failed"))
    add_rows(project, record("2026-11-09T0300Z"))
    add_rows(project, record("2026-11-16T0300Z", status="regressed", changes=(DROP,)))
    found = rows(project)
    assert [(r["period"], r["status"]) for r in found] == [
        ("2026-11-09T0300Z", "completed"),
        ("2026-11-16T0300Z", "regressed"),
    ]
    assert (found[1]["auroc"], found[1]["f1"], found[1]["drops"]) == ("0.6", "", "auroc")
    before = file_of(project).read_bytes()
    add_rows(project, record("2026-11-16T0300Z", status="regressed", changes=(DROP,)))
    assert file_of(project).read_bytes() == before


def test_a_refresh_that_failed_has_no_metrics(tmp_path: Path) -> None:
    """What lies in data/metrics is then the last refresh's."""
    project = Project(tmp_path)
    project.results.metrics.mkdir(parents=True)
    (project.results.metrics / "urban.json").write_text(json.dumps({"auroc": 0.6}))
    add_rows(project, record("2026-11-16T0300Z", status="out_of_budget"))
    assert rows(project)[0]["auroc"] == ""


def test_another_table_is_not_overwritten(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.results.metrics.mkdir(parents=True)
    file_of(project).write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="other columns"):
        add_rows(project, record("2026-11-16T0300Z"))
    assert file_of(project).read_text() == "a,b\n1,2\n"


def test_the_page_names_the_drop_and_how_it_was_tested() -> None:
    text = page(record("2026-11-16T0300Z", changes=(DROP,), reasons=reasons_of([DROP])))
    assert "urban: auroc fell from 0.9 to 0.6" in text
    assert "| urban | auroc | 0.9 | 0.6 | -0.3 (-0.4 to -0.2) | 0.001 | 0.005 | yes |" in text
    assert "independent" in text


def test_a_stage_tells_why_it_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operations: Operations = load_params(Path("params.yaml")).operations
    with listening() as told:
        monkeypatch.setenv(REASONS, told.environment[REASONS])
        code = exits(lambda: check_coverage("answer-urban", 1, 40, operations, "see the outs"))
        (reason,) = told.reasons()
    assert (code, reason.kind) == (1, "CoverageFailed")
    assert "1 of 40" in reason.text
    assert "1 of 40" in capsys.readouterr().err
