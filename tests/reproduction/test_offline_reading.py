"""How well the offline model reads: tool calls, labels and corrections, against known answers.

The published questions come with the evidence as a table, so the right arguments and the right
numbers are known without any rule of ours. The paraphrases are hand-written questions and claims
that no template rendered; a third of them ("held") was never looked at while rules were tuned.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simulrag.models.offline.judging import judge
from simulrag.models.offline.tool_calls import tool_calls
from simulrag.models.offline.verification import verify

ROOT = Path(__file__).parents[2]
OFFICIAL = ROOT.parent / "shared" / "official"
PARAPHRASES = ROOT / "tests" / "data" / "offline_paraphrases.json"
REGISTERS = ROOT / "tests" / "data" / "offline_paraphrases_registers.json"
DOMAINS = ("urban", "climate", "epidemiology")
needs_official = pytest.mark.skipif(
    not OFFICIAL.is_dir(), reason="the published benchmark's part is not beside the project"
)

URBAN_ARGUMENTS = """
| name | type | unit | range | default | meaning |
| --- | --- | --- | --- | --- | --- |
| speed_factor | number | - | 0.3 to 1.5 | 1.0 | speed limits as a multiple of the baseline's |
| demand_factor | number | - | 0.3 to 1.5 | 1.0 | traffic demand as a multiple of the baseline's |
| lanes | integer | lanes | 1 to 3 | 2 | lanes of the corridor in each direction |
| use_priority_junction | boolean | - | - | false | a priority junction instead of the signal |
| seed | integer | - | 0 to | 0 | random seed |
| replicates | integer | - | 1 to 20 | 1 | independent repetitions |
"""
URBAN_OUTPUTS = """
| name | type | unit | meaning |
| --- | --- | --- | --- |
| average_travel_time_s | number | s | mean travel time |
| average_idling_time_s | number | s | mean time at a standstill, idling |
| total_co2_mg | number | mg | total CO2 |
"""
URBAN_HANDBOOK = f"""# Corridor

## Tools

### run_scenario

One run of the corridor under the interventions.

Arguments:
{URBAN_ARGUMENTS}
Outputs:
{URBAN_OUTPUTS}
### compare_with_baseline

The interventions compared with the baseline without them.

Arguments:
{URBAN_ARGUMENTS}
Outputs:
{URBAN_OUTPUTS}| travel_time_change_percent | number | percent | change of the mean travel time |
| idling_change_percent | number | percent | change of the mean idling time |
| co2_change_percent | number | percent | change of total CO2 |
"""
URBAN_DEFAULTS = {
    "speed_factor": 1.0,
    "demand_factor": 1.0,
    "lanes": 2,
    "use_priority_junction": False,
}


def handbook(domain: str) -> str:
    """The handbook that the tool calls are read against."""
    if domain == "urban":
        return URBAN_HANDBOOK
    return (ROOT / "simulators" / "replay" / "handbooks" / f"{domain}.md").read_text()


@dataclass(frozen=True)
class Row:
    """One published question with its evidence and the evidence as a table row."""

    question: str
    reference: str
    evidence: str
    table: dict[str, str]


def rows(domain: str) -> list[Row]:
    """The table's n-th row belongs to the n-th question (column i counts held-back rows too)."""
    folder = OFFICIAL / domain
    questions = json.loads((folder / "questions.json").read_text())
    evidence = json.loads((folder / "simulator_evidence.json").read_text())
    with (folder / "parsed.csv").open(newline="") as handle:
        table = list(csv.DictReader(handle))
    assert len(questions) == len(evidence) == len(table)
    assert all(a["question"] == b["question"] for a, b in zip(questions, evidence, strict=True))
    return [
        Row(q["question"], q["reference_answer"], e["derived_quantitative_answer"], t)
        for q, e, t in zip(questions, evidence, table, strict=True)
    ]


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def expected_calls(domain: str, row: dict[str, str]) -> list[dict[str, Any]]:
    """The calls that the table's row stands for (it does not record land-or-sea look-ups)."""
    if domain == "urban":
        return [
            _call(
                "compare_with_baseline",
                speed_factor=float(row["speed_factor"]),
                demand_factor=float(row["demand_factor"]),
                lanes=int(float(row["lanes_txt"])) if row["lanes_txt"] else 2,
                use_priority_junction=row["priority_txt"] == "1",
            )
        ]
    if domain == "epidemiology":
        return [
            _call(
                "forecast",
                states=row["states"].split(", "),
                start_date=row["start"],
                r0=float(row["R0"]),
                seasonality="none" if row["season"] == "no" else row["season"],
                prior_immunity_percent=float(row["imm"]),
                metric=row["metric"],
            )
        ]
    name, kind = row["name"], row["kind"]
    future = {"city_name": name, "year": int(float(row["fy"])), "scenario": row["ssp"]}
    calls = []
    if kind.startswith("hist"):
        calls.append(_call("history_temperature", city_name=name, year=int(float(row["hy"]))))
    if kind.startswith("base"):
        calls.append(_call("future_temperature", **future))
    if row["co2"]:
        deltas = {"delta_CO2": float(row["co2"]), "delta_CH4": float(row["ch4"])}
        calls.append(_call("diy_greenhouse", **future, **deltas))
    if row["so2"]:
        tool = "diff_diy_aerosol_mean" if "global" in kind else "diy_aerosol"
        deltas = {"delta_SO2": float(row["so2"]), "delta_BC": float(row["bc"])}
        point = [[float(row["lon"]), float(row["lat"])]]
        calls.append(_call(tool, **future, **deltas, modify_points=point))
    return calls


