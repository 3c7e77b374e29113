"""Human labels, offers and Label Studio annotations to test with."""

from __future__ import annotations

from typing import Any

from simulrag.judging.people import HumanLabel, OfferedClaim
from simulrag.records import LabelValue, claim_hash


def given(
    annotator: str, label: LabelValue, text: str = "Time rises.", question: str = "q", **more: Any
) -> HumanLabel:
    return HumanLabel(
        question_id=question,
        claim_hash=claim_hash(text),
        text=text,
        label=label,
        annotator=annotator,
        **more,
    )


def offer(text: str = "Time rises.", question: str = "q") -> OfferedClaim:
    return OfferedClaim(
        question_id=question,
        domain="urban",
        claim_hash=claim_hash(text),
        text=text,
        question=f"What happens to time? ({question})",
        reference="Time rises by 3 %.",
        evidence="Time: +3 %.",
    )


def annotation(by: object, label: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """As Label Studio writes one, fields of no use to us included."""
    result = [_choice("label", [label])]
    if more.pop("adjudication", False):
        result.append(_choice("role", ["adjudication"]))
    if note := more.pop("note", None):
        result.append(
            {"id": "n", "from_name": "note", "to_name": "claim", "type": "textarea"}
            | {"origin": "manual", "value": {"text": note}}
        )
    fields = {"was_cancelled": False, "ground_truth": False, "lead_time": 4.3, "task": 7}
    return {"id": number, "completed_by": by, "result": result, **fields, **more}


def _choice(control: str, choices: list[str]) -> dict[str, Any]:
    place = {"id": control, "from_name": control, "to_name": "claim", "type": "choices"}
    return {**place, "origin": "manual", "value": {"choices": choices}}
