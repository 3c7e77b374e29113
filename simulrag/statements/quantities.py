"""Numbers with units, as a text writes them. Numbers compare as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
_MONTH += r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_ISO_DATE = re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?![\d-])")
_WRITTEN_DATES = (
    re.compile(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:\s*,?\s+{_YEAR})?(?!\d|\.\d|\s*(?:%|°))", re.I),
    re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:\s*,?\s+{_YEAR})?(?!\w)", re.I),
)

# A sign belongs to a number only where no word, digit or unit stands right before it: in "10-30%"
# and "0.2°C-1.0°C" the dash means "to". A letter before the digits makes a name (ssp126, CO2, R0).
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.%°)\]`'’-])[-−–+]\s?(?=[\d.])|\b(?:minus|negative)\s+(?=\d))?"
    r"(?<![A-Za-z_₀-₉\d])(?<!\d\.)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    r"|(?<![\d.])\.\d+)(?![A-Za-z]*_)",
    re.I,
)
_SCALES = {"thousand": 3, "million": 6, "billion": 9}
_SCALE = re.compile(r"`?\s*(thousand|million|billion)\b", re.I)

_GAP = re.compile(r"[`*]*[\s-]?")
# Tried in order, right behind the number (a backtick, a space or a hyphen may stand between).
_UNITS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (unit, re.compile(pattern, re.I))
    for unit, pattern in (
        ("percent", r"%|per\s?cent(?:age points?)?\b|percent(?:age)?(?: points?)?\b|pct\b"),
        ("degc", r"°\s?C?\b|℃|º\s?C\b|deg(?:rees?)?\.?\s?(?:C\b|Celsius|centigrade)|degrees?\b"),
        ("kmh", r"km/h\b|kph\b|km per hour|kilomet(?:er|re)s per hour"),
        ("mph", r"mph\b|miles per hour"),
        ("s", r"s\b|secs?\b|seconds?\b"),
        ("min", r"mins?\b|minutes?\b"),
        ("h", r"h\b|hrs?\b|hours?\b"),
        ("days", r"days?\b"),
        ("weeks", r"weeks?\b|wks?\b"),
        ("months", r"months?\b"),
        ("years", r"years?\b"),
        ("mg", r"mg\b|milligrams?\b"),
        ("kg", r"kg\b|kilograms?\b"),
        ("g", r"g\b|grams?\b"),
        ("t", r"t\b|tons?\b|tonnes?\b"),
        ("ml", r"ml\b|millilit(?:er|re)s?\b"),
        ("l", r"l\b|lit(?:er|re)s?\b"),
        ("km", r"km\b|kilomet(?:er|re)s?\b"),
        ("m", r"m\b|met(?:er|re)s?\b"),
        ("lanes", r"(?:traffic |driving |vehicle )?lanes?\b"),
        ("vehicles", r"(?:more |fewer )?(?:vehicles?|cars)\b"),
        ("steps", r"(?:simulation )?steps\b"),
        ("fold", r"fold\b|times\b"),
        (
            "cases",
            r"(?:(?!and\b|or\b|in\b|to\b)[a-z]+ ){0,2}"
            r"(?:cases?|hospitali[sz]ations?|patients?|people|persons|admissions?|inpatients?)\b",
        ),
    )
)
_TO_BASE: dict[str, tuple[str, float]] = {
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "g": ("mg", 1e3),
    "kg": ("mg", 1e6),
    "t": ("mg", 1e9),
    "l": ("ml", 1e3),
    "km": ("m", 1e3),
    "days": ("weeks", 1 / 7),
    "mph": ("kmh", 1.609344),
}
_VALUE_BEFORE = re.compile(
    r"(?:median|value|magnitude|total|about|approximately|roughly|around|nearly|reach\w*|peak\w*)"
    r"(?: of| at)?(?: about| approximately| roughly| around| nearly)?\s+`?$",
    re.I,
)


_LARGEST = 1e300
_MOST_DECIMALS = 300


@dataclass(frozen=True)
class Quantity:
    """A number as written.

    ``unit`` is canonical: percent, degc, s, min, h, days, weeks, months, years, mg, g, kg, t, ml,
    l, m, km, kmh, mph, lanes, vehicles, steps, fold, cases, date (value: proleptic ordinal),
    month_day (a date without a year, value: 100 x month + day), year, or '' where none is
    written. ``decimals`` is the number of decimals as written (negative behind 'thousand').
    ``text[start:end]`` is the number with its sign, ``text[end:unit_end]`` its unit.
    """

    value: float
    unit: str
    decimals: int
    start: int
    end: int
    unit_end: int


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text in order of appearance; digits inside names are none."""
    return list(_quantities(text))


