"""Claims reconciled by what they are about, so that an answer holds together.

A *subject* is one thing of one run that a reader would settle as a whole; its *facets* (number,
direction, class, judgement, reason) hold the claims. In an exclusive facet at most one claim is
true, so the sampled answers vote on it, and the entropy of their votes is its uncertainty. Entropy
over meanings in place of strings is the idea of semantic entropy (Kuhn, Gal and Farquhar 2023,
ICLR; Farquhar et al. 2024, Nature 630, doi:10.1038/s41586-024-07421-0); here the classes of meaning
are the alternatives of a facet, and an answer that is silent is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from simulrag.errors import InputError
from simulrag.method.numbers import numbers
from simulrag.models.replies import misnumbered
from simulrag.records import DECIDED, Facet, Record, Subject, Verdict

Support = Sequence[Sequence[object]]
"""``support[answer][claim]``: truthy where the answer supports the claim."""

SettledStatus = Literal["aligned", "contradicted", "indeterminate", "ambiguous", "error"]
MEASURED = frozenset({"number", "direction", "class"})
"""Facets of one quantity, which have to agree."""


class SettledSubject(Record):
    """What verification leaves of a subject.

    ``kept``: the claims that stay, ``corrected`` the new text of those that were wrong.
    ``dropped``: the claims that fall away. ``status``: aligned; contradicted (something was
    corrected); indeterminate (the evidence decides nothing, so all claims stay); ambiguous (it
    finds two alternatives true); error (every verification failed). ``rivals``: what the evidence
    finds true beside a kept claim, such as a class beside its neighbour at a limit.
    """

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    status: SettledStatus
    corrected: dict[int, str] = Field(default_factory=dict)
    rivals: dict[int, tuple[int, ...]] = Field(default_factory=dict)


def check_partition(subjects: Sequence[Subject], claims: int) -> None:
    """Raise ValueError, in words that a model can act on, unless each claim is in one facet."""
    in_facets = (claim for subject in subjects for f in subject.facets for claim in f.claims)
    problems = misnumbered(in_facets, claims) + [
        f"subject {at} rests on {other}"
        for at, subject in enumerate(subjects)
        for other in subject.rests_on
        if other == at or not 0 <= other < len(subjects)
    ]
    if problems:
        raise ValueError(
            f"put each claim, 0 to {claims - 1}, into exactly one facet, and let subjects rest on "
            f"others by their position; {'; '.join(problems)}"
        )


def votes(support: Support, alternatives: Sequence[int]) -> tuple[list[float], float]:
    """Shares of the answers' votes: one for each alternative, then that of silence; together 1.

    Each answer has one vote, split evenly over the alternatives that it supports and given to
    silence where it supports none. Without answers all are 0.
    """
    shares = [0.0] * len(alternatives)
    silence = 0.0
    for answer, row in enumerate(support):
        if any(not 0 <= claim < len(row) for claim in alternatives):
            raise InputError(
                f"alternatives {list(alternatives)}: answer {answer} has claims 0 to {len(row) - 1}"
            )
        chosen = [at for at, claim in enumerate(alternatives) if row[claim]]
        for at in chosen:
            shares[at] += 1 / len(chosen) / len(support)
        silence += 0.0 if chosen else 1 / len(support)
    return shares, silence


def vote_entropy(support: Support, alternatives: Sequence[int]) -> float:
    """The entropy, in nats, of the answers' votes over some alternatives and silence.

    ``support[answer][claim]`` is truthy where the answer supports the claim, ``alternatives`` are
    indices of claims. 0 where all answers agree, log m for m answers that say m things. Raises
    InputError for an alternative that is not among the claims.
    """
    shares, silence = votes(support, alternatives)
    return -sum(share * math.log(share) for share in (*shares, silence) if share > 0) + 0.0


def vote_confidence(subjects: Sequence[Subject], support: Support, claims: int) -> list[float]:
    """Each claim's share of the votes, 0 to 1: within its facet where that is exclusive."""
    confidence = [0.0] * claims
    for subject in subjects:
        for facet in subject.facets:
            groups = [facet.claims] if facet.exclusive else [(claim,) for claim in facet.claims]
            for group in groups:
                for claim, share in zip(group, votes(support, group)[0], strict=True):
                    confidence[claim] = share
    return confidence


def uncertainty(subject: Subject, support: Support) -> float:
    """A subject's uncertainty in nats: the largest of its facets' entropies.

    A claim that excludes no other is asked by itself (said or not).
    """
    return max(
        vote_entropy(support, group)
        for facet in subject.facets
        for group in ([facet.claims] if facet.exclusive else [(claim,) for claim in facet.claims])
    )


