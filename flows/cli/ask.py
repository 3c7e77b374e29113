"""One question or one simulator run, outside the pipeline and through the same call cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from flows.stages.algorithm import answer_questions
from flows.params import load_stage_params
from flows.project import find_project
from flows.stages.shelf import Shelf
from flows.stages.bench import cache_place, load_simulator, workbench
from flows.watch.tracking import Untracked
from simulrag.calls import CallCache
from simulrag.errors import InputError, ModelError
from simulrag.method.simulation import Simulations
from simulrag.records import Answer, Evidence, Question


def ask_question(text: str, domain: str) -> Answer:
    """Answer one question; only the selected claims are verified, by budget within the question."""
    if not text.strip():
        raise InputError("the question is empty; give it in quotes")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("the question is no UTF-8 text")
    project = find_project()
    params = load_stage_params(project, "answer")
    simulator = load_simulator(project, params, domain)
    question = Question(
        question_id="ask", domain=domain, text=text.strip(), reference_answer="", scenario_id="ask"
    )
    method = params.answer.model_copy(
        update={
            "verify": "selected",
            "pool": "question",
            "verbalized": False,
            "baselines": False,
        }
    )

    async def answer() -> Answer:
        seed = params.simulator(domain).seed
        async with workbench(
            project, params, "ask", "answer", simulator=simulator, seed=seed
        ) as bench:
            with Shelf() as shelf:
                await answer_questions([question], bench, method, Untracked(), shelf, chunk=1)
                (result,) = shelf.answers()
            return result

    result = asyncio.run(answer())
    if result.failure is not None:
        if simulator.oracle and result.failure.step == "retrieve":
            raise InputError(result.failure.reason)
        raise ModelError(f"step {result.failure.step}: {result.failure.reason}")
    return result


def simulate_tool(
    domain: str, tool: str, arguments: Mapping[str, Any], seed: int | None
) -> tuple[Evidence, bool]:
    """One simulator run, and whether it came from the cache."""
    project = find_project()
    params = load_stage_params(project, "answer")
    simulator = load_simulator(project, params, domain)
    if seed is None:
        seed = params.simulator(domain).seed
    place = cache_place(project, params.operations)
    with CallCache(place, stage="simulate", mode=params.operations.mode) as cache:
        simulations = Simulations(simulator, cache)
        evidence = asyncio.run(simulations.run(tool, arguments, seed))
        return evidence, simulations.runs == 0


def show(question: str, answer: Answer) -> None:
    """The answer and why each claim is in it, for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    centrality = load_stage_params(find_project(), "answer").answer.centrality
    console = Console(highlight=False)
    console.print(Text(f"\n{question}\n", style="bold"))
    console.print(Text(answer.final))
    if not answer.verified:
        applies = answer.retrieval is not None and answer.retrieval.evidence
        why = "no claim was verified" if applies else "no tool applies and nothing was run"
        console.print(Text(f"\nUnverified: {why}.", style="yellow"))
    table = Table("claim", "confidence", "in reach", "verdict", "kept", title="Claims")
    selected, kept = set(answer.selected), set(answer.kept)
    for i, claim in enumerate(answer.claims):
        verdict = claim.verdict.status if claim.verdict and i in selected else "not selected"
        shown = Text(claim.updated_text if i in selected else claim.text)
        if i in selected and claim.updated_text != claim.text:
            shown.append(f"\nwas: {claim.text}", style="dim")
        table.add_row(
            shown,
            f"{claim.confidence[centrality]:.2f}",
            {True: "yes", False: "no", None: "-"}[claim.boundary],
            verdict,
            "yes" if i in kept else "no",
        )
    console.print(table)
    for item in answer.retrieval.evidence if answer.retrieval else ():
        call = f"{item.simulator}.{item.call.tool} {item.call.arguments}"
        console.print(Text.assemble(("\nEvidence ", "bold"), call))
        console.print(Text(item.text))
