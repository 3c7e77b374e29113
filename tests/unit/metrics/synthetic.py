"""Answers, labels and final claims drawn with known parameters."""

from __future__ import annotations

import random
from dataclasses import dataclass

from simulrag.method.confidence import claim_confidence
from simulrag.records import (
    CENTRALITIES,
    Answer,
    Claim,
    FinalClaims,
    Label,
    LabelValue,
    Question,
    Verdict,
    claim_hash,
)
from tests.making import answer, failed, label, line, question


@dataclass(frozen=True)
class Study:
    """Everything that the evaluation reads, of one synthetic domain."""

    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    labels: tuple[Label, ...]
    finals: tuple[FinalClaims, ...]

    @property
    def scenario_of(self) -> dict[str, str]:
        return {question.question_id: question.scenario_id for question in self.questions}


def study(
    questions: int = 40,
    seed: int = 5,
    *,
    claims: int = 10,
    per_scenario: int = 2,
    failures: int = 1,
    domain: str = "urban",
) -> Study:
    """A domain in which agreement, the boundary and verification all tell something."""
    rng = random.Random(seed)
    records: list[tuple[Question, Answer, list[Label], list[FinalClaims]]] = []
    for index in range(questions):
        name = f"{domain}-{index:03d}"
        asked = question(name, f"{domain}-s{index // per_scenario}", domain)
        if index < failures:
            records.append((asked, failed(name, domain), [], []))
            continue
        records.append((asked, *_question(rng, name, claims, domain)))
    return Study(
        questions=tuple(asked for asked, *_ in records),
        answers=tuple(done for _, done, _, _ in records),
        labels=tuple(item for _, _, labels, _ in records for item in labels),
        finals=tuple(item for *_, finals in records for item in finals),
    )


def _question(
    rng: random.Random, name: str, count: int, domain: str
) -> tuple[Answer, list[Label], list[FinalClaims]]:
    truths = [rng.random() < 0.5 for _ in range(count)]
    support = [[rng.random() < (0.7 if true else 0.4) for true in truths] for _ in range(5)]
    scores = {centrality: claim_confidence(support, centrality) for centrality in CENTRALITIES}
    made: list[Claim] = []
    labels: dict[str, Label] = {}
    for index, true in enumerate(truths):
        inside = rng.random() < 0.6
        decided = rng.random() < (0.9 if inside else 0.1)
        number = rng.randint(1, 40) + index * 50
        text = f"Mean travel time rises by {number} percent in case {index}."
        updated = f"Mean travel time rises by {number + 1.5} percent in case {index}."
        status = ("aligned" if true else "contradicted") if decided else "indeterminate"
        made.append(
            Claim(
                text=text,
                sources=((index % 5, index),),
                support=tuple(row[index] for row in support),
                confidence={key: round(values[index], 12) for key, values in scores.items()},
                verbalized=round(min(1.0, max(0.0, rng.gauss(0.6 + 0.1 * true, 0.2))), 1),
                boundary=inside,
                verdict=Verdict(
                    status=status, updated_claim=updated if status == "contradicted" else None
                ),
            )
        )
        value: LabelValue = "undecided" if rng.random() < 0.05 else "true" if true else "false"
        labels[claim_hash(text)] = label(name, text, value, reason="by the reference")
        if status == "contradicted":
            value = "true" if rng.random() < 0.9 else "false"
            labels[claim_hash(updated)] = label(name, updated, value)
    kept = tuple(i for i, one in enumerate(made) if one.confidence["closeness"] > 0.4)
    selected = tuple(i for i, one in enumerate(made) if one.boundary)[:3]
    finals = [
        FinalClaims(
            question_id=name,
            line=line(samples=5),
            claims=tuple(made[i].after if i in selected else made[i].text for i in kept),
        ),
        FinalClaims(
            question_id=name,
            line=line("closed_book"),
            claims=tuple(one.text for one in made[: count // 2]),
        ),
    ]
    done = answer(
        name,
        made,
        domain,
        closed_book=tuple(f"Sample {i}: travel time rises." for i in range(5)),
        final={"selected": selected, "kept": kept},
    )
    return done, list(labels.values()), finals
