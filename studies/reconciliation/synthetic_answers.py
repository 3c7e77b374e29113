"""Questions with sampled answers, claims, subjects and verdicts drawn from a known truth.

Nothing is asked of a model: a draft is drawn as the method would leave it after verification, and
what is true of each claim is told beside it. So a rule that chooses and settles claims can be
measured against the truth itself, over as many draws as wanted.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from simulrag.method.confidence import claim_confidence
from simulrag.method.reconciliation import vote_confidence
from simulrag.records import (
    VOTES,
    Answer,
    Claim,
    Evidence,
    Facet,
    FacetKind,
    Retrieval,
    Subject,
    ToolCall,
    Verdict,
)

CLASSES = ("small", "moderate", "large")
_EVIDENCE = Evidence(
    simulator="drawn",
    call=ToolCall(tool="truth", arguments={}),
    seed=0,
    outputs={},
    text="The truth.",
)


@dataclass(frozen=True)
class World:
    """How answers come about. Probabilities are from 0 to 1.

    ``subjects`` quantities are asked for, ``samples`` answers given. An answer speaks of a quantity
    with probability ``spoken``; with probability ``correlation`` it then repeats what one source
    says that all answers share, else it draws by itself. Both the source and a draw are right with
    probability ``accuracy``, which therefore holds for each answer whatever the correlation, and
    otherwise take one of ``alternatives`` wrong numbers. With probability ``classed`` an answer
    also names the class of its number. Each claim is put into a wrong subject with probability
    ``misplaced``, and whole subjects lie within the simulator's reach with ``reach``. By default
    a question has about 20 claims, as many as in the recorded run's longer questions.
    """

    subjects: int = 8
    samples: int = 5
    accuracy: float = 0.4
    correlation: float = 0.3
    alternatives: int = 5
    spoken: float = 0.6
    classed: float = 0.25
    misplaced: float = 0.0
    reach: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """A verified draft; for each claim, the quantity it is really about and whether it is true."""

    answer: Answer
    about: tuple[int, ...]
    true: tuple[bool, ...]


def draw(world: World, seed: int) -> Drawn:
    """One question's draft. Equal worlds and seeds give equal drafts, and misplacing moves claims
    of the same answers."""
    rng = _stream("answers", seed)
    support: dict[tuple[int, FacetKind, int], list[bool]] = {}
    for quantity in range(world.subjects):
        shared = _number(world, rng)
        for sample in range(world.samples):
            # All numbers are drawn each time, so that worlds that differ in one thing share draws.
            own, silent = _number(world, rng), rng.random() >= world.spoken
            copies, classed = rng.random() < world.correlation, rng.random() < world.classed
            if silent:
                continue
            number = shared if copies else own
            said: list[tuple[FacetKind, int]] = [("number", number)]
            if classed:
                said.append(("class", number % len(CLASSES)))
            for kind, value in said:
                support.setdefault((quantity, kind, value), [False] * world.samples)[sample] = True
    keys = list(support)
    rows = [[support[key][sample] for key in keys] for sample in range(world.samples)]
    subjects = _grouped(world, keys, _stream("places", seed))
    beyond = _stream("reach", seed)
    within = [beyond.random() < world.reach for _ in range(world.subjects)]
    closeness = claim_confidence(rows) if keys else []
    shares = vote_confidence(subjects, rows, len(keys))
    claims = [
        Claim(
            text=_text(*key),
            sources=tuple((sample, 0) for sample, said in enumerate(support[key]) if said),
            support=tuple(support[key]),
            confidence={"closeness": closeness[at], VOTES: shares[at]},
            boundary=within[key[0]],
            verdict=_verdict(key, within[key[0]]),
        )
        for at, key in enumerate(keys)
    ]
    answer = Answer(
        question_id=f"drawn-{seed}",
        domain="drawn",
        retrieval=Retrieval(status="retrieved", evidence=(_EVIDENCE,), attempts=1),
        closed_book=tuple(f"Answer {sample}." for sample in range(world.samples)),
        claims=tuple(claims),
        subjects=subjects,
    )
    return Drawn(answer, tuple(key[0] for key in keys), tuple(key[2] == 0 for key in keys))


def _stream(name: str, seed: int) -> random.Random:
    return random.Random(f"{name} {seed}")  # noqa: S311 - draws, not secrets


def _number(world: World, rng: random.Random) -> int:
    """0, the truth, or the position of a wrong alternative, from 1."""
    right, wrong = rng.random() < world.accuracy, rng.randint(1, world.alternatives)
    return 0 if right else wrong


def _grouped(
    world: World, keys: list[tuple[int, FacetKind, int]], rng: random.Random
) -> tuple[Subject, ...]:
    facets: dict[int, dict[FacetKind, list[int]]] = {}
    for at, (quantity, kind, _) in enumerate(keys):
        moved, other = rng.random() < world.misplaced, rng.randrange(max(1, world.subjects - 1))
        place = (other + (other >= quantity)) % world.subjects if moved else quantity
        facets.setdefault(place, {}).setdefault(kind, []).append(at)
    return tuple(
        Subject(
            about=f"quantity {quantity}",
            facets=tuple(
                Facet(kind=kind, exclusive=True, claims=tuple(claims))
                for kind, claims in sorted(facets[quantity].items(), reverse=True)
            ),
        )
        for quantity in sorted(facets)
    )


def _text(quantity: int, kind: FacetKind, value: int) -> str:
    said = CLASSES[value] if kind == "class" else f"{10 + 7 * value} units"
    return f"Quantity {quantity} is {said}."


def _verdict(key: tuple[int, FacetKind, int], within: bool) -> Verdict:
    if not within:
        return Verdict(status="indeterminate")
    quantity, kind, value = key
    if value == 0:
        return Verdict(status="aligned")
    return Verdict(status="contradicted", updated_claim=_text(quantity, kind, 0))
