"""Answers, labels and final claims drawn with known parameters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulrag.method.confidence import claim_confidence
from simulrag.records import (
    CENTRALITIES,
    Answer,
    Claim,
    Evidence,
    Failure,
    FinalClaims,
    Label,
    LabelValue,
    Line,
    Question,
    Retrieval,
    ToolCall,
    Usage,
    Verdict,
    claim_hash,
)


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


def evidence(value: float = 12.5, seed: int = 1) -> Evidence:
    return Evidence(
        simulator="urban",
        call=ToolCall(tool="compare_with_baseline", arguments={"speed_factor": 0.8}),
        seed=seed,
        outputs={"travel_time_change_percent": value},
        text=f"Mean travel time changes by +{value} percent against the baseline.",
    )


def label(question_id: str, text: str, value: LabelValue | None, **more: object) -> Label:
    failure = "the judge did not answer" if value is None else None
    fields = {"claim_hash": claim_hash(text), "text": text, "label": value, "failure": failure}
    return Label.model_validate({"question_id": question_id, **fields, **more})


def claim(
    text: str = "Travel time rises by 10 percent.",
    confidence: float = 0.5,
    *,
    boundary: bool | None = True,
    verbalized: float | None = 0.5,
    status: str | None = "aligned",
    updated: str | None = None,
) -> Claim:
    """One claim with the same confidence under every centrality."""
    verdict = None
    if status is not None:
        reason = "reply was cut short" if status == "error" else None
        verdict = Verdict.model_validate(
            {"status": status, "updated_claim": updated, "reason": reason}
        )
    return Claim(
        text=text,
        support=(True,),
        confidence=dict.fromkeys(CENTRALITIES, confidence),
        verbalized=verbalized,
        boundary=boundary,
        verdict=verdict,
    )


def line(
    method: str = "simulrag",
    samples: int = 1,
    budget: float | None = None,
    kappa: float | None = None,
) -> Line:
    fields = {"method": method, "samples": samples, "budget_percent": budget, "kappa": kappa}
    return Line.model_validate(fields)


def answer(
    question_id: str,
    claims: Sequence[Claim],
    domain: str = "urban",
    *,
    closed_book: Sequence[str] = ("Travel time rises by about a tenth.",),
    final: Mapping[str, object] | None = None,
    **more: object,
) -> Answer:
    """``final``: fields of the final text that are not SimulRAG's at m."""
    text = {"line": line(samples=len(closed_book)), "text": "Travel time rises by 12.5 percent."}
    fields: dict[str, object] = {
        "retrieval": Retrieval(status="retrieved", evidence=(evidence(),), attempts=1),
        "closed_book": tuple(closed_book),
        "claims": tuple(claims),
        "final": {**text, **(final or {})},
        "verified": True,
        "usage": {
            "closed_book": Usage(calls=5, input_tokens=500, output_tokens=250),
            "verify": Usage(calls=len(claims), input_tokens=900, output_tokens=90),
        },
        "simulator_runs": 1,
    }
    return Answer.model_validate({"question_id": question_id, "domain": domain, **fields, **more})


def failed(question_id: str, domain: str = "urban") -> Answer:
    failure = Failure(step="decompose", reason="the reply was no JSON: expected a list of claims")
    return answer(question_id, (), domain, failure=failure, final={"text": ""}, verified=False)


def question(question_id: str, scenario_id: str, domain: str = "urban") -> Question:
    return Question(
        question_id=question_id,
        domain=domain,
        text="A downtown corridor lowers its speed limit by 20 percent. By how many percent does "
        f"mean travel time change, and is that minor or significant? ({question_id})",
        reference_answer="Mean travel time rises by 12.5 percent, which is significant.",
        scenario_id=scenario_id,
        source="generated",
    )


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
            claims=tuple(made[i].updated_text if i in selected else made[i].text for i in kept),
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
