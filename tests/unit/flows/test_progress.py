"""How far a stage is, in words, in a bar, and a line a minute."""

from __future__ import annotations

import asyncio
import io
import re
import sys
import time

import pytest

from flows.watch import progress
from flows.watch.progress import (
    Metered,
    Progress,
    duration,
    planned,
    planned_calls,
    shown,
)
from flows.watch.tracking import Tracker


def running(**given: int) -> Progress:
    """A stage that has worked for a minute: 20 calls made, 180 stored before."""
    began_s = time.monotonic() - 60
    return Progress(
        meter=lambda: Metered(20, 180, "0.41 of 5 USD"),
        began_s=began_s,
        since=(began_s, 0),
        **given,
    )


@pytest.mark.parametrize(
    ("given", "words", "share"),
    [
        (
            {"planned": 1000, "done": 3, "total": 30},
            "200 of about 1,000 calls (180 cached, 20 made), 3 of 30 steps, 0.41 of 5 USD, "
            "about 40 min left",
            0.2,
        ),
        (  # nobody planned: by the questions
            {"done": 10, "total": 30},
            "200 calls (180 cached, 20 made), 10 of 30 steps, 0.41 of 5 USD, about 2 min left",
            1 / 3,
        ),
        (  # more than was planned
            {"planned": 150, "done": 10, "total": 30},
            "200 calls (180 cached, 20 made), 10 of 30 steps, 0.41 of 5 USD",
            1.0,
        ),
    ],
)
def test_words(given: dict[str, int], words: str, share: float) -> None:
    found = running(**given)
    assert found.words().replace("about 120 s", "about 2 min") == words
    assert found.share == pytest.approx(share)
    assert found.words(ended=True).endswith(", 60 s")


def test_the_pace_is_that_of_calls_which_are_made() -> None:
    made = 0
    found = Progress(
        planned=1000, meter=lambda: Metered(made, 500), began_s=time.monotonic() - 3600
    )
    assert "left" not in found.words()
    made = 1
    assert "left" not in found.words()  # from here on
    time.sleep(0.05)
    made = 11
    assert re.search(r"about [2-9] s left", found.words())


def test_a_stage_without_a_model_says_its_steps() -> None:
    assert Progress(done=2, total=3).words() == "2 of 3 steps"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (89, "89 s"), (100, "2 min"), (8400, "2 h 20 min"), (360_000, "4 days 4 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
async def test_it_moves_and_ends_also_after_an_error(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_S", 0.01)
    monkeypatch.setattr(progress, "BAR_S", 0.01)
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    found = running(planned=1000)

    async def interrupted() -> None:
        async with shown("answer-urban", found):
            await asyncio.sleep(0.2)
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await interrupted()
    said = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert said.count("answer-urban") > 1
    assert re.search(r"200 of about\s+1,000 calls", said)
    last = said.splitlines()[-1]
    assert "answer-urban: 200 calls (180 cached, 20 made), 0.41 of 5 USD, 6" in last


def test_what_was_planned_reaches_the_stages_and_no_further() -> None:
    with planned({"answer@urban": (180, 1000)}):
        assert planned_calls("answer@urban") == (180, 1000)
        assert planned_calls("label@urban") == (0, 0)
    assert planned_calls("answer@urban") == (0, 0)


def test_what_is_expected_covers_each_pass_and_counts_none_twice() -> None:
    tracker = Tracker()
    tracker.expect(4)  # both passes, said ahead
    for _ in range(2):
        tracker.expect(2)
        tracker.advance()
        tracker.advance()
    assert (tracker.progress.done, tracker.progress.total) == (4, 4)
    tracker.expect(3)  # one that nobody could say ahead
    assert tracker.progress.total == 7