def settle(
    subject: Subject,
    verdicts: Mapping[int, Verdict] | Sequence[Verdict | None],
    texts: Sequence[str] = (),
) -> SettledSubject:
    """One verdict for a subject, from the verdicts on its claims.

    What the evidence decides of an exclusive facet decides all of it: the true claim stays; where
    none is true one corrected claim stays; the others fall away. Once a quantity's number,
    direction or class is decided, undecided ones of these fall away too, so that nothing unchecked
    stands beside what was checked. ``verdicts``: by claim. ``texts``: of all claims; of two true
    numbers that agree at the coarser one's rounding the finer one stays, else two true alternatives
    are ambiguous.
    """
    if not isinstance(verdicts, Mapping):
        verdicts = {claim: one for claim, one in enumerate(verdicts) if one is not None}
    kept: list[int] = []
    corrected: dict[int, str] = {}
    rivals: dict[int, tuple[int, ...]] = {}
    undecided: list[Facet] = []
    for facet in subject.facets:
        if not facet.exclusive:
            kept += facet.claims
            corrected |= _corrections(facet.claims, verdicts)
            continue
        true = [c for c in facet.claims if _status(verdicts, c) == "aligned"]
        wrong = _corrections(facet.claims, verdicts)
        if true:
            first = _finest(true, texts)
            kept.append(first)
            if not _agree(true, texts):
                rivals[first] = tuple(claim for claim in true if claim != first)
        elif wrong:
            claim, text = next(iter(wrong.items()))
            kept.append(claim)
            corrected[claim] = text
        else:
            undecided.append(facet)
    measured = any(
        facet.kind in MEASURED and facet not in undecided and _decided(facet, verdicts)
        for facet in subject.facets
    )
    for facet in undecided:
        if not (measured and facet.kind in MEASURED):
            kept += facet.claims
    dropped = set(subject.claims) - set(kept)
    return SettledSubject(
        kept=tuple(sorted(kept)),
        dropped=tuple(sorted(dropped)),
        status=_settled_status(subject, verdicts, bool(corrected), bool(rivals)),
        corrected=corrected,
        rivals=rivals,
    )


def one_voice(subject: Subject, support: Support, claims: Sequence[int]) -> tuple[int, ...]:
    """Of a subject that nothing settled, the claims that speak for it: at most one a facet.

    All come from one answer, the best supported, so that they fit each other; a facet on which that
    answer is silent stays empty, unless no answer said anything of the others. ``claims``: those
    that may speak. The order of the answers plays no part.
    """
    allowed = set(claims)
    shares = vote_confidence([subject], support, max(subject.claims) + 1)
    voices: list[tuple[float, tuple[int, ...]]] = []
    for row in support:
        chosen: list[int] = []
        for facet in subject.facets:
            heard = [claim for claim in facet.claims if claim in allowed and row[claim]]
            if facet.exclusive:
                heard = sorted(heard, key=lambda claim: (-round(shares[claim], 9), claim))[:1]
            chosen += heard
        voices.append((sum(shares[claim] for claim in chosen), tuple(sorted(chosen))))
    spoken = [voice for voice in voices if voice[1]]
    if not spoken:
        return ()
    return min(spoken, key=lambda voice: (-round(voice[0], 9), voice[1]))[1]


def unsupported_judgements(
    subjects: Sequence[Subject],
    settled: Mapping[int, SettledSubject],
    verdicts: Mapping[int, Verdict],
    support: Support,
) -> frozenset[int]:
    """Claims that the evidence leaves open and whose grounds it took away.

    ``settled``: by the index of the subject. The grounds of a judgement are what the answers that
    make it say of a subject that it rests on (or is a side of): its direction, else its number,
    else all, since a class is of the size alone. Where none of that is right and something wrong,
    the subject was corrected away from the judgement.
    """

    def taken_away(claim: int, at: int) -> bool:
        ground, left = subjects[at], settled[at]
        heard = [c for c in ground.claims if any(row[claim] and row[c] for row in support)]
        directions, values = (
            [c for facet in ground.facets if facet.kind == kind for c in facet.claims if c in heard]
            for kind in ("direction", "number")
        )
        grounds = directions or values or heard
        right = any(_status(verdicts, other) == "aligned" for other in grounds)
        return not right and any(c in left.corrected or c in left.dropped for c in grounds)

    return frozenset(
        claim
        for at, subject in enumerate(subjects)
        for facet in subject.facets
        for claim in facet.claims
        if _status(verdicts, claim) not in DECIDED
        for other in (*subject.rests_on, *([at] if facet.kind == "judgement" else []))
        if other in settled and taken_away(claim, other)
    )


def _corrections(claims: Sequence[int], verdicts: Mapping[int, Verdict]) -> dict[int, str]:
    return {
        claim: verdicts[claim].updated_claim or ""
        for claim in claims
        if _status(verdicts, claim) == "contradicted"
    }


def _status(verdicts: Mapping[int, Verdict], claim: int) -> str | None:
    verdict = verdicts.get(claim)
    return None if verdict is None else verdict.status


def _decided(facet: Facet, verdicts: Mapping[int, Verdict]) -> bool:
    return any(_status(verdicts, claim) in DECIDED for claim in facet.claims)


def _finest(claims: Sequence[int], texts: Sequence[str]) -> int:
    """The claim whose number is given most precisely; the first where that says nothing."""

    def precision(claim: int) -> float:
        stated = numbers(texts[claim]) if claim < len(texts) else ()
        return min((number.margin for number in stated), default=math.inf)

    return min(claims, key=lambda claim: (precision(claim), claim))


def _agree(claims: Sequence[int], texts: Sequence[str]) -> bool:
    """Whether claims that are all true can be one: each holds for the finest one's numbers."""
    if len(claims) == 1:
        return True
    if max(claims) >= len(texts):
        return False
    finest = numbers(texts[_finest(claims, texts)])
    return all(
        stated and all(any(one.holds_for(other) for other in finest) for one in stated)
        for stated in (numbers(texts[claim]) for claim in claims)
    )


def _settled_status(
    subject: Subject, verdicts: Mapping[int, Verdict], corrected: bool, ambiguous: bool
) -> SettledStatus:
    statuses = [_status(verdicts, claim) for claim in subject.claims]
    if ambiguous:
        return "ambiguous"
    if corrected:
        return "contradicted"
    if "aligned" in statuses:
        return "aligned"
    failed = bool(statuses) and all(status == "error" for status in statuses)
    return "error" if failed else "indeterminate"
