"""Sentences into atomic claims: clauses stand alone, each with its subject named."""

from __future__ import annotations

import re
from functools import lru_cache

from simulrag.models.offline.profiles import INPUTS, spans
from simulrag.models.offline.sentences import (
    BASE_FORMS,
    coordinated,
    finite_verb,
    sentences,
    starts_with_verb,
    subject_of,
    tails,
)
from simulrag.models.offline.wording import capitalised
from simulrag.statements import directions, quantities

_CONNECTIVE = re.compile(
    r"^(?:however|furthermore|moreover|additionally|in addition|conversely|therefore|thus|hence|"
    r"simultaneously|meanwhile|consequently|crucially|critically|as a result|also|and|but|"
    r"finally|notably|by contrast|at the same time|specifically|quantitatively|importantly|in turn|"
    r"similarly|likewise|in contrast|on the other hand|concurrently),?\s+",
    re.IGNORECASE,
)
_BY_THRESHOLDS = re.compile(
    r"^(?:based on|given|according to|by) (?:the |these )?[^,.]*(?:thresholds?|criteria)[^,.]*,\s*",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"\b(?:trade-?off|effective|successful|balanced?|strategy|goals?)\b", re.I)
_CHANGED = re.compile(
    r"\b(?:change|reduction|increase|decrease|difference|rise|drop|warming|cooling|peak)", re.I
)
_POINTING = re.compile(
    r"^(?:this|that|these|the|such a)\s+(?P<noun>(?:\w+\s+){0,2}?"
    r"(?:change|reduction|increase|decrease|decline|rise|drop|difference|magnitude|impact|effect|shift|trend|improvement|value))s?\b"
    r"(?! (?:in|of|between|from)\b)",
    re.IGNORECASE,
)
_ADJECTIVES = re.compile(
    r"(?:\b(?:total|average|overall|local|hospital|median|initial|vehicle|projected)\s+)*$"
)
_EMISSION_INPUTS = re.compile(r"temperature|CH4|SO2|black carbon|warm|cool|climat", re.I)
_NO_TOPICS = frozenset({"trend", "four_week_growth", "land_or_sea"})
_PRONOUN = re.compile(r"^(?:it|this|that|these|they|which)\s+(?=[a-z])", re.IGNORECASE)
_ING = re.compile(r"^(?:thus |thereby |clearly |\w+ly )?(?P<verb>[a-z]+ing)\b", re.IGNORECASE)
_GAPPING = re.compile(r"^(?P<np>[^,]*?[a-z0-9'’)])\s+(?P<rest>(?:by|to|at)\s+.*)$", re.IGNORECASE)
_DOUBLED = re.compile(r"(?:([bdgmnprt])\1)$")
_E_STEMS = re.compile(
    r"(?:c|s|v|z|u|duc|plac|las|ris|creas|clin|chiev|strat|cat|at|mak|tak|giv|clos|pos|prov|"
    r"driv|declin|reduc|requir|combin|determin)$"
)


@lru_cache(maxsize=512)
def atoms(text: str) -> tuple[str, ...]:
    """All atomic claims of a text in order. No number is lost and none is added."""
    claims: list[str] = []
    topic = ""
    for sentence in sentences(text):
        if sentence.endswith("?"):
            continue
        stripped = _BY_THRESHOLDS.sub("", _CONNECTIVE.sub("", sentence))
        resolved = _resolve(capitalised(stripped), topic)
        body, trailing = tails(resolved)
        clauses = _clauses(body)
        topic = _topic(clauses) or topic
        claims += clauses
        claims += [made for tail in trailing if (made := _from_tail(tail, topic, body))]
    return tuple(dict.fromkeys(_finished(claim) for claim in claims if claim.strip(" .")))


def _finished(claim: str) -> str:
    return capitalised(claim.strip(" ,;")).rstrip(" .!,;") + "."


def _resolve(sentence: str, topic: str) -> str:
    """'This reduction is moderate' becomes 'The reduction in CO2 emissions is moderate'."""
    if not topic:
        return sentence
    pointing = _POINTING.match(sentence)
    if pointing and not _measured(pointing["noun"]):
        noun = pointing["noun"]
        named = topic if _CHANGED.search(topic) else f"The {noun} in {_uncapitalised(topic)}"
        return f"{capitalised(named)}{sentence[pointing.end() :]}"
    pronoun = _PRONOUN.match(sentence)
    if pronoun is None or not starts_with_verb(sentence[pronoun.end() :]):
        return sentence
    rest = sentence[pronoun.end() :]
    if re.match(r"(?:these|they)\b", sentence, re.IGNORECASE) and re.match(r"\w{3,}s\b", rest):
        return sentence  # "These results ...": a noun, not a verb
    return f"{'The outcome' if _VERDICT.search(rest) else capitalised(topic)} {rest}"


def _uncapitalised(text: str) -> str:
    second = text[1:2]
    return text if second.isupper() or second.isdigit() else text[:1].lower() + text[1:]


