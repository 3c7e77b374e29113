"""What arithmetic knows of a text: numbers that runs decide, their classes, direction words.

Nothing else of the text is read. A number is a site where it states, at its rounding, an asked
value or an output of a run, and stands once in the text and not in the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from simulrag.method.numbers import Number, numbers
from simulrag.questions.records import Template, asked_value
from simulrag.records import Evidence, Question

NUMBER = re.compile(r"(?<![\w.,+-])([+-]?)(\d+(?:\.\d+)?)(?!\w|[.,]?\d)")
_UP = "rises rise increases raises lengthens higher longer warmer more above later"
_DOWN = "falls fall decreases lowers shortens lower shorter cooler less below earlier"
UP, DOWN = _UP.split(), _DOWN.split()
"""Direction words; each has its opposite at the same place."""
_DIRECTION = re.compile(rf"(?<!\bno )\b({'|'.join(UP + DOWN)})\b")
_HEDGED = re.compile(r"(\b(about|around|roughly|nearly|some|perhaps)|\d (or|to|and)) [+-]?$")
_SHARED = re.compile(r"\b(both|each of|all (two|three|four))\b")
_NO_RESULT = re.compile(r"latitude|longitude|vehicles|_sd_")


class Known(NamedTuple):
    """A value that runs (numbered from 1) give: of one run, or of two their difference.

    ``classes`` of an asked value, the smallest first; ``limits``: where all but the first begin.
    """

    value: float
    output: str
    runs: tuple[int, ...]
    percent: bool
    classes: tuple[str, ...] | None = None
    limits: tuple[float, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether its sign is a direction."""
        return len(self.runs) > 1 or "change" in self.output or "growth" in self.output

    @property
    def quantity(self) -> str:
        """The output; a baseline is a run of its own."""
        return self.output.removeprefix("baseline_").removeprefix("scenario_")

    def class_of(self, value: float) -> str:
        """The class that a value falls into; empty where there are none."""
        at = sum(abs(value) >= limit for limit in self.limits)
        return self.classes[at] if self.classes else ""


class Site(NamedTuple):
    """A number of a text, and the value that it states. ``sign`` is as written, or empty."""

    start: int
    end: int
    sign: str
    digits: str
    known: Known

    @property
    def decimals(self) -> int:
        """How many digits stand behind the point."""
        return len(self.digits.partition(".")[2])

    def saying(self, value: float, decimals: int) -> str:
        """Write a value as this number is written: with a sign only where it has one."""
        sign = "-" if value < 0 else "+"
        return f"{sign if self.sign else ''}{abs(value):.{decimals}f}"


class Reading(NamedTuple):
    """A text with its sites, the values that its runs give, and the numbers of its question."""

    text: str
    known: tuple[Known, ...]
    given: tuple[Number, ...]
    sites: tuple[Site, ...]

    def admits(self, site: Site, written: str) -> bool:
        """Whether a number in a site's place can be, and is right of no value of any run."""
        (number,) = numbers(written.lstrip("+-"))
        falls = site.known.percent and (written[0] == "-" or site.known.value < 0)
        values = [item.value for item in self.known] + [item.value for item in self.given]
        return not (falls and number.value >= 100) and not any(map(number.states, values))


def read_text(
    text: str, question: Question, template: Template, evidence: Sequence[Evidence]
) -> Reading:
    """Find the sites of a text that answers a question from evidence."""
    known = (*_asked(question, template, evidence), *_outputs(evidence))
    given = numbers(question.text)
    return Reading(text, known, given, tuple(_sites(text, known, given)))


def _asked(question: Question, template: Template, evidence: Sequence[Evidence]) -> Iterator[Known]:
    """Asked values whose runs are all among the evidence."""
    calls = [run.call for run in evidence]
    for ask in template.asks:
        asked = asked_value(ask, question.evidence)
        needed = [question.evidence[at - 1].call for at in (ask.run, ask.against) if at]
        if asked is not None and all(call in calls for call in needed):
            runs = tuple(calls.index(call) + 1 for call in needed)
            percent = ask.scale == "percent" or ask.output.endswith("_percent")
            keys = class_keys([item.name for item in ask.classes])
            yield Known(asked.value, ask.output, runs, percent, keys, tuple(asked.limits))


