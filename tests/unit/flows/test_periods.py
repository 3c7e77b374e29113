"""Periods of a schedule: their moments, their seeds, and which are owed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from flows.params import load_params
from flows.project import find_project
from flows.refresh.periods import fires, last_fire, moment_of, name_of, owed, seed_of
from flows.refresh.serve import prefect_yaml
from flows.sections import RefreshParams
from simulrag.errors import InputError

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
