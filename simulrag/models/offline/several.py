"""One call for each of several cities, years or pathways that a question names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from pydantic import JsonValue

from simulrag.models.offline import places
from simulrag.models.offline.choices import named
from simulrag.models.offline.handbook import ArgumentRow

Case = dict[str, JsonValue]
_YEARS = re.compile(
    r"\b\d{4}(?:(?:,? (?:and|or|versus|vs\.?|with) (?:(?:in|by|for) )?|, )\d{4})+\b"
)
_MOST = 6


def several(given: Case, rows: Sequence[ArgumentRow], question: str) -> list[Case]:
    """The calls that a reading stands for: one, or one for each case that is named beside it."""
    options = [
        (row.name, _values(row, given[row.name], question)) for row in rows if row.name in given
    ]
    names = [name for name, _ in options]
    cases = [dict(zip(names, values, strict=True)) for values in product(*(v for _, v in options))]
    return cases if len(cases) <= _MOST else [given]


def _values(row: ArgumentRow, value: JsonValue, question: str) -> list[JsonValue]:
    found: list[JsonValue] = []
    if row.type == "string" and re.search("city|place", row.name):
        found = [*places.listed(question, str(value))]
    elif row.type == "integer" and row.name == "year":
        found = [*_joined_years(row, question)]
    elif row.choices and all(re.search(r"\d", choice) for choice in row.choices):
        found = [*named(row.choices, question)]
    return found if value in found else [value]


def _joined_years(row: ArgumentRow, question: str) -> list[int]:
    """Years written as a list ('2040 and 2080') where all lie inside the argument's range."""
    for match in _YEARS.finditer(question):
        years = [int(year) for year in re.findall(r"\d{4}", match[0])]
        if all((row.low or 0) <= year <= (row.high or 9999) for year in years):
            return list(dict.fromkeys(years))
    return []
