"""RunAgreement of two runs, on cases worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.cli.verdicts import agreement as command
from simulrag.errors import InputError
from simulrag.metrics.run_agreement import agreements, partition_agreement
from simulrag.records import Answer, Claim
from tests.making import answer, claim, failed


def test_partitions_that_are_alike_in_another_order_agree() -> None:
    assert partition_agreement([["a", "b"], ["c"]], [["c"], ["b", "a"]]) == 1.0


def test_the_index_of_two_partitions_worked_out_by_hand() -> None:
    # Pairs together: ab, cd in the one, ab, cd, ce, de in the other, of 10; both: 2.
    # Expected by chance 2 * 4 / 10 = 0.8; (2 - 0.8) / ((2 + 4) / 2 - 0.8) = 6/11.
    one, two = [["a", "b"], ["c", "d"], ["e"]], [["a", "b"], ["c", "d", "e"]]
    assert partition_agreement(one, two) == pytest.approx(6 / 11)


def test_partitions_of_different_items_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="different items"):
        partition_agreement([["a"]], [["b"]])


def merged(*groups: tuple[int, ...]) -> list[Claim]:
    """Claims of three answers with one claim each, by the answers that they came from."""
    return [Claim(text=f"c{g}", sources=tuple((a, 0) for a in g)) for g in groups]


def figures(one: list[Answer], two: list[Answer]) -> dict[str, tuple[float | None, int]]:
    return {item.name: (item.value, item.n) for item in agreements(one, two)}


def test_merging_is_compared_where_the_answers_were_taken_apart_alike() -> None:
    sets = {"answer_claims": (("x",), ("y",), ("z",))}
    other = {"answer_claims": (("x",), ("y",), ("w",))}
    one = [
        answer("q1", merged((0, 1), (2,)), **sets),
        answer("q2", merged((0,), (1,), (2,)), **sets),
        answer("q3", merged((0, 1, 2)), **sets),
    ]
    two = [
        answer("q3", merged((0, 1, 2)), **other),
        answer("q2", merged((0,), (1,), (2,)), **sets),
        answer("q1", merged((0, 2), (1,)), **sets),
    ]
    found = figures(one, two)
    # q1: one pair each, none in both: (0 - 1/3) / (1 - 1/3) = -1/2; q2: alike.
    assert found["merging_adjusted_rand"] == (pytest.approx(0.25), 2)
    assert found["merging_identical"] == (0.5, 2)


def test_judgements_are_compared_on_claims_of_the_same_text() -> None:
    one = [
        answer(
            "q1",
            [
                claim("A is 1.", boundary=True, status="aligned"),
                claim("B is 1.", boundary=False, status="contradicted", updated="B is 2."),
                claim("C is 1.", boundary=True, status="contradicted", updated="C is 2."),
                claim("D is 1.", boundary=True, status=None),
                claim("Only here.", boundary=True, status="aligned"),
            ],
        ),
        failed("q2"),
    ]
    two = [
        answer(
            "q1",
            [
                claim("a is  1.", boundary=True, status="indeterminate"),
                claim("B is 1.", boundary=False, status="contradicted", updated="b is 2."),
                claim("C is 1.", boundary=False, status="contradicted", updated="C is 3."),
                claim("D is 1.", boundary=None, status="aligned"),
            ],
        ),
        answer("q2", [claim("A is 1.")]),
    ]
    found = figures(one, two)
    assert found["boundary_same"] == (pytest.approx(2 / 3), 3)
    # Observed 2/3; expected (2/3)(1/3) + (1/3)(2/3) = 4/9; (2/3 - 4/9) / (5/9) = 2/5.
    assert found["boundary_kappa"] == (pytest.approx(0.4), 3)
    assert found["verdict_same"] == (pytest.approx(2 / 3), 3)
    assert found["correction_same"] == (0.5, 2)


def test_nothing_to_compare_has_no_value() -> None:
    found = figures([answer("q", [])], [answer("q", [])])
    assert {value for value, _ in found.values()} == {None}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    file.write_text(answer("q", [claim("A."), claim("B.", boundary=False)]).model_dump_json())
    other.write_text(answer("else", []).model_dump_json())
    command(file, file)
    lines = {item["name"]: item for item in map(json.loads, capsys.readouterr().out.splitlines())}
    same = {"name": "boundary_same", "value": 1.0, "unit": "share of claims", "n": 2}
    assert lines["boundary_same"] == same
    with pytest.raises(InputError, match="share no question"):
        command(file, other)
