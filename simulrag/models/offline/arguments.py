"""Values of a tool's arguments, read from a question by what the handbook says of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pydantic import JsonValue

from simulrag.models.offline import places
from simulrag.models.offline.changes import Change, changes
from simulrag.models.offline.choices import choose
from simulrag.models.offline.handbook import ArgumentRow
from simulrag.models.offline.roads import PRIORITY, lane_step
from simulrag.statements import Quantity, quantities

# What questions call the inputs, by a word of the argument's name. First match wins.
_TOPICS: tuple[tuple[str, str], ...] = (
    ("speed", r"(?:speed[\s-]?)?limits?|speeds?|low-speed"),
    (
        "demand",
        r"demand|traffic (?:volumes?|levels?)|volumes?|(?:vehicles?|cars?)(?= off| \()|vehicles? in"
        r"|traffic(?! (?:light|signal|flow|eng|auth|eff|lane|calm))",
    ),
    ("co2", r"CO2|CO₂|carbon dioxide"),
    ("ch4", r"CH4|CH₄|methane"),
    ("so2", r"SO2|SO₂|sul(?:ph|f)ur dioxide"),
    ("bc", r"black carbon|BC|soot"),
)
_FILLER_WORDS = (
    "delta factor percent percentage change fraction share prior rate value level number the of in"
    " to use is and a an for with average total"
)
_FILLER = frozenset(_FILLER_WORDS.split())
_MEASURES = frozenset(["start", "week", "weeks", "days"])
_LANE_WORDS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4}


@dataclass(frozen=True)
class Reading:
    """An argument to be read from a question; ``rows`` are all arguments of the handbook."""

    row: ArgumentRow
    question: str
    rows: list[ArgumentRow]


def read_argument(row: ArgumentRow, question: str, rows: list[ArgumentRow]) -> JsonValue:
    """The value that a question gives an argument, None where it gives none.

    ``rows`` are all arguments of the handbook: changes of several inputs are told apart together.
    """
    explicit = _explicit(row, question)
    if explicit is not None:
        return explicit
    read = next((reader for applies, reader in _READERS if applies(row)), None)
    return read(Reading(row, question, rows)) if read else None


@lru_cache(maxsize=256)
def topic(row: ArgumentRow) -> str | None:
    """The pattern of the words that name an argument's input in a question."""
    words = _words(row.name)
    for key, pattern in _TOPICS:
        if key in words:
            return pattern
    content = [word for word in words if word not in _FILLER and len(word) > 2]
    return r"[\s_-]+".join(map(re.escape, content)) if content else None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[_\W]+", name.lower()) if word]


def _explicit(row: ArgumentRow, question: str) -> JsonValue:
    match = re.search(
        rf"(?<!\w){re.escape(row.name)}`?\s*(?:=|:|of|is|set to)\s*`?([-+]?[\w.:]+(?:-\d\d-\d\d)?)",
        question,
    )
    if match is None:
        return None
    word = match[1].rstrip(".")
    if row.type == "boolean":
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            word.lower()
        )
    if row.type in ("number", "integer"):
        return _cast(row, float(word)) if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", word) else None
    return word if not row.choices or word in row.choices else None


def _cast(row: ArgumentRow, value: float) -> JsonValue:
    return int(value) if row.type == "integer" and value == int(value) else round(value, 10)


def _change(reading: Reading) -> JsonValue:
    named = {
        other.name: pattern
        for other in reading.rows
        if _is_change(other) and (pattern := topic(other))
    }
    every = changes(reading.question, named)
    found = every.get(reading.row.name)
    if found is None:
        return 0.0 if _partner_changes(reading.row, every) else None
    if _is_factor(reading.row):
        return _cast(reading.row, 1 + found.percent / 100)
    return _cast(
        reading.row, found.percent if "percent" in reading.row.unit else found.percent / 100
    )


_PARTNERS = ({"co2", "ch4"}, {"so2", "bc"})


