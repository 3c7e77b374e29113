"""Selection by expected change: where a call is expected to mend most of what an answer says.

What verification mends is learnt on the development part, whose verdicts are stored: how often it
contradicted what would have been said, by what was known before (the uncertainty of the votes, and
whether the simulator could check). Elsewhere that chance, divided by the claims that are sent, is
the expected gain of a call.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from simulrag.method.reconciliation import Support, one_voice, uncertainty
from simulrag.method.selection import SubjectCandidates
from simulrag.records import Answer

PRIOR = 5.0
"""A level's rate is drawn towards that of all as if it had been seen so many times more."""


@dataclass(frozen=True)
class Chances:
    """How often verification mends something, by level; ``rate``: of all, and of unseen levels."""

    by_level: dict[Hashable, float]
    rate: float

    @classmethod
    def fitted(cls, seen: Iterable[tuple[Hashable, bool]]) -> Chances:
        """From levels and whether each was mended; one half where nothing was seen."""
        pairs = list(seen)
        rate = sum(mended for _, mended in pairs) / len(pairs) if pairs else 0.5
        mended = Counter(level for level, was in pairs if was)
        levels = Counter(level for level, _ in pairs)
        return cls(
            {one: (mended[one] + PRIOR * rate) / (n + PRIOR) for one, n in levels.items()}, rate
        )

    def of(self, level: Hashable) -> float:
        """The chance at a level, 0 to 1."""
        return self.by_level.get(level, self.rate)


@dataclass(frozen=True)
class Weighed:
    """A subject before its verification: its level, and the claims that would be sent for it.

    ``mended``: whether verification contradicts what would be said of it; None: not known.
    """

    level: Hashable
    claims: int
    mended: bool | None


def weighed(answer: Answer, sent: Sequence[Sequence[int]], support: Support) -> list[Weighed]:
    """The subjects of a draft; ``sent``: the claims that each would send."""
    found = []
    for subject, own in zip(answer.subjects, sent, strict=True):
        inside = any(answer.claims[claim].boundary for claim in subject.claims)
        said = one_voice(subject, support, subject.claims)
        verdicts = [answer.claims[claim].verdict for claim in said]
        known = None not in verdicts
        mended = any(v is not None and v.status == "contradicted" for v in verdicts)
        level = (round(uncertainty(subject, support), 1), inside)
        found.append(Weighed(level, max(1, len(own)), mended if known else None))
    return found


def chances_of(subjects: Iterable[Weighed]) -> Chances:
    """Fitted on the subjects of the development part whose verdicts are known."""
    return Chances.fitted((one.level, one.mended) for one in subjects if one.mended is not None)


def by_gain(
    subjects: Sequence[Weighed], within: SubjectCandidates, chances: Chances
) -> SubjectCandidates:
    """The subjects of one question with their expected gain a claim for their uncertainty."""
    gains = tuple(chances.of(one.level) / one.claims for one in subjects)
    return SubjectCandidates(gains, within.within_reach)


def in_development(question_id: str, share: float) -> bool:
    """Whether a question belongs to the development part, by the hash of its id."""
    digest = hashlib.sha256(f"development {question_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < share
