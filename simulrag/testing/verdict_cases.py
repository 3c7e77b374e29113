"""Claims written by hand with closed replies and the verdicts that they should get.

``verdict_cases.json`` holds the runs' outputs with their ranges, and for each claim what a model
replies when it reads and when it verifies it, and the verdicts expected by point and by range.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from simulators.base import JsonShape, Spread, Tool
from simulrag.method.checking import check_claims
from simulrag.method.verification import verify_claims
from simulrag.records import Evidence, ToolCall
from simulrag.report.verdicts import RULES, Case
from simulrag.testing.scripted import ScriptedModel

QUESTION = "What do the runs say?"


async def cases() -> list[Case]:
    """Every claim with its verdicts, by the method's own functions over the closed replies."""
    found = json.loads(resources.files(__package__).joinpath("verdict_cases.json").read_text())
    tools = {name: _tool(name, told) for name, told in found["tools"].items()}
    evidence = [_evidence(run) for run in found["runs"]]
    claims = [one["claim"] for one in found["claims"]]

    def reply(task: str, _: dict[str, object]) -> Any:
        part = "read" if task == "read_claims" else "verify"
        return {"claims": [{"index": at, **one[part]} for at, one in enumerate(found["claims"])]}

    ask, size = ScriptedModel(by_task=reply), len(claims)
    context = "\n".join(item.text for item in evidence)
    by = {"model": await verify_claims(QUESTION, claims, context, ask, claims_per_call=size)}
    for rule in RULES:
        by[rule] = await check_claims(
            QUESTION, claims, evidence, tools, ask, by=rule, claims_per_call=size
        )
    return [
        Case(
            one["case"],
            one["claim"],
            {rule: verdicts[at] for rule, verdicts in by.items()},
            {rule: one[rule] for rule in RULES},
        )
        for at, one in enumerate(found["claims"])
    ]


def _tool(name: str, told: dict[str, Any]) -> Tool:
    spreads = {output: Spread(**spread) for output, spread in told["spreads"].items()}
    shape = JsonShape({"type": "object"})
    return Tool(name, name, shape, JsonShape(told["outputs"], closed=False), "", spreads)


def _evidence(run: dict[str, Any]) -> Evidence:
    call = ToolCall(tool=run["tool"], arguments=run["arguments"])
    text = json.dumps(run["outputs"])
    return Evidence(simulator="hand", call=call, seed=0, outputs=run["outputs"], text=text)
