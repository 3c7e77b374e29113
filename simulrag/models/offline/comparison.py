"""Questions about several runs: their texts told apart, differences, words and which is more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulrag.models.offline.wording import capitalised
from simulrag.statements import class_words

_RUN = re.compile(r"^Run (\d+) \((.+)\):$", re.M)


@dataclass(frozen=True)
class RunText:
    """One run's part of the evidence. ``words`` is '' where there is one run alone."""

    words: str
    text: str


@dataclass(frozen=True)
class Found:
    """A value in the evidence: signed, with its digits as written and its canonical unit."""

    value: float
    digits: str
    unit: str


def read_runs(evidence: str) -> list[RunText]:
    """The runs of an evidence text: parts headed 'Run 1 (words):', else the whole as one."""
    heads = list(_RUN.finditer(evidence))
    if not heads:
        return [RunText("", evidence)]
    ends = [head.start() for head in heads[1:]] + [len(evidence)]
    return [
        RunText(head[2], evidence[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


def difference(own: Found, other: Found, scale: str) -> Found:
    """One value against another: the difference in their unit, or in percent of the other."""
    if scale == "percent":
        value = round(100 * (own.value / other.value - 1), 1)
        return Found(value, f"{abs(value):.1f}", "percent")
    decimals = max(len(item.digits.partition(".")[2]) for item in (own, other))
    value = round(own.value - other.value, decimals)
    return Found(value, f"{abs(value):.{decimals}f}", own.unit)


def find_word(answers: Sequence[str], text: str) -> str | None:
    """The one of the words that the evidence uses first."""
    said = class_words(text, answers)
    return next((word for word in answers if said and word.lower() == said[0].lower()), None)


def placed(ask: dict[str, Any], words: str) -> dict[str, Any]:
    """The ask with the words of its run: 'the median peak with an R0 of 1.5'."""
    return {**ask, "words": f"{ask['words']} {words}"}


def which_question(found: Found, words: Sequence[str]) -> str:
    """Which of two runs has more of it."""
    return f"Is it {_more(found)} {words[0]} or {words[1]}?"


def difference_lines(
    ask: dict[str, Any], found: Found, words: Sequence[str], name: str
) -> list[str]:
    """The size of a difference, its class, and which of the two has more."""
    noun = capitalised(ask["words"])
    unit = {"percent": "%", "degc": "°C"}.get(found.unit, f" {found.unit}".rstrip())
    lines = [f"{noun} is {found.digits}{unit}."]
    if name:
        lines.append(f"{noun} would count as {name}.")
    if found.value:
        first, second = words if found.value > 0 else (words[1], words[0])
        lines.append(f"{capitalised(first)} it is {_more(found)} than {second}.")
    return lines


def _more(found: Found) -> str:
    return "warmer" if found.unit == "degc" else "higher"


def word_question(ask: dict[str, Any]) -> str:
    """A question for a word: what it can be is named."""
    words = ask["words"]
    if words.startswith("whether "):
        match = re.fullmatch(r"whether (\w+ \w+) is (.+)", words)
        return f"Is {match[1]} {match[2]}?" if match else f"Say {words}."
    return f"Is {words} {', '.join(ask['answers'][:-1])} or {ask['answers'][-1]}?"


def word_answer(ask: dict[str, Any], found: str) -> str:
    """The sentence that gives the word."""
    whether = re.match(r"whether (.+?) is ", ask["words"])
    if whether:
        before = re.search(rf"(\w+ )?{re.escape(found)}", ask["words"][whether.end() :])
        return f"{capitalised(whether[1])} is {before[0] if before else found}."
    return f"{capitalised(ask['words'])} is {found}."
