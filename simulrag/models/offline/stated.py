"""Values that a question sets in the handbook's own words: 'the inflow is set to 5 m3/day'."""

from __future__ import annotations

import re

from simulrag.models.offline.handbook import ArgumentRow
from simulrag.models.offline.templates import spoken
from simulrag.statements import quantities

_SET = r"\s*(?:(?:is|are|was|be|being|set|fixed|held|at|to|of|=|:)\s+){1,4}"


def stated_value(row: ArgumentRow, question: str) -> float | int | None:
    """The number behind an argument's meaning or name in words, None where none stands there."""
    if row.type not in ("number", "integer"):
        return None
    phrases = (spoken(row).removeprefix("the "), row.name.replace("_", " "))
    for phrase in dict.fromkeys(phrases):
        match = re.search(rf"(?<!\w){re.escape(phrase)}{_SET}", question, re.I)
        numbers = quantities(question) if match else []
        item = next((number for number in numbers if match and number.start == match.end()), None)
        # A percentage of what is not counted in percent is a change of it.
        if item is None or (item.unit == "percent") != (row.unit in ("%", "percent")):
            continue
        if row.type == "number":
            return round(item.value, 10)
        return int(item.value) if item.value.is_integer() else None
    return None
