"""Periods of a schedule: moments, seeds, which are owed; and the history of what they ended as."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.cli.services import prefect_yaml
from flows.params import load_params
from flows.project import find_project
from flows.refresh.periods import (
    RefreshRecord,
    fires,
    last_fire,
    moment_of,
    name_of,
    owed,
    page,
    reasons_of,
    rows_of,
    seed_of,
    trend,
    with_rows,
)
from flows.refresh.refresh import refresh_params
from flows.sections import RefreshBudget, RefreshParams
from simulrag.errors import InputError
from simulrag.metrics.headline import Change

WEEKLY = RefreshParams(cron="0 3 * * 1")
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)  # a Thursday


def test_a_period_begins_when_the_cron_fires() -> None:
    assert name_of(last_fire(WEEKLY, NOW)) == "2026-11-23T0300Z"
    on_time = datetime(2026, 11, 23, 3, tzinfo=UTC)
    assert last_fire(WEEKLY, on_time) == on_time
    yearly = RefreshParams(cron="0 0 29 2 *")
    assert name_of(last_fire(yearly, NOW)) == "2024-02-29T0000Z"


def test_clocks_that_are_put_forward_move_the_moment_and_not_the_count() -> None:
    berlin = RefreshParams(cron="0 3 * * *", timezone="Europe/Berlin")
    begin, end = datetime(2026, 3, 27, 12, tzinfo=UTC), datetime(2026, 3, 30, 12, tzinfo=UTC)
    names = [name_of(moment) for moment in fires(berlin, begin, end)]
    assert names == ["2026-03-28T0200Z", "2026-03-29T0100Z", "2026-03-30T0100Z"]


def test_a_seed_is_the_periods_own_for_ever() -> None:
    assert seed_of("2026-11-23T0300Z", 20261) == 2021171763
    seeds = {seed_of(f"2026-11-{day:02d}T0300Z", 20261) for day in range(1, 31)}
    assert len(seeds) == 30
    assert seed_of("2026-11-23T0300Z", 1) != seed_of("2026-11-23T0300Z", 2)


def test_of_what_was_missed_the_latest_is_made_up() -> None:
    params = RefreshParams(cron="0 3 * * 1")
    assert owed(params, "2026-11-02T0300Z", NOW) == "2026-11-23T0300Z"
    assert owed(params, "2026-11-23T0300Z", NOW) is None
    assert owed(params, None, NOW) is None


@pytest.mark.parametrize("change", [{"cron": "61 3 * * 1"}, {"timezone": "Mars/Olympus"}])
def test_a_wrong_schedule_is_the_users_mistake(change: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"operations\.refresh"):
        last_fire(RefreshParams.model_validate(change), NOW)


def test_a_period_is_named_in_one_way() -> None:
    assert name_of(moment_of("2026-11-23T0300Z")) == "2026-11-23T0300Z"
    with pytest.raises(
        InputError, match="'last Monday' is not a period; write it like 2026-11-23T0300Z"
    ):
        moment_of("last Monday")


def test_prefect_yaml_is_what_the_parameters_say() -> None:
    project = find_project()
    params = load_params(project.params).operations.refresh
    assert (project.root / "prefect.yaml").read_text() == prefect_yaml(params)


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


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_period_has_one_row_a_domain_however_often_it_ran(tmp_path: Path) -> None:
    (tmp_path / "urban.json").write_text(json.dumps({"auroc": 0.6, "f1": None}))
    regressed = record("2026-11-16T0300Z", status="regressed", changes=(DROP,))
    text = ""
    for one in (record("2026-11-16T0300Z"), record("2026-11-09T0300Z"), regressed):
        text = with_rows(text, one.period, rows_of(one, tmp_path))
    found = rows(text)
    assert [(r["period"], r["status"]) for r in found] == [
        ("2026-11-09T0300Z", "completed"),
        ("2026-11-16T0300Z", "regressed"),
    ]
    assert (found[1]["auroc"], found[1]["f1"], found[1]["drops"]) == ("0.6", "", "auroc")
    assert with_rows(text, regressed.period, rows_of(regressed, tmp_path)) == text


def test_the_first_page_shows_the_metrics_of_every_domain(tmp_path: Path) -> None:
    (tmp_path / "urban.json").write_text(json.dumps({"auroc": 0.6, "f1": None}))
    (tmp_path / "climate.json").write_text(json.dumps({"auroc": 0.7, "f1": 0.5}))
    first = record("2026-11-16T0300Z", domains=("urban", "climate"))
    text = page(first, rows_of(first, tmp_path))
    assert "| metric | urban | climate |" in text
    assert "| auroc | 0.6 | 0.7 |" in text
    assert "| f1 | undefined | 0.5 |" in text


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        (["0.6"], ""),
        (["0.6", ""], ""),
        (["0.6", "0.8", "0.75"], "| urban | auroc | ▁█▆ | 0.6 | 0.8 |"),
        (["1.0"] * 40, f"| urban | auroc | {'▁' * 26} | 1 | 1 |"),
    ],
)
def test_metrics_of_several_periods_have_a_bar_each(values: list[str], bars: str) -> None:
    columns = with_rows("", "", []).strip().split(",")
    told = [dict.fromkeys(columns, "") | {"domain": "urban", "auroc": v} for v in values]
    assert trend(told).splitlines()[2:] == ([bars] if bars else [])


def test_the_page_names_the_drop_and_how_it_was_tested() -> None:
    text = page(record("2026-11-16T0300Z", changes=(DROP,), reasons=reasons_of([DROP])), [])
    assert "urban: auroc fell from 0.9 to 0.6" in text
    assert "| urban | auroc | 0.9 | 0.6 | -0.3 (-0.4 to -0.2) | 0.001 | 0.005 | yes |" in text
    assert "independent" in text


def test_a_refreshs_budget_counts_from_its_day() -> None:
    params = load_params(find_project().params)
    budget = params.operations.refresh.model_copy(update={"budget": RefreshBudget(usd=5)})
    values = refresh_params(params.with_operations(refresh=budget), "2026-11-23T0300Z")
    assert values["operations.budget.usd"] == 5
    assert values["operations.budget.since"] == "2026-11-23"
    assert list(refresh_params(params, "2026-11-23T0300Z")) == ["benchmark.seed"]
