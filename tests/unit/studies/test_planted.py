"""Planted errors: the arithmetic that plants them, and what counts as found and corrected."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.files import read_records
from simulrag.method.numbers import numbers
from simulrag.questions.records import Ask, Template
from simulrag.records import Audit, AuditedClaim, Question
from studies.audits import AuditedText, wilson
from studies.planted.__main__ import UNTOUCHED, Read, counts, is_corrected
from studies.planted.make import FOLDER, PlantedText
from studies.planted.plants import LEAST, MOST, SETS, Kind, Plant, draw, moved_value, write
from studies.planted.sites import DOWN, UP, Reading, class_keys, read_text
from tests.making import evidence, question

CLASSES = [("a small change", 0.0), ("a moderate change", 10.0), ("a large change", 20.0)]
TEXT = (
    "The time rises by 22.50 %, from 80.00 s to 98.00 s, a large change. "
    "The fuel changes by -12.31 %, which is moderate. About 40.50 % of it is due to stops. "
    "The time alone falls by 3.25 % with the other lane, and people like that."
)


def asked(output: str) -> dict[str, object]:
    classes = [{"name": name, "from_magnitude": start} for name, start in CLASSES]
    named = {"output": output, "scale": "value", "words": output, "answers": [], "better": "lower"}
    return {"run": 1, "against": 0, "classes": classes, **named}


@pytest.fixture(scope="module")
def reading() -> Reading:
    outputs = {
        "time_change_percent": 22.5,
        "fuel_change_percent": -12.31,
        "baseline_time_s": 80.0,
        "scenario_time_s": 98.0,
    }
    other = {"time_change_percent": -3.25, "fuel_change_percent": -14.4, "scenario_time_s": 77.44}
    runs = [evidence(outputs=outputs), evidence(outputs=other, speed_factor=0.5)]
    template = Template(
        template_id="made",
        situation="A lane is built.",
        placeholders=[],
        choices=[],
        runs=[{"tool": "compare_with_baseline", "words": "it", "uses": [], "fixed": []}],
        asks=[asked("time_change_percent"), asked("fuel_change_percent")],
    )
    made: Question = question(text="What changes by 12 %?", evidence=runs[:1])
    assert isinstance(template.asks[0], Ask)
    return read_text(TEXT, made, template, runs)


def planted(reading: Reading, kind: Kind) -> list[tuple[str, ...]]:
    return [tuple(change.after for change in edit) for edit in kind(reading, Random(1))]


@given(st.floats(0.01, 5e4), st.integers(0, 4), st.booleans(), st.integers(0, 2**32))
def test_a_moved_value_is_7_to_40_percent_away_at_its_digits(
    size: float, decimals: int, negative: bool, seed: int
) -> None:
    value = round(-size if negative else size, decimals)
    if not value:
        return
    moved = moved_value(value, decimals, Random(seed))
    if moved is not None:
        assert LEAST <= abs(moved / value - 1) <= MOST
        assert moved == round(moved, decimals)
        assert moved * value > 0


def test_numbers_that_runs_give_are_sites_and_no_others(reading: Reading) -> None:
    written = [site.sign + site.digits for site in reading.sites]
    assert written == ["22.50", "80.00", "98.00", "-12.31", "3.25"]
    assert [site.known.runs for site in reading.sites] == [(1,), (1,), (1,), (1,), (2,)]


def test_each_kind_plants_what_it_says(reading: Reading) -> None:
    plain, harder = SETS["plain"], SETS["harder"]
    assert planted(reading, plain["sign"]) == [("+12.31",)]
    assert planted(reading, plain["direction"]) == [("falls",), ("rises",)]
    assert planted(reading, plain["class"])[1] in [("small",), ("large",)]
    assert planted(reading, plain["other run"]) == [("77.44",), ("80.00",), ("-14.40",)]
    assert planted(reading, harder["rounded value of another run"]) == [("77.4",), ("77.4",)]
    assert planted(reading, harder["class at its limit"]) == [("moderate",), ("small",)]
    rngs = [Random(seed) for seed in range(9)]
    gaps = [c for rng in rngs for (c,) in harder["difference of right parts"](reading, rng)]
    assert {change.before for change in gaps} == {"22.50"}
    assert all(float(change.after) >= 20 for change in gaps)  # its class stays right
    assert {len(edit) for edit in planted(reading, harder["agreeing"])} == {2}


def test_a_moved_part_agrees_with_its_moved_difference(reading: Reading) -> None:
    edits = [
        edit
        for seed in range(20)
        for edit in SETS["harder"]["agreeing"](reading, Random(seed))
        if re.search(r"\d", edit[1].after)
    ]
    assert edits
    for own, gap in edits:
        assert own.before == "98.00"
        assert 100 * (float(own.after) / 80 - 1) == pytest.approx(float(gap.after), abs=0.006)


@given(st.integers(0, 2**32))
def test_what_is_planted_can_be_taken_out_again(reading_seed: int) -> None:
    rows = read_records(FOLDER / "plants.jsonl", PlantedText)
    item = rows[reading_seed % len(rows)]
    text = item.text
    for plant in reversed(item.plants):
        end = plant.start + len(plant.after)
        assert text[plant.start : end] == plant.after
        text = text[: plant.start] + plant.before + text[end:]
    texts = {text.name: text for text in read_records(FOLDER / "texts.jsonl", AuditedText)}
    assert text == texts[item.question_id].text


def test_no_planted_number_is_right() -> None:
    for item in read_records(FOLDER / "plants.jsonl", PlantedText):
        for plant in item.plants:
            if not re.search(r"\d", plant.after):
                assert plant.before != plant.after
                continue
            (after,), (before,) = (numbers(w.lstrip("+-")) for w in (plant.after, plant.before))
            assert before.states(plant.value)
            turned = plant.kind == "sign" and plant.after[0] != plant.before[0]
            assert turned or not after.states(plant.value), plant


def test_a_draw_takes_two_values_and_writes_them(reading: Reading) -> None:
    for seed in range(20):
        changes = draw(reading, SETS["plain"], Counter(), Random(seed))
        text, plants = write(TEXT, changes)
        assert len(plants) == 2
        assert len({plant.value for plant in plants}) == 2
        assert all(text[p.start : p.start + len(p.after)] == p.after for p in plants)


def test_classes_are_told_by_what_they_do_not_share() -> None:
    names = ["hardly any change", "a moderate change", "a large change"]
    assert class_keys(names) == ("hardly any", "moderate", "large")
    assert class_keys(["early", "mid-season"]) == ("early", "mid-season")
    assert len(UP) == len(DOWN) == len({*UP, *DOWN}) / 2


def plant(kind: str, before: str, after: str, value: float, start: int = 0) -> Plant:
    return Plant(
        kind=kind, start=start, before=before, after=after, runs=(1,), output="x", value=value
    )


@pytest.mark.parametrize(
    ("error", "correction", "right"),
    [
        (plant("moved", "12.31", "14.02", -12.31), "It falls by 12.31 %.", True),
        (plant("moved", "12.31", "14.02", -12.31), "It falls by 12 %.", False),
        (plant("sign", "-12.31", "+12.31", -12.31), "It changes by -12.31 %.", True),
        (plant("sign", "-12.31", "+12.31", -12.31), "It falls by 12.31 %.", True),
        (plant("sign", "-12.31", "+12.31", -12.31), "It changes by +12.31 %.", False),
        (plant("direction", "falls", "rises", -12.31), "It falls by 12.31 %.", True),
        (plant("direction", "falls", "rises", -12.31), "It rises by 12.31 %.", False),
        (plant("class", "a large", "hardly any", 22.5), "A large change.", True),
        (plant("class", "large", "small", 22.5), "The change is small.", False),
    ],
)
def test_a_correction_says_the_right_value(error: Plant, correction: str, right: bool) -> None:
    assert is_corrected(error, correction) is right


def test_errors_are_found_where_they_stand_and_alarms_elsewhere() -> None:
    text = "It rises by 14.02 %. It costs 5 s. It is good."
    claims = [
        AuditedClaim(quote="rises by 14.02 %", claim="a", status="wrong", correction="12.31 %"),
        AuditedClaim(quote="costs 5 s", claim="b", status="wrong", correction="4 s"),
        AuditedClaim(quote="It is good", claim="c", status="judgement"),
    ]
    error = plant("moved", "12.31", "14.02", 12.31, text.index("14.02"))
    spoilt = Read("q", "urban", "plain", Audit(text=text, claims=tuple(claims)), (error,))
    clean = Read("q", "urban", UNTOUCHED, Audit(text=text, claims=tuple(claims[1:])))
    rows = {row[:4]: row[4:] for row in counts([clean, spoilt])}
    assert rows["found", "plain", "moved", "all"] == (1, 1)
    assert rows["corrected", "plain", "all", "urban"] == (1, 1)
    assert rows["false alarms", "plain", "all", "all"] == (1, 2)
    assert rows["false alarms", UNTOUCHED, "all", "urban"] == (1, 2)
    assert rows["found", "harder", "all", "all"] == (0, 0)


def test_wilson_is_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for count, of in ((0, 7), (5, 7), (85, 85)):
        expected = proportion.proportion_confint(count, of, method="wilson")
        assert wilson(count, of) == pytest.approx(expected, abs=1e-6)
