"""What a model says of one question about a lake, planned by the texts of its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulrag.method.recipes import answer_question
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends
from simulrag.records import Answer
from simulrag.testing import ScriptedModel
from tests.making import question

QUESTION = question(text="What is it like?")
SETTINGS = MethodSettings(
    method="paper",
    samples=3,
    kappa=0.0,
    verbalized=False,
    final_budgets_percent=(20.0, 100.0),
)
NO_TOOL = {"calls": [], "more": False}
"""A plan of no call."""


@dataclass
class Plan:
    """What a model says of one question. Texts stand for themselves.

    ``corrected``: text by text; claims in neither it nor ``aligned`` are not in the evidence.
    ``replies``: of tasks, to be said or made from what is shown.
    """

    answers: list[list[str]]
    corrected: dict[str, str] = field(default_factory=dict)
    aligned: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    replies: dict[str, object] = field(default_factory=dict)

    def model(self) -> ScriptedModel:
        """The model that says so."""
        return ScriptedModel(by_task=self._reply)

    def _reply(self, task: str, values: dict[str, Any]) -> object:
        if task in self.replies:
            reply = self.replies[task]
            return reply(values) if callable(reply) else reply
        texts: list[Any] = values.get("claims", [])
        ways: dict[str, Callable[[], object]] = {
            "plan": lambda: sound("here"),
            "closed_book": lambda: f"Answer {values['sample_index']}",
            "input_rag": lambda: f"Answer {values['sample_index']}",
            "output_rag": lambda: values["answer"],
            "decompose": lambda: self._split(values["answer"]),
            "merge": lambda: _alike(values["existing"], values["new"]),
            "entailment": lambda: {"supported": [False] * len(texts)},
            "boundary_batch": lambda: {
                "claims": [
                    {"index": i, "tool_confidence": int(text not in self.outside)}
                    for i, text in enumerate(texts)
                ]
            },
            "verify_batch": lambda: {
                "claims": [self._verdict(i, text) for i, text in enumerate(texts)]
            },
            "final": lambda: " / ".join(texts),
        }
        return ways[task]()

    def _split(self, answer: str) -> dict[str, object]:
        return _claims(self.answers[int(answer.rsplit(maxsplit=1)[-1])])

    def _verdict(self, index: int, text: str) -> dict[str, object]:
        return {
            "index": index,
            "is_included": text in self.aligned or text in self.corrected,
            "should_update": text in self.corrected,
            "updated_claim": self.corrected.get(text, ""),
        }


def sound(*places: str, more: bool = False) -> dict[str, object]:
    """A plan to sound the lake at these places."""
    calls = [{"tool": "sound", "arguments": {"place": place}} for place in places]
    return {"calls": calls, "more": more}


def _claims(texts: list[str]) -> dict[str, Any]:
    return {"claims": [{"claim": text} for text in texts]}


def _alike(existing: list[str], new: list[str]) -> dict[str, object]:
    return {"pairs": [[existing.index(text), i] for i, text in enumerate(new) if text in existing]}


def plan(**changes: Any) -> Plan:
    """Three answers give three depths; all but the warmth is within the simulator's reach."""
    made = Plan(
        answers=[
            ["10 m deep.", "It is deep.", "2 ha wide.", "8 degrees.", "Worth a swim."],
            ["11 m deep.", "It is shallow.", "2 ha wide.", "8 degrees."],
            ["13 m deep.", "It is deep.", "3 ha wide.", "9 degrees.", "Worth a swim."],
        ],
        corrected={
            **dict.fromkeys(("10 m deep.", "11 m deep.", "13 m deep."), "12 m deep."),
            "It is shallow.": "It is deep.",
            "2 ha wide.": "3 ha wide.",
        },
        aligned=["It is deep.", "3 ha wide."],
        outside=["8 degrees.", "9 degrees."],
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


async def answered(
    made: Plan, simulations: Simulations, **changes: object
) -> tuple[Answer, ScriptedModel]:
    """The answer by ``SETTINGS`` with changes, and the model that was asked."""
    model = made.model()
    settings = SETTINGS.model_copy(update=changes)
    return await answer_question(QUESTION, Backends(model, simulations), settings), model