def normal(domain: str, calls: list[Any]) -> list[str]:
    """Calls with their defaults written out, comparable and in a fixed order."""
    result = []
    for call in calls:
        arguments = dict(call["arguments"])
        if domain == "urban":
            arguments = {**URBAN_DEFAULTS, **arguments}
        if "metric" in arguments:
            arguments["metric"] = arguments["metric"].split()[-1]
        numbers = {k: float(v) if type(v) is int else v for k, v in arguments.items()}
        result.append(json.dumps([call["tool"], numbers], sort_keys=True))
    return sorted(result)


def call_errors(domain: str) -> list[tuple[Row, list[str], list[str]]]:
    """The published questions whose calls are not exactly right."""
    text = handbook(domain)
    wrong = []
    for row in rows(domain):
        calls = [c for c in tool_calls(row.question, text, []) if c["tool"] != "is_land_or_sea"]
        got, right = normal(domain, calls), normal(domain, expected_calls(domain, row.table))
        if got != right:
            wrong.append((row, got, right))
    return wrong


@needs_official
@pytest.mark.parametrize("domain", DOMAINS)
def test_tool_and_every_argument(domain: str) -> None:
    accuracy = 1 - len(call_errors(domain)) / len(rows(domain))
    assert accuracy >= 0.9, f"{domain}: {accuracy:.3f}"


# --- claims: the wordings are ours, the numbers the table's -----------------------------------

CHANGE_WORDINGS = (
    "{Thing} {verb} by {size}%.",
    "A {size}% {noun} in {thing} is to be expected.",
    "{Thing} would see {article} {noun} of about {size} percent.",
)
UP_WORDS = {"verb": "increases", "noun": "increase", "article": "an"}
DOWN_WORDS = {"verb": "decreases", "noun": "decrease", "article": "a"}
URBAN_THINGS = {
    "p_travel_time_change_pct": "average travel time",
    "p_idling_time_change_pct": "the average idling time of vehicles",
    "p_co2_emissions_change_pct": "total CO2 emissions",
}
URBAN_WORDS = {
    "p_travel_time_change_pct": r"travel time|journey",
    "p_idling_time_change_pct": r"idling|idle",
    "p_co2_emissions_change_pct": r"CO2|carbon",
}


@dataclass(frozen=True)
class Case:
    """A claim, the number it carries and whether it is right (None: the text says nothing)."""

    claim: str
    right: bool | None
    truth: float | None = None
    decimals: int = 2


def change_claims(
    thing: str, value: float, decimals: int, right: bool | None, truth: float
) -> Iterator[Case]:
    words = UP_WORDS if value >= 0 else DOWN_WORDS
    for wording in CHANGE_WORDINGS:
        text = wording.format(
            thing=thing,
            Thing=thing[0].upper() + thing[1:],
            size=f"{abs(value):.{decimals}f}",
            **words,
        )
        yield Case(text, right, truth, decimals)


def wrong_number(value: float) -> float:
    """A number that no rounding turns into the value; its sign is kept."""
    return round(value * 1.23 + (0.37 if value >= 0 else -0.37), 2)


def urban_cases(row: dict[str, str], text: str, reference: bool) -> Iterator[Case]:
    for column, thing in URBAN_THINGS.items():
        value = float(row[column])
        plain = f"{abs(value):.2f}".rstrip("0").rstrip(".")
        stated = (
            bool(re.search(rf"(?<![\d.]){re.escape(plain)}0*\s?%", text)) if reference else True
        )
        if stated:
            yield from change_claims(thing, value, 2, True, value)
            yield from change_claims(thing, round(value, 1), 1, True, value)
            yield from change_claims(thing, wrong_number(value), 2, False, value)
            yield from change_claims(thing, -value, 2, False, value)
        elif not re.search(URBAN_WORDS[column], text, re.I):
            yield from change_claims(thing, value, 2, None, value)
    if not re.search("fuel", text):
        yield from change_claims("fuel consumption", -12.5, 1, None, -12.5)


