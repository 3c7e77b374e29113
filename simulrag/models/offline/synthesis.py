"""The final answer: kept claims as connected prose, in the question's order."""

from __future__ import annotations

from collections.abc import Sequence

from simulrag.models.offline.profiles import INPUTS, Profile, profile
from simulrag.models.offline.sentences import plain
from simulrag.models.offline.situations import asked_part
from simulrag.models.offline.wording import capitalised
from simulrag.statements import subject_spans

_KIND_ORDER = {"number": 0, "direction": 1, "class": 2, "other": 3}
_CONNECTIVES = ("", "In addition, ", "", "Moreover, ")
_SMALL_STARTS = frozenset(
    {
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "total",
        "average",
        "overall",
        "initial",
        "local",
        "it",
        "its",
        "i",
        "my",
        "by",
    }
)


def final(question: str, claims: Sequence[str]) -> str:
    """The claims in prose: nothing added but connecting words, and what stays open.

    Claims come in the order in which the question asks for their subjects, judgements last. A
    subject that the question asks for and no claim speaks of is named as open.
    """
    asked = [
        (name, plain(question)[start:end])
        for name, start, end in subject_spans(plain(question))
        if name not in INPUTS and name in _asked_names(question)
    ]
    order = list(dict.fromkeys(name for name, _ in asked))
    unique = list(dict.fromkeys(" ".join(claim.split()) for claim in claims if claim.strip()))
    if not unique:
        return "No claim could be kept, so the question stays open."
    read = [profile(claim) for claim in unique]
    ranked = sorted(range(len(unique)), key=lambda i: (*_place(read[i], order), i))
    lines = [
        _sentence(unique[index], _connective(position, read, ranked))
        for position, index in enumerate(ranked)
    ]
    covered = frozenset(name for item in read if item.kind != "judgement" for name in item.subjects)
    missing = [words for name, words in dict(reversed(asked)).items() if not _covers(covered, name)]
    if missing:
        listed = " and ".join(
            word.lower() if word[1:].islower() else word for word in missing[::-1]
        )
        lines.append(f"What the question asks about {listed} stays open.")
    return " ".join(lines)


def _asked_names(question: str) -> frozenset[str]:
    return frozenset(name for name, _, _ in subject_spans(asked_part(question)))


def _covers(covered: frozenset[str], name: str) -> bool:
    """Whether a subject, or the subject it is part of, is spoken of."""
    return any(name.startswith(other) or other.startswith(name) for other in covered)


def _place(item: Profile, order: list[str]) -> tuple[int, int]:
    if item.kind == "judgement":
        return len(order) + 1, 0
    places = [order.index(name) for name in item.subjects if name in order]
    kind = _KIND_ORDER[item.kind]
    return (min(places) if places else len(order)), kind


def _connective(position: int, read: list[Profile], ranked: list[int]) -> str:
    if position == 0 or read[ranked[position]].kind == "judgement":
        return ""
    changed = not read[ranked[position]].subjects & read[ranked[position - 1]].subjects
    return _CONNECTIVES[position % len(_CONNECTIVES)] if changed else ""


def _sentence(claim: str, connective: str) -> str:
    text = claim.strip().rstrip(".") + "."
    first = text.split(" ", 1)[0]
    if connective and first.lower() in _SMALL_STARTS and first != "I":
        return connective + text[:1].lower() + text[1:]
    return connective + text if connective else capitalised(text)
