"""Periods of the schedule: each begins when the cron fires and is named by that moment in UTC.

Prefect's own schedule tells the moments, so that the server and this module agree on every one,
also where clocks are put forward or back.
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

from flows.sections import RefreshParams
from simulrag.errors import InputError

_LOOK_BACK = (
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=8),
    timedelta(days=32),
    timedelta(days=367),
    timedelta(days=4 * 366 + 1),
)
_MOST = 1000
_FORM = "%Y-%m-%dT%H%MZ"


def fires(params: RefreshParams, after: datetime, until: datetime) -> list[datetime]:
    """The moments in (after, until], aware, in order. Raises InputError for a wrong schedule."""
    from prefect.server.schemas.schedules import CronSchedule

    try:
        schedule = CronSchedule(cron=params.cron, timezone=params.timezone)
    except ValueError as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(f"operations.refresh.cron or timezone is wrong: {text}") from None
    dates = asyncio.run(schedule.get_dates(n=_MOST, start=after, end=until))
    return [moment for moment in (date.astimezone(UTC) for date in dates) if moment > after]


def last_fire(params: RefreshParams, now: datetime) -> datetime:
    """The beginning of the period that ``now`` lies in, which may be ``now`` itself."""
    for window in _LOOK_BACK:
        found = fires(params, now - window, now)
        if found:
            return found[-1]
    raise InputError(f"operations.refresh.cron: '{params.cron}' has not fired for four years")


def name_of(moment: datetime) -> str:
    """'2026-11-23T0300Z': names sort as moments do, and stand in files and messages."""
    return moment.astimezone(UTC).strftime(_FORM)


def moment_of(name: str) -> datetime:
    """The beginning of a period. Raises InputError for anything but a name."""
    try:
        return datetime.strptime(name, _FORM).replace(tzinfo=UTC)
    except ValueError:
        raise InputError(
            f"'{name}' is not a period; write it like 2026-11-23T0300Z (UTC)"
        ) from None


def seed_of(name: str, seed: int) -> int:
    """The seed of a period's questions, from its name and params.yaml's ``benchmark.seed``.

    The same period has the same questions whenever it runs. 31 bits: any YAML reader's integer.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def owed(params: RefreshParams, last_done: str | None, now: datetime) -> str | None:
    """The period to make up: the latest, where it has begun after the last one done.

    Nothing is owed where no refresh was ever done: the first refresh is the first that fires.
    """
    latest = name_of(last_fire(params, now))
    return latest if last_done is not None and latest > last_done else None