def _outputs(evidence: Sequence[Evidence]) -> Iterator[Known]:
    for at, run in enumerate(evidence, start=1):
        for name, value in run.outputs.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not _NO_RESULT.search(name):
                yield Known(float(value), name, (at,), name.endswith("_percent"))


def _sites(text: str, known: Sequence[Known], given: Sequence[Number]) -> Iterator[Site]:
    matches = list(NUMBER.finditer(text))
    for match in matches:
        sign, digits = match.groups()
        (number,) = numbers(digits)
        again = [item[2] for item in matches].count(digits) > 1
        hedged = _HEDGED.search(text[: match.start()])
        if again or hedged or not number.value or any(map(number.repeats, given)):
            continue
        for item in known:
            precise = len(digits) >= (2 if sign or item.classes is not None else 3)
            turned = sign and (sign == "-") != (item.value < 0)
            if precise and number.states(item.value) and not turned:
                yield Site(*match.span(), sign, digits, item)
                break


def class_keys(names: Sequence[str]) -> tuple[str, ...]:
    """Names of classes without a first "a" and without a last word that all share."""
    words = [name.removeprefix("a ").split() for name in names]
    shared = len(words) > 1 and len({item[-1] for item in words}) == 1
    return tuple(" ".join(item[:-1] if shared and len(item) > 1 else item) for item in words)


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text."""
    starts = [0, *(match.end() for match in re.finditer(r"(?<=[.!?])\s+(?=[A-Z])", text))]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def class_words(reading: Reading) -> Iterator[tuple[int, Site, bool]]:
    """Find where the class of a site is named, and whether no other is in that sentence.

    The site is the last number before the words, or the only one there that has such a class.
    """
    keys = {key for item in reading.known for key in item.classes or ()}
    pattern = re.compile(rf"\b({'|'.join(sorted(keys, key=len, reverse=True)) or '(?!)'})\b")
    for start, end in sentences(reading.text):
        words, before = list(pattern.finditer(reading.text, start, end)), start
        for word in words:
            numbered = [m.start() for m in NUMBER.finditer(reading.text, before, word.start())]
            before = word.end()
            of_class = [
                site
                for site in reading.sites
                if start <= site.start < end and word[0] in (site.known.classes or ())
            ]
            once = [item[0] for item in words].count(word[0]) == len(of_class) == 1
            last = [site for site in of_class if site.start in numbered[-1:]]
            for site in last or (of_class if once else []):
                shared = _SHARED.search(reading.text, site.end, word.start())
                if word[0] == site.known.class_of(site.known.value) and not shared:
                    yield word.start(), site, len(words) == 1


def direction_words(reading: Reading) -> Iterator[tuple[int, str, Site]]:
    """Find direction words alone in their sentence, with the one change without sign there."""
    for start, end in sentences(reading.text):
        words = list(_DIRECTION.finditer(reading.text, start, end))
        inside = [s for s in reading.sites if start <= s.start < end and s.known.is_change]
        of = [site for site in inside if not site.sign]
        if len(words) == len(of) == 1 and (words[0][0] in UP) == (of[0].known.value > 0):
            yield words[0].start(), words[0][0], of[0]


def difference(own: float, other: float, *, percent: bool) -> float:
    """Compute what one value is more than another, or by how many percent."""
    return 100 * (own / other - 1) if percent else own - other


def stated_parts(reading: Reading) -> Iterator[tuple[Site, Site, Site, bool]]:
    """Find values of one quantity with their difference: three sites, and whether in percent."""
    for gap in reading.sites:
        for own, other in permutations([site for site in reading.sites if site != gap], 2):
            if not gap.known.is_change or own.known.quantity != other.known.quantity:
                continue
            if own.known.is_change and len(gap.known.runs) == 1:
                continue
            for percent in (False,) if own.known.is_change else (False, True):
                result = difference(own.known.value, other.known.value, percent=percent)
                if abs(result - gap.known.value) <= 0.6 * 10.0**-gap.decimals:
                    yield own, other, gap, percent
                    break
