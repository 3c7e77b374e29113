"""What the test double reads and writes of a simulator that it knows by its handbook alone.

A template a tool, over its required numbers, with the first of the words where words are required;
claims of one form, "The OUTPUT is NUMBER.", which are
read by that form again. What an evidence says of an output is the number whose own words share
most with the output's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

SET_UP = "What is simulated is the world of the handbook."
_TOOL = re.compile(r"^### (\w+)$", re.M)
_ROW = re.compile(r"^\| (\w+) \| (number|integer)(?: or null)? \| .*\|$", re.M)
_REQUIRED = "| required |"
_WORDS = re.compile(r"^\| (\w+) \| one of ([^,|]+)[^|]*\|.*\|$", re.M)
_LIMITS = re.compile(r"(-?[\d.]+(?:e[+-]?\d+)?) to (-?[\d.]+(?:e[+-]?\d+)?)")
_CALL = re.compile(r"\bA run of (\w+) has ([^?]*?)\. ")
_ARGUMENT = re.compile(r"(\w+) at (-?[\d.]*\d)")
_ASKED = re.compile(r"What is the ([\w ]+) here\?")
_CLAIM = re.compile(r"The ([\w ]+) is (?:about )?(-?\d+\.\d+)\.")
_VALUE = re.compile(r"^(.+) \(run [^)]*\): ([+-]?[\d.]+)[^,]*(?:, (.+))?$")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_NEAR = 0.05
"""The share by which a stated number may differ and still be right."""
_PART = 0.04
"""Of a wide range, the part above its low end that templates draw from."""
_WIDE = 1000.0


class OwnClaim(NamedTuple):
    """A claim of our form: the output in words, and its number as written."""

    about: str
    number: str

    @property
    def text(self) -> str:
        """The claim as a sentence."""
        return f"The {self.about} is about {self.number}."


def own_claim(text: str) -> OwnClaim | None:
    """A sentence read as a claim of our form; None where it is none."""
    match = _CLAIM.fullmatch(text.strip())
    return OwnClaim(match[1], match[2]) if match else None


def own_templates(handbook: str, refused: str = "") -> list[dict[str, Any]]:
    """One template for each tool that has a number to vary and a number to ask for.

    Those that are named in what was ``refused`` give every argument that has a range or a choice.
    """
    _, *parts = _TOOL.split(handbook)
    found = zip(parts[::2], parts[1::2], strict=True)
    made = (
        _template(tool, *text.partition("Outputs:")[::2], refused=refused) for tool, text in found
    )
    return [template for template in made if template]


def own_question(
    situation: str, asks: Sequence[dict[str, Any]], asked: str, evidence: str
) -> tuple[str, str]:
    """A question of a template, and its reference.

    By the values computed for the writer where there are some, else by what the evidence says.
    """
    questions = [f"What is the {ask['words']} here?" for ask in asks]
    values = [match for line in asked.split("\n") if (match := _VALUE.match(line.strip("- ")))]
    stated = [f"The {one[1]} is {_decimal(one[2].lstrip('+'))}." for one in values]
    stated += [f"The {one[1]} counts as {one[3]}." for one in values if one[3]]
    for ask in asks:
        found = None if values else _said_of(ask["words"], evidence)
        stated += (
            [f"The {ask['words']} is {_decimal(found)}."] if found and not ask["answers"] else []
        )
        word = next((word for word in ask["answers"] if word in evidence), None)
        stated += [f"The {ask['words']} counts as {word}."] if word else []
    return " ".join((situation, *questions)), " ".join(stated)


def _decimal(number: str) -> str:
    return number if "." in number else f"{number}.0"


def own_calls(question: str) -> list[dict[str, Any]]:
    """The call behind an ``own_question``; none for any other question."""
    if (match := _CALL.search(question)) is None:
        return []
    arguments = {name: float(value) for name, value in _ARGUMENT.findall(match[2])}
    return [{"tool": match[1], "arguments": arguments}]


def own_answer(question: str, sample: int) -> list[str]:
    """A sample's claims: two of three samples agree on each output, and none knows it."""
    asked = _ASKED.findall(question)
    guesses = [crc32(f"{question} {about}".encode()) % 900 / 10 + 10 for about in asked]
    return [
        OwnClaim(about, f"{guess * (1 + (sample % 3 == 1)):.2f}").text
        for about, guess in zip(asked, guesses, strict=True)
    ]