def level_cases(wordings: tuple[str, ...], value: float, decimals: int) -> Iterator[Case]:
    wrong = wrong_number(value)
    for wording in wordings:
        yield Case(wording.format(f"{value:.{decimals}f}"), True, value, decimals)
        yield Case(wording.format(f"{wrong:.{decimals}f}"), False, value, decimals)


def climate_cases(row: dict[str, str], text: str, reference: bool) -> Iterator[Case]:
    name = row["name"]
    if row["hist"] and re.search(rf"(?<![\d.]){re.escape(row['hist'])}0?\s?°C", text):
        year = int(float(row["hy"]))
        wordings = (
            f"In {year} {name} had an average temperature of {{}}°C.",
            f"The historical mean for {name} in {year} stood at {{}} degrees Celsius.",
        )
        yield from level_cases(wordings, float(row["hist"]), 2)
    elif not row["hist"]:
        wrong = f"The historical average temperature of {name} in 1993 was 11.35°C."
        yield Case(wrong, None)
    change = re.search(
        r"(?:temperature|overall|total|projected) (?:change|difference)[^.]{0,80}?(?:is|of) "
        r"(?:an increase of |a decrease of )?(-?\d+\.\d+)°C",
        text,
    )
    if not change or "decrease of" in change[0]:
        return
    value = float(change[1])
    size = f"{abs(value):.2f}"
    kind = "difference" if "difference" in change[0] else "change"
    yield Case(f"The temperature {kind} comes to {value:.2f}°C.", True, value)
    yield Case(f"The temperature {kind} comes to {wrong_number(value):.2f}°C.", False, value)
    if kind == "change" and value > 0:
        yield Case(f"{name} warms by {size}°C in total.", True, value)
        yield Case(f"{name} warms by {abs(wrong_number(value)):.2f}°C in total.", False, value)
        yield Case(f"The projection for {name} is a cooling of {size}°C.", False, value)


def epidemiology_cases(row: dict[str, str], text: str, reference: bool) -> Iterator[Case]:
    metric = row["metric"]
    growth, peak, weeks = float(row["growth"]), float(row["peak"]), float(row["weeks"])

    def stated(value: str, unit: str) -> bool:
        number = re.escape(value.removesuffix(".0")) + r"(?:\.0)?"
        return not reference or bool(re.search(rf"(?<![\d.,]){number}(?!\.?\d){unit}", text))

    if stated(f"{abs(growth)}", r"\s?%") and growth:
        words = UP_WORDS if growth > 0 else DOWN_WORDS
        for value, right in ((growth, True), (wrong_number(growth), False)):
            yield Case(
                f"Over the first four weeks {metric} {words['verb']} by {abs(value):.1f}%.",
                right,
                growth,
                1,
            )
            yield Case(f"The four-week growth is {value:.1f}%.", right, growth, 1)
        turned = DOWN_WORDS if growth > 0 else UP_WORDS
        yield Case(
            f"Over the first four weeks hospital {metric} {turned['verb']} by {abs(growth):.1f}%.",
            False,
            growth,
            1,
        )
    if stated(row["peak"], r"(?!\s?(?:%|weeks))") and re.search(r"peak", text):
        wordings = (
            "The median peak magnitude is {} cases.",
            f"Hospital {metric} tops out at a peak of about {{}} patients.",
        )
        yield from level_cases(wordings, peak, 1)
    if stated(row["weeks"], r"\s+weeks"):
        wordings = (
            "The peak comes {} weeks after the season starts.",
            "It takes roughly {} weeks until the peak is reached.",
        )
        yield from level_cases(wordings, weeks, 1)
    if reference and not re.search("cumulative|total|burden|overall", text, re.I):
        yield Case("The cumulative burden of the season is 4321.0 cases.", None)


CASES = {"urban": urban_cases, "climate": climate_cases, "epidemiology": epidemiology_cases}
LABELS = {True: "true", False: "false", None: "undecided"}


def label_results(domain: str) -> list[tuple[Row, Case, str]]:
    """Every claim about a reference answer's numbers with the label that the rules give."""
    return [
        (row, case, str(judge(row.question, row.reference, case.claim, None)["label"]))
        for row in rows(domain)
        for case in CASES[domain](row.table, row.reference, True)
    ]


@needs_official
@pytest.mark.parametrize("domain", DOMAINS)
def test_labels_of_numeric_claims(domain: str) -> None:
    results = label_results(domain)
    good = sum(label == LABELS[case.right] for _, case, label in results)
    assert good / len(results) >= 0.95, f"{domain}: {good / len(results):.3f} of {len(results)}"


