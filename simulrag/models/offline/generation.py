"""Benchmark texts: templates from a handbook, questions and references from evidence, claims."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rapidfuzz import fuzz

from simulrag.models.offline.claims import decompose
from simulrag.models.offline.comparison import (
    Found,
    RunText,
    difference,
    difference_lines,
    find_word,
    placed,
    read_runs,
    which_question,
    word_answer,
    word_question,
)
from simulrag.models.offline.sentences import sentences
from simulrag.models.offline.templates import templates
from simulrag.models.offline.wording import capitalised
from simulrag.statements import Quantity, quantities, signed_change, subjects

__all__ = ["benchmark_question", "reference_claims", "templates"]

_OPENINGS = ("What is {words}", "How large is {words}", "What do you expect for {words}")
_CLASS_QUESTIONS = (", and is it {classes}", ", and would it count as {classes}")
_CLOSINGS = (
    "Taken together, is the outcome an improvement overall?",
    "Considering all of this, does the situation improve overall?",
    "Weighing these outcomes, do they amount to an improvement overall?",
)
_UP = ("{noun} {increase} by {number}.", "{noun} {rise} by {number}.")
_DOWN = ("{noun} {decrease} by {number}.", "{noun} {fall} by {number}.")
_CLASSED = (
    "The change in {noun} is {name}.",
    "The change in {noun} counts as {name}.",
    "By the stated thresholds the change in {noun} is {name}.",
)
_UNIT_OF_SUFFIX = {"percent": "percent", "pct": "percent", "degc": "degc", "days": "weeks"}
_WRITTEN = {"percent": "%", "degc": "°C"}
_MARKERS = (re.compile(r"\bbaseline\b", re.I), re.compile(r"\bchange\b", re.I))
_IS_CHANGE = re.compile(r"change|difference|anomaly|growth", re.IGNORECASE)


def benchmark_question(situation: str, asks_json: str, evidence: str) -> dict[str, str]:
    """A question and its reference answer.

    ``asks_json``: a list of ``replies.Ask``. Each value is looked up in ``evidence``; an ask that
    the evidence does not answer is not asked. ValueError where nothing is left to ask.
    """
    asks = json.loads(asks_json)
    runs = read_runs(evidence)
    pick = int(hashlib.sha256(situation.encode()).hexdigest(), 16)
    values = [(ask, _found(ask, runs)) for ask in asks]
    answered = [(ask, found) for ask, found in values if found is not None]
    if not answered:
        raise ValueError("the evidence states none of the asked outputs")
    parts, lines = [situation.strip()], []
    verdicts: list[tuple[str, str]] = []
    for index, (ask, found) in enumerate(answered):
        if isinstance(found, str):
            parts.append(word_question(ask))
            lines.append(word_answer(ask, found))
            continue
        words = [runs[number - 1].words for number in (ask["run"], ask["against"]) if number]
        if _compares(ask):
            parts.append(f"{_ask(ask, found.unit, pick + index)} {which_question(found, words)}")
            lines += difference_lines(
                ask, found, words, _class_name(ask["classes"], abs(found.value))
            )
            continue
        said = ask if ask["against"] or not _asked_twice(ask, asks) else placed(ask, words[0])
        noun = _noun(said["words"])
        parts.append(_ask(said, found.unit, pick + index))
        lines += _answer(said, noun, found, pick + index)
        value = found.value if _changes(ask) else None
        if ask["better"] != "neither" and value:
            good = (value < 0) == (ask["better"] == "lower")
            verdicts.append((noun, "better" if good else "worse"))
    if any(ask["better"] != "neither" for ask in asks):
        parts.append(_CLOSINGS[pick % len(_CLOSINGS)])
        lines.append(_closing(verdicts))
    return {"question": " ".join(parts), "reference_answer": " ".join(lines)}


def _compares(ask: dict[str, Any]) -> bool:
    """Whether an ask sets two runs side by side, not as a change from one to the other."""
    return bool(ask["against"]) and "difference" in ask["words"]


def _changes(ask: dict[str, Any]) -> bool:
    return bool(ask["against"]) or _IS_CHANGE.search(ask["output"]) is not None


def _asked_twice(ask: dict[str, Any], asks: Sequence[dict[str, Any]]) -> bool:
    """Whether the same output is asked of several runs, so that each has to be named."""
    own = [item for item in asks if item["output"] == ask["output"] and not item["against"]]
    return len(own) > 1


def _found(ask: dict[str, Any], runs: Sequence[RunText]) -> Found | str | None:
    """What the runs say: a number, a difference of two, or a word."""
    text = runs[ask["run"] - 1].text
    if ask["answers"]:
        return find_word(ask["answers"], text)
    if not ask["against"]:
        return find_value(ask["output"], ask["words"], text)
    plain = ask["output"].replace("_", " ")
    own = find_value(ask["output"], plain, text)
    other = find_value(ask["output"], plain, runs[ask["against"] - 1].text)
    if own is None:
        return None
    if other is None or (ask["scale"] == "percent" and not other.value):
        return None
    return difference(own, other, ask["scale"])


def find_value(output: str, words: str, evidence: str) -> Found | None:
    """The value of an output in the evidence text, None where no line states it.

    The line is the one that speaks of the same subject (or shares most words); in it the number
    behind "change" counts for a change, else the first of the output's unit.
    """
    # A name's subject counts where the evidence has it: 'peak_blood' may be its highest level.
    wanted = subjects(words) or subjects(output.replace("_", " ")) & subjects(evidence)
    spoken = f"{words} {output.replace('_', ' ')}"
    unit = _UNIT_OF_SUFFIX.get(output.rsplit("_", 1)[-1], output.rsplit("_", 1)[-1])
    unit = "weeks" if output.startswith("weeks_") else unit
    best: tuple[float, Found] | None = None
    for line in (part for row in evidence.splitlines() for part in sentences(row)):
        number = _number_in(line, output, unit, spoken)
        if number is None:
            continue
        shared = 100.0 * len(wanted & subjects(line)) / max(len(wanted), 1)
        score = shared + float(fuzz.token_set_ratio(spoken.lower(), line.lower()))
        if (wanted and not shared) or score < 50:
            continue
        score -= _off_subject(spoken, line)
        if best and score <= best[0]:
            continue
        change = signed_change(line, number) if _IS_CHANGE.search(output) else number.value
        digits = line[number.start : number.end].lstrip("+-−– ")
        best = (score, Found(number.value if change is None else change, digits, number.unit))
    return best[1] if best else None


def _off_subject(spoken: str, line: str) -> int:
    """How much counts against a line that speaks of a baseline or a change and was not asked to."""
    return sum(60 for marker in _MARKERS if marker.search(line) and not marker.search(spoken))


def _number_in(line: str, output: str, unit: str, spoken: str) -> Quantity | None:
    numbers = quantities(line)
    fitting = [n for n in numbers if n.unit == unit]
    if not fitting and unit not in ("percent", "degc", "weeks"):
        other = ("percent", "year", "date", "month_day", "weeks")
        fitting = [n for n in numbers if n.unit not in other or n.unit == unit]
    marker = _IS_CHANGE.search(line)
    if _IS_CHANGE.search(output) and marker:
        behind = [n for n in fitting if n.start > marker.end()]
        fitting = behind or fitting
    return _best_led(line, numbers, fitting, spoken) if fitting else None


def _best_led(
    line: str, numbers: Sequence[Quantity], fitting: Sequence[Quantity], spoken: str
) -> Quantity:
    """The number whose own words share most with ``spoken``: those since a comma or number before.

    The first of several that share as much.
    """
    ends = {number.start: before.unit_end for before, number in pairwise(numbers)}
    wanted = {word[:6] for word in re.findall(r"[a-z]{3,}", spoken.lower())}

    def shared(number: Quantity) -> int:
        lead = line[ends.get(number.start, 0) : number.start].lower().rpartition(", ")[2]
        return len(wanted & {word[:6] for word in re.findall(r"[a-z]{3,}", lead)})

    return max(fitting, key=shared)


def _noun(words: str) -> str:
    pattern = (
        r"^(?:the )?(?:(?:net|relative|percentage|percent) )*"
        r"(?:change|difference) (?:in|of) (?:the )?"
    )
    return re.sub(pattern, "", words.strip(), flags=re.IGNORECASE)


def _ask(ask: dict[str, Any], unit: str, pick: int) -> str:
    words = ask["words"] if ask["words"].startswith(("the ", "a ")) else f"the {ask['words']}"
    opening = _OPENINGS[pick % len(_OPENINGS)].format(words=words)
    classes = sorted(ask["classes"], key=lambda item: item["from_magnitude"])
    if len(classes) < 2:
        return f"{opening}?"
    sign = _WRITTEN.get(unit, f" {unit}" if unit else "")
    limits = [item["from_magnitude"] for item in classes]
    ranges = [f"under {limits[1]:g}{sign}"]
    ranges += [f"{a:g} to {b:g}{sign}" for a, b in pairwise(limits[1:])]
    ranges.append(f"over {limits[-1]:g}{sign}")
    named = [f"{c['name']} ({span})" for c, span in zip(classes, ranges, strict=True)]
    listed = ", ".join(named[:-1]) + f" or {named[-1]}"
    return f"{opening}{_CLASS_QUESTIONS[pick % len(_CLASS_QUESTIONS)].format(classes=listed)}?"


def _answer(ask: dict[str, Any], noun: str, found: Found, pick: int) -> list[str]:
    unit = _WRITTEN.get(found.unit, f" {found.unit}" if found.unit else "")
    number = f"{found.digits}{unit}"
    name = _class_name(ask["classes"], abs(found.value))
    if not _changes(ask):
        lines = [f"{capitalised(noun)} {'are' if _plural(noun) else 'is'} {found.value:g}{unit}."]
        if found.value >= 0:
            lines = [f"{capitalised(noun)} {'are' if _plural(noun) else 'is'} {number}."]
        return [*lines, f"{capitalised(noun)} would count as {name}."] if name else lines
    if found.value == 0:
        lines = [
            f"{capitalised(noun)} {'stay' if _plural(noun) else 'stays'} unchanged ({number})."
        ]
    else:
        options = _UP if found.value > 0 else _DOWN
        s = "" if _plural(noun) else "s"
        verbs = {verb: verb + s for verb in ("increase", "rise", "decrease", "fall")}
        lines = [
            options[pick % len(options)].format(noun=capitalised(noun), number=number, **verbs)
        ]
    if name:
        lines.append(_CLASSED[pick % len(_CLASSED)].format(noun=noun, name=name))
    return lines


def _class_name(classes: Sequence[dict[str, Any]], magnitude: float) -> str:
    fitting = [item for item in classes if item["from_magnitude"] <= magnitude]
    return str(max(fitting, key=lambda item: item["from_magnitude"])["name"]) if fitting else ""


def _plural(noun: str) -> bool:
    head = re.split(r" (?:of|in|over|with|without|after) ", noun, maxsplit=1)[0]
    return re.search(r"(?<!s)s$", head) is not None


def _closing(verdicts: list[tuple[str, str]]) -> str:
    ways = {way for _, way in verdicts}
    if ways == {"better"}:
        return "Every quantity asked for gets better, so the outcome is an improvement overall."
    if ways == {"worse"}:
        return "Every quantity asked for gets worse, so the outcome is no improvement overall."
    if not verdicts:
        return "Whether this is an improvement overall does not follow from these values."
    good = " and ".join(noun for noun, way in verdicts if way == "better")
    bad = " and ".join(noun for noun, way in verdicts if way == "worse")
    return f"Overall the outcome is mixed: better in {good} but worse in {bad}."


def reference_claims(question: str, reference: str) -> list[dict[str, str]]:
    """All claims of a reference answer; quantitative where a claim states a number of its own."""
    given = {round(q.value, 9) for q in quantities(question)}
    return [
        {"claim": claim, "kind": "quantitative" if _states_number(claim, given) else "qualitative"}
        for claim in decompose(question, reference, None)
    ]


def _states_number(claim: str, given: set[float]) -> bool:
    return any(round(q.value, 9) not in given for q in quantities(claim))
