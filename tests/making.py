"""Small records to test with: a question, what is found out about it, and what people say of it.

Every maker has defaults that fit together (a question on urban traffic, its run and its answer);
a test names only what it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from simulrag.records import (
    CENTRALITIES,
    Answer,
    AnswerVariant,
    Claim,
    Evidence,
    Failure,
    FinalClaims,
    Label,
    LabelValue,
    Question,
    Retrieval,
    ToolCall,
    Usage,
    Verdict,
    claim_hash,
)

ALIGNED = Verdict(status="aligned")
SILENT = Verdict(status="indeterminate")
"""The evidence says nothing of the claim."""


def corrected(text: str) -> Verdict:
    """The evidence contradicts the claim and says ``text`` in its place."""
    return Verdict(status="contradicted", updated_claim=text)


def question(
    question_id: str = "q", scenario_id: str = "s", domain: str = "urban", **more: object
) -> Question:
    fields: dict[str, object] = {
        "text": "A downtown corridor lowers its speed limit by 20 percent. By how many percent "
        f"does mean travel time change, and is that minor or significant? ({question_id})",
        "reference_answer": "Mean travel time rises by 12.5 percent, which is significant.",
        "source": "generated",
    }
    named = {"question_id": question_id, "scenario_id": scenario_id, "domain": domain}
    return Question.model_validate({**fields, **named, **more})


def evidence(
    text: str = "Mean travel time changes by +12.5 percent against the baseline.",
    outputs: Mapping[str, JsonValue] | None = None,
    *,
    tool: str = "compare_with_baseline",
    simulator: str = "urban",
    **arguments: JsonValue,
) -> Evidence:
    """One run, with seed 1: what it says, what it returned, and what it was given."""
    return Evidence(
        simulator=simulator,
        call=ToolCall(tool=tool, arguments=arguments or {"speed_factor": 0.8}),
        seed=1,
        outputs={"travel_time_change_percent": 12.5} if outputs is None else dict(outputs),
        text=text,
    )


def claim(
    text: str = "Travel time rises by 10 percent.",
    confidence: float | Mapping[str, float] = 0.5,
    *,
    boundary: bool | None = True,
    verbalized: float | None = 0.5,
    status: str | None = "aligned",
    updated: str | None = None,
    **more: object,
) -> Claim:
    """One claim of one answer. ``confidence``: by centrality, or the same under each.

    ``status`` of its verdict: None, never verified. ``updated`` is its text when contradicted.
    """
    reason = "reply was cut short" if status == "error" else None
    verdict = {"status": status, "updated_claim": updated, "reason": reason}
    fields: dict[str, object] = {
        "text": text,
        "support": (True,),
        "confidence": confidence
        if isinstance(confidence, Mapping)
        else dict.fromkeys(CENTRALITIES, confidence),
        "verbalized": verbalized,
        "boundary": boundary,
        "verdict": None if status is None else verdict,
    }
    return Claim.model_validate({**fields, **more})


def line(
    method: str = "simulrag",
    samples: int = 1,
    budget: float | None = None,
    kappa: float | None = None,
) -> AnswerVariant:
    fields = {"method": method, "samples": samples, "budget_percent": budget, "kappa": kappa}
    return AnswerVariant.model_validate(fields)


def answer(
    question_id: str = "q",
    claims: Sequence[Claim] = (),
    domain: str = "urban",
    *,
    closed_book: Sequence[str] = ("Travel time rises by about a tenth.",),
    final: Mapping[str, object] | None = None,
    **more: object,
) -> Answer:
    """A complete answer; ``final``: fields of the final text that are not SimulRAG's at m."""
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


def failed(question_id: str = "q", domain: str = "urban") -> Answer:
    """An answer whose work stopped before there were claims."""
    failure = Failure(step="decompose", reason="the reply was no JSON: expected a list of claims")
    return answer(question_id, (), domain, failure=failure, final={"text": ""}, verified=False)


def final_claims(
    question_id: str = "q", *texts: str, of: AnswerVariant | None = None, **more: object
) -> FinalClaims:
    """The claims of the final answer by the line ``of``: SimulRAG's at m = 1."""
    fields = {"question_id": question_id, "line": of or line(), "claims": texts}
    return FinalClaims.model_validate({**fields, **more})


def label(question_id: str, text: str, value: LabelValue | None, **more: object) -> Label:
    """The judge's word on one claim; None: it gave none."""
    failure = "the judge did not answer" if value is None else None
    fields = {"claim_hash": claim_hash(text), "text": text, "label": value, "failure": failure}
    return Label.model_validate({"question_id": question_id, **fields, **more})