def mended(case: Case, updated: str) -> bool:
    """Whether a corrected claim carries the true number, with its sign or its direction."""
    assert case.truth is not None
    found = [
        float(x.replace(",", "")) for x in re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?", updated)
    ]
    value = next((x for x in found if abs(abs(x) - abs(case.truth)) < 0.006), None)
    if value is None:
        return False
    if case.truth == 0 or re.search(
        "peak|degrees|average temperature|difference|change|growth", updated
    ):
        return value == pytest.approx(case.truth, abs=0.006) or "difference" in updated
    down = bool(re.search(r"decreas|cool|fall", updated))
    return (value < 0) != down if case.truth < 0 else not down and value > 0


def correction_results(domain: str) -> list[tuple[Row, Case, dict[str, Any], bool]]:
    """Every claim about the evidence's numbers with the verdict, and whether it is right."""
    results = []
    for row in rows(domain):
        for case in CASES[domain](row.table, row.evidence, False):
            if case.right is None:
                continue
            reply = verify(row.question, row.evidence, case.claim)
            good = reply["is_included"] is True and reply["should_update"] is not case.right
            if good and not case.right:
                good = mended(case, str(reply["updated_claim"]))
            results.append((row, case, reply, good))
    return results


@needs_official
@pytest.mark.parametrize("domain", DOMAINS)
def test_wrong_numbers_are_corrected_and_right_ones_left(domain: str) -> None:
    results = correction_results(domain)
    wrong = [good for _, case, _, good in results if not case.right]
    right = [good for _, case, _, good in results if case.right]
    assert sum(wrong) / len(wrong) >= 0.9, f"{domain}: {sum(wrong)} of {len(wrong)}"
    assert sum(right) / len(right) >= 0.9, f"{domain}: {sum(right)} of {len(right)}"


# --- paraphrases: hand-written, always run ----------------------------------------------------


def paraphrases(kind: str, domain: str, held: bool) -> list[dict[str, Any]]:
    """One part of the hand-written file."""
    return [
        item for item in json.loads(PARAPHRASES.read_text())[domain][kind] if item["held"] == held
    ]


def paraphrase_calls(domain: str, held: bool) -> list[tuple[str, bool]]:
    text = handbook(domain)
    return [
        (
            item["question"],
            normal(domain, tool_calls(item["question"], text, [])) == normal(domain, item["calls"]),
        )
        for item in paraphrases("questions", domain, held)
    ]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("domain", DOMAINS)
def test_calls_of_paraphrased_questions(domain: str, held: bool) -> None:
    results = paraphrase_calls(domain, held)
    wrong = [question for question, good in results if not good]
    # One slip is what the smaller part (four questions) can carry.
    assert len(wrong) <= (1 if held else 0), wrong


def paraphrase_claims(domain: str, held: bool) -> list[tuple[str, str, Any, bool]]:
    """(task, claim, reply, right) for labels against a reference and verdicts against evidence."""
    results: list[tuple[str, str, Any, bool]] = []
    for item in paraphrases("claims", domain, held):
        claim, question = item["claim"], item["question"]
        if "label" in item:
            reply = judge(question, item["reference"], claim, None)
            results.append(("label", claim, reply, reply["label"] == item["label"]))
        else:
            reply = verify(question, item["evidence"], claim)
            good = str(reply["updated_claim"]) == item["updated"] if item["included"] else True
            good = good and reply["is_included"] is item["included"]
            results.append(("verify", claim, reply, good))
    return results


@pytest.mark.parametrize("held", [False, True])
def test_labels_and_corrections_of_paraphrased_claims(held: bool) -> None:
    results = [result for domain in DOMAINS for result in paraphrase_claims(domain, held)]
    wrong = [(task, claim, reply) for task, claim, reply, good in results if not good]
    assert len(wrong) / len(results) <= (0.34 if held else 0.05), wrong


def register_calls(domain: str, held: bool) -> list[tuple[str, bool]]:
    """Questions in many registers (councillor, newspaper, memo, student, terse), read or not."""
    text = handbook(domain)
    return [
        (
            item["question"],
            normal(domain, tool_calls(item["question"], text, [])) == normal(domain, item["calls"]),
        )
        for item in json.loads(REGISTERS.read_text())[domain]["questions"]
        if item["held"] == held
    ]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("domain", DOMAINS)
def test_calls_of_questions_in_many_registers(domain: str, held: bool) -> None:
    results = register_calls(domain, held)
    wrong = [question for question, good in results if not good]
    # The held part was counted alone: three of seven misread at most.
    assert len(wrong) <= (3 if held else 0), len(wrong) if held else wrong
