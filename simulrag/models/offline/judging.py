"""Labels of claims by a reference answer, with the tolerance that the prompt states."""

from __future__ import annotations

import re

from pydantic import JsonValue

from simulrag.models.offline.comparing import checks
from simulrag.models.offline.phrasing import canonical
from simulrag.models.offline.qualities import MEASURED
from simulrag.statements import directions, subjects
from simulrag.statements.facts import facts, sentences

_STOP_WORDS = (
    "the a an of in on at to and or is are be this that with by for from as it its which will would"
    " also both their these those into than under over has have more most very such can could may"
    " overall due not no does do was were been being about within"
)
_STOP = frozenset(_STOP_WORDS.split())
_TOLERANCE = re.compile(r"tolerance of\s+(\d+(?:\.\d+)?)\s*(?:%|percent)", re.I)
_DENIAL = re.compile(r"\b(?:not|no|never|without|neither|nor|fails? to|cannot|unable)\b", re.I)
_PRAISE = (
    re.compile(
        r"\b(?:effective(?:ly)?|success\w*|improv\w+|benefit\w*|beneficial|positive|compelling|better"
        r"|acceptable|favou?rable|achiev\w+|enhanc\w+|viable|worthwhile|well balanced)\b",
        re.I,
    ),
    re.compile(
        r"\b(?:ineffective|fail\w*|worse\w*|miss(?:es|ed)|deteriorat\w+|negative|harmful|unacceptable|unsuccessful|poor\w*"
        r"|detriment\w*|counterproductive|undermin\w+|unfavou?rable)\b",
        re.I,
    ),
)
_OVERALL = re.compile(
    r"\b(?:overall|on balance|taken together|all in all|in sum|altogether|as a whole|on the whole"
    r"|strategy|package|plan|policy|intervention|measures|outcome|approach)\b",
    re.I,
)
_MIXED = re.compile(
    r"\b(?:trade-?offs?|mixed|partly|partial(?:ly)?|at the (?:cost|expense) of|some .{0,60}worse"
    r"|neither better nor worse)\b",
    re.I,
)
_TIMING = (
    re.compile(r"\b(?:early|immediately|soon|quickly|outset|start of the season)\b", re.I),
    re.compile(r"\b(?:late|later|delayed|mid-season|toward the end)\b", re.I),
)
_SEVERITY = (
    re.compile(r"\b(?:mild|low|modest|small|limited|contained|suppressed|minor|weak)\b", re.I),
    re.compile(r"\b(?:severe|high|large|substantial|significant|major|intense|massive)\b", re.I),
)


def tolerance(prompt: str) -> float | None:
    """The numeric tolerance in percent that the judge's prompt states, None for rounding."""
    match = _TOLERANCE.search(prompt)
    return float(match[1]) if match else None


def judge(
    question: str, reference: str, claim: str, tolerance_percent: float | None
) -> dict[str, JsonValue]:
    """The reply to ``label``: true, false or undecided, with the reason in one sentence."""
    if f" {_normal(claim)} " in f" {_normal(reference)} ":  # whole words: 1 is not 12.9
        return _reply("true", "The reference says so in these words.")
    claim = canonical(claim)
    found = checks(claim, question, reference, tolerance_percent)
    failed = [item for item in found if not item.holds]
    if failed:
        return _reply("false", _sentence(failed[0].reason))
    unmatched = _unmatched_numbers(claim, question, reference, len(found))
    if found and not unmatched:
        return _reply("true", _sentence(found[0].reason))
    if unmatched:
        return _reply("undecided", "The reference gives no such number.")
    return _qualitative(claim, reference)


def _unmatched_numbers(claim: str, question: str, reference: str, decided: int) -> bool:
    stated = facts(claim, question)
    if not stated:
        return False
    matched = sum(1 for item in checks(claim, question, reference) if item.part == "number")
    return matched < len(stated) and (decided == 0 or matched == 0 or len(stated) > matched)


def _qualitative(claim: str, reference: str) -> dict[str, JsonValue]:
    """Judgements without a number: the polarity of the reference's most similar sentence."""
    best, share = "", 0.0
    words = _content(claim)
    for sentence in sentences(reference):
        common = len(words & _content(sentence)) / max(1, len(words))
        if common > share:
            best, share = sentence, common
    for low, high in (_TIMING, _SEVERITY):
        said, known = _side(claim, low, high), _side(best, low, high)
        if said and known and subjects(claim) & subjects(best) & (MEASURED | {"trend"}):
            if said != known:
                return _reply("false", "The reference describes the opposite.")
            return _reply("true", "The reference describes it alike.")
    if share >= 0.6:
        opposed = bool(_DENIAL.search(claim)) != bool(_DENIAL.search(best))
        opposed = opposed or _opposed(verdict(claim), verdict(best))
        turned = directions(claim) and directions(best) and not directions(claim) & directions(best)
        if opposed or turned:
            return _reply("false", "The reference says the opposite.")
        return _reply("true", "The reference says as much in other words.")
    if _OVERALL.search(claim) and (said := verdict(claim)):
        told = [word for sentence in sentences(reference)[-2:] if (word := verdict(sentence))]
        if told:
            agrees = said == told[-1]
            word = "agrees with" if agrees else "contradicts"
            return _reply("true" if agrees else "false", f"The reference's judgement {word} it.")
    return _reply("undecided", "The reference does not settle it.")


def verdict(text: str) -> str | None:
    """The overall judgement of a sentence: better, worse or mixed, None where it judges nothing."""
    if _MIXED.search(text):
        return "mixed"
    text = re.sub(r"\bno improvement\b", "worse", text, flags=re.I)
    side = _side(text, *_PRAISE)
    if side is None:
        return None
    better = (side == "first") != bool(_DENIAL.search(text))
    return "better" if better else "worse"


def _opposed(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _side(text: str, first: re.Pattern[str], second: re.Pattern[str]) -> str | None:
    ones, twos = len(first.findall(text)), len(second.findall(text))
    if ones == twos:
        return None
    return "first" if ones > twos else "second"


def _content(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z][a-z0-9-]+", text.lower()) if word not in _STOP}


def _normal(text: str) -> str:
    return " ".join(re.findall(r"[\w.%°-]+", text.lower())).rstrip(".")


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] + "."


def _reply(label: str, reason: str) -> dict[str, JsonValue]:
    return {"label": label, "reason": reason}
