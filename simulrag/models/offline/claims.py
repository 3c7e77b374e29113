"""Claims of answers: taking answers apart, merging claims, support, and stated certainty."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random

from simulrag.models.offline.decomposition import atoms
from simulrag.models.offline.profiles import Profile, content_words, profile, same, states
from simulrag.models.offline.sentences import sentences
from simulrag.models.offline.situations import asked_part

_WEIGHT = {"number": 3, "class": 2, "direction": 2, "judgement": 1, "other": 0}


def decompose(question: str, answer: str, limit: int | None) -> list[str]:
    """The atomic claims of an answer that bear on the question, in the answer's order.

    At most ``limit``: numbers before classes and directions, these before judgements. Every number
    of the answer stands in some claim where no limit cuts it off.
    """
    asked = frozenset(content_words(asked_part(question)).split()) if question.strip() else None
    kept = [claim for claim in atoms(answer) if asked is None or _answers(profile(claim), asked)]
    if limit is None or len(kept) <= limit:
        return kept
    ranked = sorted(range(len(kept)), key=lambda i: (-_WEIGHT[profile(kept[i]).kind], i))
    return [kept[index] for index in sorted(ranked[:limit])]


def _answers(claim: Profile, asked: frozenset[str]) -> bool:
    if claim.numbers or claim.subjects or claim.judgement:
        return True
    shared = asked & frozenset(claim.words.split())
    return len(shared) >= (1 if claim.kind in ("class", "direction") else 2)


def merge(existing: Sequence[str], new: Sequence[str]) -> list[list[int]]:
    """[existing index, new index] where both say the same; a new claim appears at most once."""
    known = [profile(claim) for claim in existing]
    pairs: list[list[int]] = []
    for index, claim in enumerate(new):
        read = profile(claim)
        found = next((i for i, other in enumerate(known) if same(other, read)), None)
        if found is not None:
            pairs.append([found, index])
    return pairs


def entail(answer: str, claims: Sequence[str]) -> list[bool]:
    """One bool a claim: some sentence or clause of the answer supports it."""
    parts = [profile(part) for part in dict.fromkeys([*atoms(answer), *sentences(answer)])]
    return [any(states(part, profile(claim)) for part in parts) for claim in claims]


def verbalized(question: str, claim: str, random: Random) -> float:
    """A stated probability in [0, 1], two decimals, of mild use.

    Directions and classes are held surer than precise numbers; most of the rest is the claim's own
    spread, as models' stated certainty is.
    """
    read = profile(claim)
    base = {"number": 0.58, "class": 0.68, "direction": 0.8, "judgement": 0.72, "other": 0.7}
    middle = base[read.kind] - 0.05 * sum(n.decimals > 0 for n in read.numbers[:2])
    digest = hashlib.sha256(f"{question}\n{claim}".encode()).digest()
    own = (int.from_bytes(digest[:4], "big") / 2**32 - 0.5) * 0.3
    return round(min(max(middle + own + random.gauss(0, 0.05), 0.01), 0.99), 2)