def _measured(text: str) -> list[tuple[str, int, int]]:
    """The outcomes that a text names; emissions beside temperatures are inputs."""
    inputs = INPUTS | {"co2"} if _EMISSION_INPUTS.search(text) else INPUTS
    return [span for span in spans(text) if span[0] not in inputs]


def _topic(clauses: list[str]) -> str:
    """What the last clause with a measured outcome is about, as a noun phrase."""
    for clause in reversed(clauses):
        head = subject_of(clause)
        if head and len(head) < 90 and _measured(head):
            return head
        measured = [
            (name, start, end)
            for name, start, end in _measured(clause)
            if name not in _NO_TOPICS and not re.search(r"\d°", clause[start:end])
        ]
        if measured:
            _, start, end = measured[0]
            return f"{_ADJECTIVES.search(clause[:start])[0]}{clause[start:end]}"  # type: ignore[index]
        if head and len(head) < 60 and not _PRONOUN.match(head + " is"):
            return head
    return ""


def _clauses(body: str) -> list[str]:
    done: list[str] = []
    for word, part in coordinated(body):
        if not done:
            done.append(part)
            continue
        subject = subject_of(done[-1])
        made = _independent(word, part, done[-1], subject)
        if made is None:
            joint = word if word in ("and", "but", "while", "with", "so", "yet", "as") else "and"
            done[-1] = (
                f"{done[-1].rstrip('. ')}{', ' if word in ('with', 'as') else ' '}{joint} {part}"
            )
        else:
            done.append(made)
    return done


def _independent(word: str, part: str, previous: str, subject: str) -> str | None:
    """The part as a sentence of its own, None where it belongs to the clause before it."""
    carries = bool(quantities(part))
    verb = finite_verb(part)
    if starts_with_verb(part) and subject:
        return f"{subject} {part}"
    if word == "with":
        return _from_with(part, subject) if carries else None
    if verb is not None and len(part[: verb.start()].split()) >= 1:
        return part if _measured(part) or carries or word in (";", "while", "but") else None
    return _gapped(part, previous) if carries and quantities(previous) else None


def _gapped(part: str, previous: str) -> str | None:
    """'idling by 20 %' behind 'CO2 falls by 10 %' as 'idling falls by 20 %'."""
    shared = _GAPPING.match(part)
    verb = finite_verb(previous)
    if shared is None or verb is None or finite_verb(shared["rest"]):
        return None
    action = re.match(r"(.*?)\s+(?:by|to|at)\s", previous[verb.start() :])
    if action is None:
        return None
    singular = action[1] in BASE_FORMS and not shared["np"].endswith("s")
    return f"{shared['np']} {action[1]}{'s' if singular else ''} {shared['rest']}"


def _from_with(part: str, subject: str) -> str | None:
    """'with idling falling by 5 %' as a sentence; 'with a median of 9' said of the subject."""
    acting = re.match(r"(?P<np>.{3,70}?)\s+(?P<verb>[a-z]+ing)\b(?P<rest>.*)", part)
    if acting and _measured(acting["np"]):
        return f"{acting['np']} {_finite(acting['verb'], acting['np'])}{acting['rest']}"
    if subject and re.match(r"(?:a|an|the|its|only|about|approximately)\b", part):
        return f"{subject} has {part}"
    return None


def _from_tail(tail: str, topic: str, body: str) -> str:
    """A relative or participle clause as a sentence about what came before it."""
    name = topic or subject_of(body)
    if not name:
        return tail if quantities(tail) else ""
    if (
        topic
        and _measured(topic)
        and not quantities(tail)
        and not _CHANGED.search(name)
        and directions(body)
    ):
        name = f"The change in {_uncapitalised(name)}"
    which = re.match(r"which\s+", tail, re.IGNORECASE)
    if which:
        return f"{name} {tail[which.end() :]}"
    acting = _ING.match(tail)
    if acting:
        return f"{name} {_finite(acting['verb'], name)}{tail[acting.end('verb') :]}"
    if starts_with_verb(tail):
        return f"{subject_of(body) or name} {tail}"
    return tail


def _finite(participle: str, subject: str) -> str:
    """The verb in the number of its subject: 'emissions fall', 'travel time falls'."""
    singular = third_person(participle)
    if re.search(r"(?<![si])s$", subject) and not re.search(r"\b(?:of|in) ", subject):
        return singular[:-2] if re.search(r"(?:ch|sh|x|ss)es$", singular) else singular[:-1]
    return singular


def third_person(participle: str) -> str:
    """'falling' as 'falls', 'placing' as 'places', 'dropping' as 'drops'."""
    stem = participle[:-3].lower()
    if _DOUBLED.search(stem):
        return stem[:-1] + "s"
    if _E_STEMS.search(stem):
        return stem + "es"
    if stem.endswith(("ch", "sh", "x", "ss", "o")):
        return stem + "es"
    if stem.endswith("y") and stem[-2:-1] not in "aeiou":
        return stem[:-1] + "ies"
    return stem + "s"
