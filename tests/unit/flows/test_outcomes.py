"""How a run tells a stage that waits from one that failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.cli.main import code_of, ended
from flows.pipeline import OUTCOMES, gathered, note
from simulators.base import ArgumentError, RunError
from simulrag.errors import BudgetSpent, CallsPending, EnvironmentFault, InputError

PENDING = CallsPending("3 calls wait")


@pytest.mark.parametrize(
    ("ends", "pending"),
    [
        ([("a", 0, None), ("b", 75, PENDING)], True),
        ([("a", 0, None)], False),
        ([("a", 75, PENDING), ("b", 1, BudgetSpent("no more"))], False),
        ([("a", 75, PENDING), ("b", None, None)], False),
    ],
    ids=["one waits", "none waits", "another failed", "another was killed"],
)
def test_only_pending(ends: list[tuple[str, int | None, Exception | None]], pending: bool) -> None:
    with gathered() as outcomes:
        for stage, code, error in ends:
            note(stage)
            if code is not None:
                note(stage, code, error)
        assert outcomes.only_pending() is pending
        assert outcomes.all_ended() is all(code is not None for _, code, _ in ends)
        named = [(found.stage, found.error) for found in outcomes.errors()]
    assert named == [(stage, type(error).__name__) for stage, _, error in ends if error]


def test_nobody_wants_to_know(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(OUTCOMES, raising=False)
    note("answer@urban", 0)
    assert list(tmp_path.iterdir()) == []
    with gathered():
        assert OUTCOMES in os.environ
    assert OUTCOMES not in os.environ


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("a wrong\nword"), 2, "error: a wrong word\n"),
        (ArgumentError("speed_factor"), 2, "error: speed_factor\n"),
        (RunError("gridlock"), 1, "error: gridlock\n"),
        (PENDING, 75, "3 calls wait\n"),
        (
            KeyboardInterrupt(),
            130,
            "error: interrupted; every finished call is kept, run the same command again\n",
        ),
    ],
)
def test_an_end_is_one_line_and_a_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise error

    assert ended(command) == code
    assert capsys.readouterr().err == line


def test_a_fault_of_ours_keeps_its_traceback() -> None:
    def command() -> None:
        raise ZeroDivisionError

    assert code_of(ZeroDivisionError()) is None
    with pytest.raises(ZeroDivisionError):
        ended(command)


def test_ctrl_c_is_said_by_the_run_and_not_by_its_stages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.delenv(OUTCOMES, raising=False)
    assert ended(interrupted) == 130
    assert "run the same command again" in capsys.readouterr().err
    monkeypatch.setenv(OUTCOMES, "outcomes.jsonl")  # a stage that a run started
    assert ended(interrupted) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("place", ["/dev/full", "nowhere/outcomes.jsonl", "."])
def test_outcomes_that_cannot_be_written(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(OUTCOMES, place)
    with pytest.raises(EnvironmentFault, match=f"cannot write {place}"):
        note("answer@urban")
    note("answer@urban", 2, InputError("which the caller tells"))
