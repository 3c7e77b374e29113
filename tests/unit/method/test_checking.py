"""Verdicts by arithmetic: corrections, units, and final texts."""

from __future__ import annotations

import pytest

from simulators.base import Spread, Tool, ToolModel, measured
from simulrag.method.checking import Outputs, Rule, check_claim, check_claims
from simulrag.method.paper import write
from simulrag.method.reading import ClaimReading, readable_runs
from simulrag.method.units import converter
from simulrag.records import Selection, Verdict
from simulrag.testing import ScriptedModel
from tests.making import answer, claim, evidence, line
from tests.unit.method.conftest import PAPER


class Given(ToolModel):
    limit: float


class Returned(ToolModel):
    time_s: float = measured("s", "Time of a trip.")
    time_low_s: float
    time_high_s: float
    time_change_percent: float = measured("%", "Change of the time.")
    trend: str = "up"


TOOL = Tool(
    "run", "Runs.", Given, Returned, "", {"time_s": Spread(0.9, "time_low_s", "time_high_s")}
)


def outputs(*times: tuple[float, float, float], change: float = -8.5) -> Outputs:
    runs = []
    for place, (time, low, high) in enumerate(times):
        values = {"time_s": time, "time_low_s": low, "time_high_s": high}
        more = {"time_change_percent": change, "trend": "up"}
        runs.append(evidence("The run.", {**values, **more}, tool="run", limit=place))
    return Outputs(runs, readable_runs(runs, {"run": TOOL}), {"run": TOOL})


RUNS = outputs((100, 90, 115), (80, 76, 84))


def read(**said: object) -> ClaimReading:
    return ClaimReading.model_validate({"kind": "number", "output": "time_s", "run": 1, **said})


@pytest.mark.parametrize(
    ("text", "reading", "by", "shown"),
    [
        ("It takes 130 s.", read(value="130", unit="s"), "range", "It takes 100 (R 90 to 115) s."),
        ("It takes 130 s.", read(value="130", unit="s"), "point", "It takes 100 s."),
        (
            "130 of 130 s.",
            read(value="130", unit="s"),
            "point",
            'Time of a trip (run {"limit": 0})',
        ),
        ("It takes 1,130 s, not 130.5.", read(value="130"), "point", "Time of a trip"),
        (
            "It rises by 8.5 %.",
            read(value="8.5", direction="rises", output="time_change_percent"),
            "range",
            "Change of the time (",
        ),
        (
            "It rises.",
            read(kind="direction", direction="rises", output="time_change_percent"),
            "point",
            'Change of the time (run {"limit": 0}): -8.5 %',
        ),
        (
            "Down.",
            read(kind="class", class_word="down", output="trend"),
            "range",
            'trend (run {"limit": 0}): up',
        ),
    ],
)
def test_corrections(text: str, reading: ClaimReading, by: Rule, shown: str) -> None:
    verdict = check_claim(text, reading, RUNS, by)
    assert verdict.status == "contradicted"
    assert (verdict.updated_claim or "").startswith(shown.replace("R ", "90 % range "))


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (read(output=None, run=None), "no single output"),
        (read(kind="judgement"), "a judgement is not among"),
        (read(kind="class", class_word="long"), "a class is not among"),
        (read(value="long ago"), "no number"),
        (read(value="100", unit="kg"), "its unit 'kg' is none of time_s"),
        (read(kind="direction", direction="falls"), "a level and has no direction"),
        (read(kind="class", output="trend"), "no word"),
        (
            read(kind="direction", direction="same", output="time_change_percent"),
            "how small a change",
        ),
    ],
)
def test_what_the_outputs_do_not_decide_says_why(reading: ClaimReading, reason: str) -> None:
    verdict = check_claim("C.", reading, RUNS, "range")
    assert verdict.status == "indeterminate"
    assert reason in (verdict.reason or "")


def test_a_change_in_percent_of_nothing_is_undecided() -> None:
    reading = read(value="30", unit="%", direction="falls", run=1, against=2)
    verdict = check_claim("C.", reading, outputs((5, 4, 6), (0, 0, 0)), "range")
    assert "has no change in percent" in (verdict.reason or "")


@pytest.mark.parametrize(
    ("claimed", "given", "difference", "value", "expected"),
    [
        (None, "s", False, 90, 90),
        ("minutes", "s", False, 90, 1.5),
        ("percentage points", "%", False, 3, 3),
        ("°F", "degC", False, 20, 68),
        ("°F", "degC", True, 10, 18),
        ("K", "degC", True, 1.5, 1.5),
        ("degrees", "degC", True, 2, 2),
        ("admissions a day", "people", False, 70, 70),
        ("percent", "people", False, 70, None),
        ("kg", "s", False, 1, None),
    ],
)
def test_units(
    claimed: str | None, given: str, difference: bool, value: float, expected: float | None
) -> None:
    convert = converter(claimed, given, difference=difference)
    assert (None if convert is None else convert(value)) == pytest.approx(expected)


async def test_final_texts_say_value_range_and_what_was_not_checked() -> None:
    claims = ["It takes 110 s.", "It takes 130 s.", "It is fun.", "It is blue."]
    said = [read(value="110"), read(value="130"), read(kind="judgement"), read(kind="other")]
    replies = [{"index": at, **one.model_dump()} for at, one in enumerate(said)]
    verdicts = await check_claims(
        "Q?",
        claims,
        RUNS.evidence,
        {"run": TOOL},
        ScriptedModel({"claims": replies}),
        by="range",
        claims_per_call=4,
    )
    checked = [claim(text, verdict=verdict) for text, verdict in zip(claims, verdicts, strict=True)]
    unchecked = [claim(text, status=None) for text in claims]
    choice = Selection(line=line("simulrag", 1, 75, 0.0), selected=(0, 1, 2))
    for by, shown in (
        (
            "range",
            [
                "It takes 110 s. (simulator: 100 (90 % range 90 to 115) s)",
                "It takes 100 (90 % range 90 to 115) s.",
                "It is fun. (not checked)",
                "It is blue. (not checked)",
            ],
        ),
        ("model", ["It takes 110 s.", "It takes 130 s.", "It is fun.", "It is blue."]),
    ):
        settings, ask = PAPER.model_copy(update={"verify_by": by}), ScriptedModel("Text.")
        given = answer("q", checked if by == "range" else unchecked)
        await write("Q?", given, choice, settings, ask)
        assert ask.asked[0]["claims"] == shown


def test_a_model_s_verdict_is_written_as_before() -> None:
    assert Verdict(status="aligned").model_dump_json() == (
        '{"status":"aligned","updated_claim":null,"reason":null}'
    )
    found = Verdict(status="aligned", found="1 s")
    assert Verdict.model_validate_json(found.model_dump_json()) == found
