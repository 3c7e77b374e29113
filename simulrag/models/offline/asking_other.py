"""What a question outside the three known fields asks for: its own noun phrases, guessed blindly.

Nothing is known of the quantities but what the question says: whether a change or a level is asked,
which of two is the larger, and in which classes and unit the answer is to be told.
"""

from __future__ import annotations

import re

from simulrag.models.offline import priors
from simulrag.models.offline.points import Point
from simulrag.models.offline.sentences import sentences
from simulrag.statements import thresholds

_MOST = 6
_STOP = (
    r"(?=\s+(?:change|differ|be|under|after|when|if|would|will|with)\b|\s+and (?:is|are|would|what"
    r"|how|when)\b|\s+in (?:percent|%|\w+/\w+)|[?,;(]|$)"
)
_ASKED = re.compile(
    r"\b(?:what (?:is|are|would be|will be|do you expect for|happens to)"
    r"|(?:by )?how (?:much|many|far|large|big|high|low|long|strongly)"
    r"(?: (?:is|are|do|does|would|will)\b)?"
    r"|how (?:do|does|will|would))"
    rf"\s+(?:the )?(?P<noun>[a-z][^?,;(]{{2,120}}?){_STOP}",
    re.I,
)
_WHEN = re.compile(
    r"\bwhen (?:is|do|does|will|would) (?P<subject>[^?,;]{3,80}?) (?P<verb>peak|reach|rise|fall|run"
    r"|end|start|begin|stop|exceed|drop|become|occur|double|halve|return)(?P<rest>\b[^?,;]*)",
    re.I,
)
_LARGER = re.compile(
    r"\bwhich (?:of (?:the|these) two )?(?:is|would be|will be) (?:the )?(?:larger|higher|greater"
    r"|bigger|more)\b[^,:?]*[,:] (?:the )?(?P<one>[^?,]+?),? or (?:the )?(?P<two>[^?,]+)\?",
    re.I,
)
_CHANGE_OF = re.compile(
    r"^(?:(?:net|relative|percentage|percent) )*(?:change|difference) (?:in|of) (?:the )?", re.I
)
_MOVES = re.compile(r"\s+(?:change|differ|grow|fall|rise|shrink|increase|decrease)\b", re.I)
_UNITS = {"percent": "%", "degc": "°C"}


def other_points(question: str) -> list[Point]:
    """The points of a question of no known field, one a quantity that it names."""
    found = [point for sentence in sentences(question) for point in _of_sentence(sentence)]
    one_each = list({(point.topic, point.kind): point for point in found}.values())
    return one_each[:_MOST] or [Point("outcome", "the outcome", priors.UNKNOWN_CHANGE_PERCENT)]


def _of_sentence(sentence: str) -> list[Point]:
    larger = _LARGER.search(sentence)
    if larger:
        one, two = (f"the {larger[name].strip()}" for name in ("one", "two"))
        names = tuple(f"{one[0].upper()}{one[1:]} would be {w} than {two}." for w in _ORDER)
        return [Point(f"{one} or {two}", "", priors.UNKNOWN_CHANGE_PERCENT, "order", names=names)]
    stated = thresholds(sentence)
    classes = stated[0].classes if stated else ()
    unit = _UNITS.get(stated[0].unit, "") if stated else ""
    found = []
    for match in _WHEN.finditer(sentence):
        noun = f"the time until {match['subject']} would {match['verb']}{match['rest'].rstrip()}"
        found.append(Point(noun.lower(), noun, priors.UNKNOWN_LEVEL, "level", ""))
    for match in _ASKED.finditer(sentence):
        noun = _CHANGE_OF.sub("", match["noun"])
        changes = noun != match["noun"] or _MOVES.match(sentence, match.end())
        for name in re.split(r" and (?:the )?", noun) if changes else [noun]:
            expected = priors.UNKNOWN_CHANGE_PERCENT if changes else priors.UNKNOWN_LEVEL
            found.append(
                Point(
                    name.lower(),
                    f"the {name}",
                    expected,
                    "change" if changes else "level",
                    unit or ("%" if changes else ""),
                    classes=classes,
                )
            )
    return found


_ORDER = ("higher", "lower")
