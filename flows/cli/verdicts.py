"""``simulrag verdicts compare``: one set of claims, judged by three rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.project import Project
    from simulrag.report.verdicts import Judged

verdicts_app = typer.Typer(
    no_args_is_help=True, help="Verdicts by a model's reading, by point and by range."
)


@verdicts_app.callback()
def _verdicts() -> None:
    """So that ``compare`` stays a word of its own."""


@verdicts_app.command("compare")
def compare(
    out: Annotated[Path, typer.Option(help="The page, Markdown.")] = Path("verdicts.md"),
) -> None:
    """Compare the verdicts of stored calls; nothing is called. Claims written by hand beside it."""
    from flows.files import write_text
    from flows.project import find_project
    from simulrag.report.verdicts import page
    from simulrag.testing.verdict_cases import cases

    judged = asyncio.run(_all(find_project()))
    write_text(out, page(judged, asyncio.run(cases())))
    for one in judged:
        typer.echo(f"{one.domain}: {one.waiting}")
    typer.echo(f"-> {out}")


async def _all(project: Project) -> list[Judged]:
    """By domain: the verdicts of the answers that are stored, by each rule as far as it can be."""
    from flows.params import load_params
    from flows.plan.plan import exports
    from flows.plan.rehearse import StoredCalls, rehearse
    from simulrag.errors import CallsPending
    from simulrag.method.checking import check_claims
    from simulrag.report.verdicts import RULES, Judged

    params = load_params(project.params)
    method = params.answer
    if method.verify_by in ("point", "range"):  # a model's verdicts are what these are held to
        method = method.model_copy(update={"verify_by": "model"})
    params = params.model_copy(update={"answer": method})
    found = []
    with StoredCalls(params.operations.place(project.root), stage=None, mode="replay") as cache:
        for path in exports(project, params):
            cache.import_calls(path)
        for domain in params.domains:
            made = await rehearse(project, params, cache, domain)
            tools, gate = params.load_simulator(domain, project.root).tools, made.gates["answer"]
            judged = Judged(domain)
            for question, answer in made.complete:
                if not answer.evidence:
                    continue
                texts = [claim.text for claim in answer.claims]
                judged.verdicts["model"] += [claim.verdict for claim in answer.claims]
                asked = (question.text, texts, answer.evidence, tools, gate)
                for rule in RULES:
                    try:
                        judged.verdicts[rule] += await check_claims(
                            *asked, by=rule, claims_per_call=method.claims_per_call.verify
                        )
                    except CallsPending:
                        judged.verdicts[rule] += [None] * len(texts)
            missing = gate.missing.get("read_claims", {})
            judged.requests, judged.tokens = len(missing), sum(missing.values())
            found.append(judged)
    return found
