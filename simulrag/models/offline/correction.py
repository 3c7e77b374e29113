"""The smallest change that makes a claim agree with the evidence, in the claim's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from simulrag.models.offline.check import Check
from simulrag.statements import Quantity, direction_words
from simulrag.statements.facts import Fact

_PAIRS = (
    ("increase", "decrease"),
    ("increases", "decreases"),
    ("increased", "decreased"),
    ("increasing", "decreasing"),
    ("rise", "fall"),
    ("rises", "falls"),
    ("rose", "fell"),
    ("risen", "fallen"),
    ("rising", "falling"),
    ("grow", "shrink"),
    ("grows", "shrinks"),
    ("grew", "shrank"),
    ("growing", "shrinking"),
    ("growth", "decline"),
    ("higher", "lower"),
    ("warmer", "cooler"),
    ("warming", "cooling"),
    ("warms", "cools"),
    ("warmed", "cooled"),
    ("longer", "shorter"),
    ("lengthens", "shortens"),
    ("upward", "downward"),
    ("upwards", "downwards"),
    ("up by", "down by"),
    ("climbs", "drops"),
    ("climb", "drop"),
    ("climbed", "dropped"),
    ("climbing", "dropping"),
    ("slower", "faster"),
    ("surge", "slump"),
    ("gain", "loss"),
    ("goes up", "goes down"),
    ("went up", "went down"),
    ("hotter", "colder"),
    ("lengthen", "shorten"),
    ("lengthening", "shortening"),
    ("raise", "lower"),
    ("soar", "plunge"),
)
_EXTRA = {
    "reduce": "increase",
    "reduces": "increases",
    "reduced": "increased",
    "reducing": "increasing",
    "reduction": "increase",
    "reductions": "increases",
    "decline": "increase",
    "declines": "increases",
    "declined": "increased",
    "declining": "increasing",
    "drop": "rise",
    "drops": "rises",
    "dropped": "rose",
    "dropping": "rising",
    "lowers": "raises",
    "lowered": "raised",
    "lowering": "raising",
    "cut": "increase",
    "cuts": "increases",
    "cutting": "increasing",
    "quicker": "slower",
    "fewer": "more",
    "shortened": "lengthened",
    "lengthened": "shortened",
    "expands": "shrinks",
    "surges": "slumps",
    "surged": "slumped",
    "soars": "falls",
    "jumps": "drops",
    "jumped": "dropped",
    "diminishes": "increases",
    "diminished": "increased",
    "shrinks": "grows",
    "eliminates": "increases",
    "improves": "worsens",
    "worsens": "improves",
}
_SWAP = dict(_PAIRS) | {b: a for a, b in _PAIRS} | _EXTRA
_UNCHANGED = re.compile(
    r"\b(?:(?P<verb>remain|stay|keep)(?P<ending>s|ed)?|is|are|was|were)\s+(?:\w+ly\s+|about\s+)?"
    r"(?:unchanged|stable|steady|constant|flat|the same)\b",
    re.I,
)
_MONTH_NAMES = (
    "January February March April May June July August September October November December"
)
_MONTHS = _MONTH_NAMES.split()


def corrected(claim: str, failed: Sequence[Check]) -> str:
    """The claim with every failed part replaced; never empty, never the claim itself."""
    text = claim
    for check in sorted(failed, key=lambda c: -(c.quantity.start if c.quantity else -1)):
        if check.part == "number" and check.quantity is not None and check.fact is not None:
            text = _replace_number(text, check.quantity, check.fact)
        elif check.part == "direction" and check.said == "flat":
            text = _moved(text, check)
        elif check.part == "direction":
            text = _turn(text, check.right)
        elif check.part == "order":
            text = _turn(text, "")
        else:
            text = _swap_word(text, check.said, check.right)
    way = next((c.fact.value for c in failed if c.part == "number" and c.fact is not None), 0.0)
    if text == claim and way:
        text = _turn(claim, "up" if way > 0 else "down")
    if text == claim:
        first = claim if re.match(r"I\b|[A-Z][A-Z\d]", claim) else claim[0].lower() + claim[1:]
        return f"It is not the case that {first}"
    return text


def _replace_number(text: str, item: Quantity, fact: Fact) -> str:
    """The number as the evidence has it; the direction word turned where the sign needs it."""
    value = _in_unit(fact, item)
    if fact.role != "change":
        dated = item.unit in ("date", "month_day")
        new = _date(text[item.start : item.end], fact) if dated else _written(value, fact, item)
        return text[: item.start] + new + text[item.end :]
    behind = re.match(r" (more|less|fewer)\b", text[item.unit_end :])
    if behind and fact.directed:
        amount = _written(abs(value), fact, item) + text[item.end : item.unit_end]
        tail = text[item.unit_end + behind.end() :]
        result = text[: item.start] + amount + (" more" if value > 0 else " less") + tail
        alone = len(direction_words(result)) == 1
        return _turn(result, "up" if value > 0 else "down") if alone else result
    if text[item.start] == "+" and value > 0:
        return text[: item.start] + "+" + _written(value, fact, item) + text[item.end :]
    word = _word_of(text, item)
    if item.value < 0 or word is None:
        new = _written(value if fact.directed or item.value >= 0 else -abs(value), fact, item)
        return text[: item.start] + new + text[item.end :]
    result = text[: item.start] + _written(abs(value), fact, item) + text[item.end :]
    points_up = word[0]
    if fact.directed and value and (value > 0) != points_up:
        start, end = word[1], word[2]
        shift = len(result) - len(text)
        if start >= item.end:
            start, end = start + shift, end + shift
        turned = _opposite(result[start:end])
        if turned is None:
            return text[: item.start] + _written(value, fact, item) + text[item.end :]
        result = _article(result[:start] + turned + result[end:], start)
    return result


def _in_unit(fact: Fact, item: Quantity) -> float:
    factors = {"min": 60.0, "h": 3600.0, "g": 1e3, "kg": 1e6, "t": 1e9, "l": 1e3, "km": 1e3}
    value = fact.value * factors.get(fact.quantity.unit, 1.0) / factors.get(item.unit, 1.0)
    if item.unit == "days" and fact.quantity.unit == "weeks":
        value *= 7
    if item.unit == "weeks" and fact.quantity.unit == "days":
        value /= 7
    return value


def _written(value: float, fact: Fact, item: Quantity) -> str:
    decimals = max(fact.quantity.decimals, 0)
    if fact.quantity.unit not in (item.unit, "") and item.unit != "cases":
        decimals = max(item.decimals, 1)
    return f"{value:.{decimals}f}"


def _word_of(text: str, item: Quantity) -> tuple[bool, int, int] | None:
    """The direction word nearest to a number: does it point up, and where it stands."""
    words = direction_words(text)
    ranked = [
        (item.start - word.end if word.end <= item.start else word.start - item.unit_end, word)
        for word in words
        if word.direction != "flat"
    ]
    if not ranked:
        return None
    _, word = min(ranked, key=lambda pair: pair[0])
    return word.direction == "up", word.start, word.end


def _opposite(word: str) -> str | None:
    new = _SWAP.get(word.lower())
    if new is None:
        return None
    return new.capitalize() if word[:1].isupper() else new


def _turn(text: str, right: str) -> str:
    """Turn every direction word that points the wrong way ('' turns the first one)."""
    for word in reversed(direction_words(text)):
        if right and word.direction == right and not word.negated:
            continue
        new = "no change" if right == "flat" else _opposite(text[word.start : word.end])
        if word.negated:
            return re.sub(r"\b(?:does not|do not|will not|did not|not|no)\s+", "", text, count=1)
        if new is not None:
            text = _article(text[: word.start] + new + text[word.end :], word.start)
    if right in ("up", "down"):
        for judged, other in (("improve", "worsen"), ("worsen", "improve")):
            if re.search(rf"\b{judged}", text):
                return re.sub(rf"\b{judged}", other, text, count=1)
    return text


def _moved(text: str, check: Check) -> str:
    """'remains unchanged' as the change that the evidence has."""
    verb = "decrease" if check.right == "down" else "increase"
    size = ""
    if check.fact is not None and check.fact.role == "change":
        size = f" by {abs(check.fact.value):.{max(check.fact.quantity.decimals, 0)}f}"
        size += {"percent": "%", "degc": "°C"}.get(check.fact.quantity.unit, "")

    def put(match: re.Match[str]) -> str:
        if match["verb"] is None:
            return f"{verb}d{size}"
        return verb + {"s": "s", "ed": "d"}.get(match["ending"] or "", "") + size

    return _UNCHANGED.sub(put, text, count=1)


def _swap_word(text: str, said: str, right: str) -> str:
    pattern = re.compile(rf"(?<![\w-]){re.escape(said)}(?![\w-])", re.I)
    match = pattern.search(text)
    if match is None:
        return re.sub(r"land-based|inland|landlocked", f"on {right}", text, count=1, flags=re.I)
    new = right.capitalize() if match[0][:1].isupper() else right
    for place, before in (("sea", "at"), ("land", "on")):
        if right == place and re.search(r"\b(?:on|at) $", text[: match.start()]):
            return text[: match.start() - 3] + f"{before} {new}" + text[match.end() :]
    return _article(pattern.sub(new, text), match.start())


def _article(text: str, start: int) -> str:
    """'a increase' becomes 'an increase', 'an decrease' 'a decrease'."""
    match = re.search(r"\b([Aa])(n?) ([\w%.`-]+ )?$", text[:start])
    if match is None or match[3]:
        return text
    vowel = text[start : start + 1].lower() in "aeiou"
    return text[: match.start()] + match[1] + ("n " if vowel else " ") + text[start:]


def _date(written: str, fact: Fact) -> str:
    """The fact's date in the style of the written one."""
    if fact.quantity.unit == "date":
        day = date.fromordinal(int(fact.value))
        year, month, number = day.year, day.month, day.day
    else:
        month, number = divmod(int(fact.value), 100)
        year = 0
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written):
        return f"{year:04d}-{month:02d}-{number:02d}" if year else f"{_MONTHS[month - 1]} {number}"
    with_year = bool(re.search(r"\d{4}", written)) and year
    name = _MONTHS[month - 1]
    if re.match(r"\d", written):
        return f"{number} {name}" + (f" {year}" if with_year else "")
    return f"{name} {number}" + (f", {year}" if with_year else "")