def _partner_changes(row: ArgumentRow, found: Mapping[str, Change]) -> bool:
    """Whether the input that is changed together with a required one changes alone."""
    if not row.required:
        return False
    own = set(_words(row.name))
    others = [set(_words(name)) for name in found]
    return any(own & pair and any(other & pair for other in others) for pair in _PARTNERS)


def _is_factor(row: ArgumentRow) -> bool:
    return bool(
        re.search(r"(?:^|[_\s])(?:factor|multipl\w*|times|ratio|scale)", f"{row.name} {row.unit}")
    )


@lru_cache(maxsize=256)
def _is_change(row: ArgumentRow) -> bool:
    known = any(key in _words(row.name) for key, _ in _TOPICS)
    delta = bool(re.search(r"delta|change", row.name, re.I))
    return row.type == "number" and (_is_factor(row) or delta or (known and row.unit == "percent"))


def _lanes(reading: Reading) -> JsonValue:
    today = int(reading.row.default) if reading.row.default.isdigit() else None
    if today is not None and (step := lane_step(reading.question)):
        return today + step
    count = r"(\d+|one|two|three|four|single)"
    patterns = (
        rf"\bfrom {count}(?: \w+)? lanes? (?:down )?to (?:only |just )?{count}\b",
        rf"\b(?:down |up )?to (?:only |just |a )?{count}(?: \w+)? lanes?\b",
        rf"\b{count}[ -](?:traffic |driving )?lanes?\b",
    )
    for pattern in patterns:
        match = re.search(pattern, reading.question, re.I)
        if match:
            word = match[match.lastindex or 1].lower()
            return _LANE_WORDS.get(word) or int(word)
    if today and re.search(r"road diet", reading.question, re.I):
        return today - 1
    return None


def _boolean(reading: Reading) -> JsonValue:
    words = [w for w in _words(reading.row.name) if w not in _FILLER]
    patterns = [r"[\s_-]+".join(map(re.escape, words))] if words else []
    if "priority" in words:
        patterns += [
            r"green[\s-]waves?",
            r"priority (?:\w+ )?(?:junction|crossing|system|intersection|signal\w*)",
            r"(?:signal|junction|traffic light) priorit\w+",
            *PRIORITY,
        ]
    for pattern in patterns:
        match = re.search(pattern, reading.question, re.I)
        if match:
            before = reading.question[max(0, match.start() - 25) : match.start()]
            return not re.search(r"\b(?:without|no|not|instead of)\b[\w\s]*['‘\"]?$", before, re.I)
    return None


def _city(reading: Reading) -> JsonValue:
    return places.city(reading.question)


def _coordinate(reading: Reading) -> JsonValue:
    return places.coordinate(
        reading.question, "latitude" if "lat" in reading.row.name.lower() else "longitude"
    )


def _points(reading: Reading) -> JsonValue:
    found = places.points(reading.question)
    return [list(point) for point in found] if found else None


def _names(reading: Reading) -> JsonValue:
    found = places.states(reading.question)
    return list(found) if found else None


def _date(reading: Reading) -> JsonValue:
    for item in quantities(reading.question):
        if item.unit == "date":
            return date.fromordinal(int(item.value)).isoformat()
    year = re.search(
        r"\b20\d\d\b", f"{reading.row.meaning} {reading.row.default} {reading.question}"
    )
    for item in quantities(reading.question):
        if item.unit == "month_day" and year:
            month, day = divmod(int(item.value), 100)
            return f"{year[0]}-{month:02d}-{day:02d}"
    return None


def _year(reading: Reading) -> JsonValue:
    """The first year inside the argument's range; a tool whose range holds none is not asked."""
    years = [int(item.value) for item in quantities(reading.question) if item.unit == "year"]
    fitting = [
        year
        for year in years
        if (reading.row.low is None or year >= reading.row.low)
        and (reading.row.high is None or year <= reading.row.high)
    ]
    return fitting[0] if fitting else None


def _reproduction(reading: Reading) -> JsonValue:
    match = re.search(
        r"(?:\bR_?0\b|R₀|R-?naught|reproduct\w+ (?:number|rate))(?:\bR_?0\b|[^\d.;?]){0,40}?"
        r"(?<![\w.])(\d+(?:\.\d+)?)",
        reading.question,
        re.I,
    )
    return _cast(reading.row, float(match[1])) if match else None


