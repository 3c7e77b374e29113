"""SimulRAG: answers to open scientific questions, checked claim by claim against a simulator.

from simulrag import Budget, Model, answer

result = answer(
    "The city lowers the speed limit by 30 percent. How does the mean travel time change?",
    simulator="urban",
    model=Model("openai:gpt-5-mini"),
    budget=Budget(usd=0.50),
)
print(result.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulators.base import Simulator
    from simulators.registry import load as load_simulator
    from simulrag.library import (
        AnswerNow,
        Checked,
        Model,
        aanswer,
        acheck,
        answer,
        check,
    )
    from simulrag.method.settings import MethodSettings
    from simulrag.models.settings import BudgetLimits as Budget
    from simulrag.progress import Progress
    from simulrag.records import Answer, Claim, Question

__all__ = [
    "Answer",
    "AnswerNow",
    "Budget",
    "Checked",
    "Claim",
    "MethodSettings",
    "Model",
    "Progress",
    "Question",
    "Simulator",
    "aanswer",
    "acheck",
    "answer",
    "check",
    "load_simulator",
]

_HOMES = {
    "Answer": ("simulrag.records", "Answer"),
    "AnswerNow": ("simulrag.library", "AnswerNow"),
    "Budget": ("simulrag.models.settings", "BudgetLimits"),
    "Checked": ("simulrag.library", "Checked"),
    "Claim": ("simulrag.records", "Claim"),
    "MethodSettings": ("simulrag.method.settings", "MethodSettings"),
    "Model": ("simulrag.library", "Model"),
    "Progress": ("simulrag.progress", "Progress"),
    "Question": ("simulrag.records", "Question"),
    "Simulator": ("simulators.base", "Simulator"),
    "aanswer": ("simulrag.library", "aanswer"),
    "acheck": ("simulrag.library", "acheck"),
    "answer": ("simulrag.library", "answer"),
    "check": ("simulrag.library", "check"),
    "load_simulator": ("simulators.registry", "load"),
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: every command pays for what is imported here."""
    if name not in _HOMES:
        raise AttributeError(f"module 'simulrag' has no attribute '{name}'")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
