"""Whether some tool returns the quantity that a claim is about."""

from __future__ import annotations

import re

from simulrag.models.offline.handbook import HandbookTool, read_handbook
from simulrag.models.offline.profiles import content_words
from simulrag.models.offline.qualities import claimed_class, warmer_case
from simulrag.models.offline.situations import field_of
from simulrag.statements import directions, quantities, subjects
from simulrag.statements.facts import facts, given, surface, trend_word

_UNTELLING = (
    "s mg ml m pct percent degc weeks days hours total average mean median value number lower upper"
    " time date change of the a in per and to by over until vehicle"
)
_UNIT_WORDS = frozenset(_UNTELLING.split())
_MOST_OF_IT = 0.6
# Effects that stand behind the measured ones: a sentence that speaks of them alone is no output.
_BEYOND = re.compile(
    r"\b(?:health\w*|econom\w+|cost\w*|livab\w+|liveab\w+|safety|public opinion|accept\w+|equit\w+"
    r"|quality of life|noise|satisf\w+|trade-?off|sustainab\w+|healthcare|ecosystems?|agricult\w+"
    r"|sea[- ]level|rainfall|precipitation|biodiversity|mortality|deaths?|vaccin\w+|air quality"
    r"|should\b|recommend\w*|policy|policies)\b",
    re.I,
)


def in_boundary(handbook: str, question: str, claim: str) -> bool:
    """True where the claim says something testable about a quantity that an output row returns."""
    tools = read_handbook(handbook)
    if surface(claim) is not None and any(_returns_surface(tool) for tool in tools):
        return True
    returned = frozenset().union(*(_returned(tool) for tool in tools)) if tools else frozenset()
    about = subjects(claim) | {fact.subject for fact in facts(claim, question)}
    known = bool(about & returned)
    if not known:
        known = any(_named(row.name, claim) for tool in tools for row in tool.outputs)
    if field_of(question) == "other":
        meanings = [row.meaning for tool in tools for row in tool.outputs]
        known = known or any(_share(meaning, claim) >= _MOST_OF_IT for meaning in meanings)
        returned, about = frozenset({"output"}), frozenset({"output"})
    if not known:
        return False
    return _testable(question, claim, about & returned)


def _returned(tool: HandbookTool) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for row in tool.outputs:
        found |= subjects(row.name.replace("_", " ")) | subjects(row.meaning)
    if "temperature" in found:
        found |= {"temperature_change"}
    if "four_week_growth" in found:
        found |= {"trend"}
    # A mention of what was changed ("with the changed CO2 emissions") is no output.
    if "temperature" in found or "temperature_change" in found:
        found -= {"co2", "ch4", "so2", "bc"}
    return found


def _returns_surface(tool: HandbookTool) -> bool:
    return bool(
        re.search(r"land[\s_]or[\s_]sea|\bland\b.*\bsea\b", f"{tool.name} {tool.description}")
    )


def _named(output: str, claim: str) -> bool:
    """Every telling word of an output's name stands in the claim (for simulators of users' own)."""
    words = [word for word in re.split(r"[_\W]+", output.lower()) if word not in _UNIT_WORDS]
    return bool(words) and all(
        re.search(rf"\b{re.escape(word[:7])}", claim, re.I) for word in words
    )


def _share(meaning: str, claim: str) -> float:
    """How much of an output's meaning, up to its first comma, stands in the claim."""
    words = content_words(re.split(r"[.;:(,]", meaning, maxsplit=1)[0]).split()
    return len({*words} & {*content_words(claim).split()}) / max(1, len({*words}))


def _testable(question: str, claim: str, about: frozenset[str]) -> bool:
    known = given(question)
    own = [
        item
        for item in quantities(claim)
        if item.unit != "year"
        and not any(item.unit == other.unit and item.value == other.value for other in known)
    ]
    if own or claimed_class(claim, question) or warmer_case(claim):
        return True
    if trend_word(claim) and "trend" in about:
        return True
    if not directions(claim):
        return False
    return bool(about) or not _BEYOND.search(claim)