def _choice(reading: Reading) -> JsonValue:
    own = [word for word in _words(reading.row.name) if word not in _FILLER and len(word) > 3]
    return choose(reading.row.choices, own, reading.question)


def _beside(reading: Reading) -> JsonValue:
    """A number of fitting unit beside words of the argument's name or meaning."""
    words = [w for w in _words(reading.row.name) if w not in _FILLER and len(w) > 2]
    words += [w for w in _words(reading.row.meaning) if w not in _FILLER and len(w) > 4]
    if not reading.row.required and _has_rivals(reading) and not _said(reading):
        return None
    if "start" in words and reading.row.unit == "weeks":
        named = re.search(r"\b(?:from|in|at|by|after) week (\d+)\b", reading.question)
        return int(named[1]) if named else None
    if "immunity" in words:
        words += ["protected", "resistant"]
    spots = [
        (m.start() + m.end()) / 2
        for word in dict.fromkeys(words)
        for m in re.finditer(rf"(?<!\w){re.escape(word[:7])}", reading.question, re.I)
    ]
    if not spots:
        return None
    wanted = {"%": "percent", "-": ""}.get(reading.row.unit, reading.row.unit)
    fitting = [item for item in quantities(reading.question) if _fits(item, wanted, reading.row)]
    ranked = [
        (min(abs((item.start + item.end) / 2 - spot) for spot in spots), index)
        for index, item in enumerate(fitting)
    ]
    near = [pair for pair in ranked if pair[0] <= 60]
    return _cast(reading.row, fitting[min(near)[1]].value) if near else None


def _has_rivals(reading: Reading) -> bool:
    """Whether other arguments are in the same unit, so that a number alone names none of them."""
    unit = reading.row.unit
    return sum(row.unit == unit and row.type in ("number", "integer") for row in reading.rows) > 1


def _said(reading: Reading) -> bool:
    """Whether a question names an optional argument: every telling word of its name is there."""
    telling = [w for w in _words(reading.row.name) if w not in _FILLER and w not in _MEASURES]
    return bool(telling) and all(
        re.search(rf"(?<!\w){re.escape(word[: max(4, len(word) - 3)])}", reading.question, re.I)
        for word in telling
    )


def _fits(item: Quantity, wanted: str, row: ArgumentRow) -> bool:
    """Whether a number can be the argument's; an optional one wants its unit written."""
    if row.type == "integer" and not item.value.is_integer():
        return False
    if item.unit in ("date", "month_day", "year"):
        return item.unit == wanted
    return item.unit == wanted or (
        row.required and wanted not in ("", "percent") and item.unit == ""
    )


def _text(reading: Reading) -> JsonValue:
    match = re.search(
        rf"(?<!\w){re.escape(reading.row.name)}\W+(?:of |is |= )?['\"]([^'\"]+)['\"]",
        reading.question,
    )
    return match[1] if match else None


Reader = Callable[[Reading], JsonValue]
_READERS: tuple[tuple[Callable[[ArgumentRow], bool], Reader], ...] = (
    (lambda row: bool(row.choices), _choice),
    (lambda row: row.type == "boolean", _boolean),
    (lambda row: row.type.startswith("list of list"), _points),
    (lambda row: row.type.startswith("list") and "state" in f"{row.name} {row.meaning}", _names),
    (lambda row: row.type == "string" and bool(re.search("city|place", row.name)), _city),
    (lambda row: row.type == "string" and "date" in row.name, _date),
    (lambda row: row.type == "number" and bool(re.match("lat|lon", row.name)), _coordinate),
    (lambda row: row.type == "integer" and "year" in _words(row.name), _year),
    (lambda row: row.type == "integer" and "lane" in row.name, _lanes),
    (lambda row: row.name.lower() in ("r0", "r_0", "reproduction_number"), _reproduction),
    (_is_change, _change),
    (lambda row: row.type in ("number", "integer"), _beside),
    (lambda row: row.type == "string", _text),
)
