"""A study whose texts try to become markup, script or template."""

from __future__ import annotations

from simulrag.records import Retrieval
from tests.unit.metrics.synthetic import Study, evidence, study

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \u2028 {{ 7*7 }}"


def hostile_study() -> Study:
    """Three questions; every text of the second one is hostile."""
    data = study(3)
    asked = data.questions[1].model_copy(update={"text": HOSTILE, "reference_answer": HOSTILE})
    record = data.answers[1]
    spoiled = record.claims[0].model_copy(update={"text": HOSTILE})
    run = evidence().model_copy(update={"text": HOSTILE})
    changed = record.model_copy(
        update={
            "claims": (spoiled, *record.claims[1:]),
            "closed_book": (HOSTILE,),
            "final": HOSTILE,
            "retrieval": Retrieval(status="retrieved", evidence=(run,), problems=(HOSTILE,)),
        }
    )
    return Study(
        questions=(data.questions[0], asked, data.questions[2]),
        answers=(data.answers[0], changed, data.answers[2]),
        labels=data.labels,
        finals=data.finals,
    )
