"""States on a shelf come back as they were put there, and leave nothing on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flows.files import write_records
from flows.stages.shelf import Shelf
from flows.stages.work import State
from simulrag.errors import EnvironmentFault
from simulrag.records import Answer, Claim, Failure, Question, Usage, Verdict


def state(number: int) -> State:
    name = f"q{number}"
    claim = Claim(
        text="a\u2028\u00e9 \U0001f600 'x'",
        sources=((0, 1), (2, 0)),
        support=(True, False),
        confidence={"closeness": 0.1 + 0.2, "degree": 1.0},
        boundary=None if number % 2 else True,
        verdict=Verdict(status="contradicted", updated_claim="b"),
    )
    return State(
        question=Question(
            question_id=name, domain="urban", text="?", reference_answer="", scenario_id="s"
        ),
        answer=Answer(
            question_id=name,
            domain="urban",
            claims=(claim,) * number,
            usage={"merge": Usage(calls=number)},
            failure=Failure(step="merge", reason="no") if number == 2 else None,
        ),
        waiting=frozenset({"merge"}),
        first_sample=(1, 4),
    )


def test_what_is_put_back_is_what_is_there(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        for number in range(5):
            shelf.add(state(number))
        shelf.put(1, state(30))
        shelf.put(3, state(0))
        expected = [state(n) for n in (0, 30, 2, 0, 4)]
        assert [shelf.get(index) for index in range(len(shelf))] == expected
        assert list(shelf.answers()) == [one.answer for one in expected]
        assert os.listdir(tmp_path) == []  # noqa: PTH208 a killed process leaves nothing either


def test_an_answer_has_the_same_line_after_a_rest(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        shelf.add(state(3))
        (answer,) = shelf.answers()
    assert answer.model_dump_json() == state(3).answer.model_dump_json()


def test_a_file_whose_records_fail_half_way_is_not_there(tmp_path: Path) -> None:
    """The out of a stage is the old one or the whole new one."""
    path = tmp_path / "answers.jsonl"
    path.write_text("old\n")

    def records() -> object:
        yield state(1).answer
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_records(path, records())  # type: ignore[arg-type]
    assert path.read_text() == "old\n"
    assert [item.name for item in tmp_path.iterdir()] == ["answers.jsonl"]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        shelf.add(state(1))
        shelf._file.close()
        shelf._file = Path("/dev/full").open("wb")  # type: ignore[assignment] # noqa: SIM115
        with pytest.raises(EnvironmentFault, match="free space"):
            shelf.add(state(2))