def own_verdict(claim: OwnClaim, evidence: str) -> dict[str, Any]:
    """Right where its number is near the evidence's, mended to it where not."""
    found = _said_of(claim.about, evidence)
    if found is None:
        return {"is_included": False, "should_update": False, "updated_claim": ""}
    near = abs(float(claim.number) - float(found)) <= _NEAR * abs(float(found))
    mended = "" if near else f"The {claim.about} is {_decimal(found)}."
    return {"is_included": True, "should_update": not near, "updated_claim": mended}


def _template(tool: str, arguments: str, outputs: str, *, refused: str) -> dict[str, Any] | None:
    rows = [(row[1], row[2], row[0]) for row in _ROW.finditer(arguments)]
    ranged = [(*row, limits) for row in rows if (limits := _LIMITS.search(row[2]))]
    varied = [row for row in ranged if _REQUIRED in row[2]] or ranged[:1]
    fixed = [(row[1], row[2].strip()) for row in _WORDS.finditer(arguments) if _REQUIRED in row[0]]
    if arguments.count(_REQUIRED) > sum(_REQUIRED in row[2] for row in varied) + len(fixed):
        return None  # it needs words of any kind, lists, or numbers of no range
    asked = [row[1] for row in _ROW.finditer(outputs) if not row[1].startswith("baseline_")][:2]
    if not varied or not asked:
        return None
    names = [name for name, *_ in varied]
    template_id = f"own-{tool.lower().replace('_', '-')}"
    if template_id in refused:
        fixed = [(row[1], row[2].strip()) for row in _WORDS.finditer(arguments)]
        fixed += [
            (name, (float(ends[1]) + float(ends[2])) / 2)
            for name, _, _, ends in ranged
            if name not in names
        ]
    settings = [{"argument": name, "value": value} for name, value in fixed]
    shown = " and ".join(f"{name} at {{{name}}}" for name in names)
    return {
        "template_id": template_id,
        "situation": f"A run of {tool} has {shown}.",
        "placeholders": [_placeholder(name, kind, limits) for name, kind, _, limits in varied],
        "choices": [],
        "runs": [{"tool": tool, "words": tool, "uses": names, "fixed": settings}],
        "asks": [_ask(output) for output in asked],
    }


def _placeholder(name: str, kind: str, limits: re.Match[str]) -> dict[str, Any]:
    low, high = float(limits[1]), float(limits[2])
    part = _PART if kind == "number" and high - low >= _WIDE else 1.0
    whole = kind == "integer" or high - low >= 1 / _PART
    return {
        "name": name,
        "argument": name,
        "low": low + (high - low) * part / 4,
        "high": low + (high - low) * part,
        "decimals": 0 if whole else 2,
        "wording": "value",
    }


def _ask(output: str) -> dict[str, Any]:
    return {
        "run": 1,
        "against": 0,
        "output": output,
        "scale": "value",
        "words": output.replace("_", " "),
        "classes": [],
        "answers": [],
        "better": "neither",
    }


def _said_of(about: str, evidence: str) -> str | None:
    """The number that the evidence gives for an output: by the words before it and its unit."""
    wanted = set(about.lower().split())
    best, found, start = 0, None, 0
    for match in _NUMBER.finditer(evidence):
        before = evidence[start : match.start()]
        unit = " ".join(evidence[match.end() :].split()[:1])
        shared = len(wanted & set(re.findall(r"\w+", f"{before} {unit}".lower())))
        if shared > best:
            best, found = shared, match[0]
        start = match.end()
    return found