@lru_cache(maxsize=4096)
def _quantities(text: str) -> tuple[Quantity, ...]:
    found = list(_dates(text))
    taken = [(item.start, item.end) for item in found]
    for match in _NUMBER.finditer(text):
        begin = match.start("digits")
        if not any(start <= begin < end for start, end in taken):
            number = _number(text, match)
            # What no float holds is no quantity that anything could be compared with.
            if abs(number.value) < _LARGEST and abs(number.decimals) < _MOST_DECIMALS:
                found.append(number)
    found.sort(key=lambda item: item.start)
    return tuple(_shared_units(text, found))


def same_number(
    claim: Quantity, other: Quantity | float, tolerance_percent: float | None = None
) -> bool:
    """Whether ``other`` equals the claim's number.

    Without a tolerance the comparison is at the claim's own rounding (half a unit of its last
    decimal); with one, within that percentage of ``other``. Signs count. Units of one kind are
    converted (minutes to seconds, days to weeks); other units never match, a missing one does.
    """
    value = other.value if isinstance(other, Quantity) else float(other)
    if isinstance(other, Quantity) and other.unit != claim.unit:
        converted = _converted(value, other.unit, claim.unit)
        if converted is None:
            return False
        value = converted
    if claim.unit in ("date", "year", "month_day"):
        return claim.value == value
    if tolerance_percent is not None:
        return abs(claim.value - value) <= abs(value) * tolerance_percent / 100 + 1e-9
    half = 0.5 * 10.0**-claim.decimals
    return abs(claim.value - value) <= half + 1e-9 * max(1.0, abs(value))


def _converted(value: float, unit: str, wanted: str) -> float | None:
    if unit == "date" and wanted == "month_day":
        day = date.fromordinal(int(value))
        return day.month * 100.0 + day.day
    if unit == "date" and wanted == "year":
        return float(date.fromordinal(int(value)).year)
    if not unit or not wanted:
        return None if "date" in (unit, wanted) else value
    base, factor = _TO_BASE.get(unit, (unit, 1.0))
    wanted_base, wanted_factor = _TO_BASE.get(wanted, (wanted, 1.0))
    return value * factor / wanted_factor if base == wanted_base else None


def _dates(text: str) -> Iterator[Quantity]:
    taken: list[tuple[int, int]] = []
    for pattern in (_ISO_DATE, *_WRITTEN_DATES):
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            month, day = _month(match["month"]), int(match["day"])
            year = int(match["year"]) if match["year"] else None
            try:
                value = date(year or 2000, month, day).toordinal()
            except ValueError:
                continue
            taken.append(match.span())
            yield Quantity(
                value=float(value) if year else month * 100.0 + day,
                unit="date" if year else "month_day",
                decimals=0,
                start=match.start(),
                end=match.end(),
                unit_end=match.end(),
            )


def _month(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _MONTHS.index(word[:3].lower()) + 1


def _number(text: str, match: re.Match[str]) -> Quantity:
    digits = match["digits"].replace(",", "")
    value = float(digits) * (-1 if match["sign"] and match["sign"].strip() != "+" else 1)
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) - (int(exponent) if exponent else 0)
    end = match.end()
    scale = _SCALE.match(text, end)
    if scale:
        power = _SCALES[scale[1].lower()]
        value, decimals, end = value * 10**power, decimals - power, scale.end()
    unit, unit_end = _unit_behind(text, end)
    if unit == "" and _is_year(text, match):
        unit = "year"
    return Quantity(value, unit, decimals, match.start(), end, unit_end)


def _unit_behind(text: str, end: int) -> tuple[str, int]:
    gap = _GAP.match(text, end)
    begin = gap.end() if gap else end
    for unit, pattern in _UNITS:
        match = pattern.match(text, begin)
        if match:
            return unit, match.end()
    return "", end


def _is_year(text: str, match: re.Match[str]) -> bool:
    digits = match["digits"]
    if match["sign"] or not re.fullmatch(r"(?:1[89]|2[0-2])\d\d", digits):
        return False
    return not _VALUE_BEFORE.search(text[: match.start()])


def _shared_units(text: str, found: list[Quantity]) -> list[Quantity]:
    """Give the first number of '10-30%' or '0.2 to 1.0°C' the unit of the second."""
    result = list(found)
    for index in range(len(result) - 2, -1, -1):
        first, second = result[index], result[index + 1]
        between = text[first.unit_end : second.start]
        joined = re.fullmatch(r"`?\s*(?:-|–|—|−|to|and|or)\s*`?", between)
        if first.unit == "" and joined and second.unit not in ("", "date", "month_day", "year"):
            result[index] = replace(first, unit=second.unit)
    return result
