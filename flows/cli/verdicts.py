"""``simulrag verdicts compare``: claims judged by three rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.project import Project
    from simulrag.report.verdicts import RuleVerdicts

verdicts_app = typer.Typer(
    no_args_is_help=True,
    help="Verdicts by a model's reading, by point and by range.",
    callback=lambda: None,  # without it an only command goes by no name
)


@verdicts_app.command("compare")
def compare(
    out: Annotated[Path, typer.Option(help="The page, Markdown.")] = Path("verdicts.md"),
) -> None:
    """Compare the verdicts of stored calls, and say by the labels which rule is right.

    Nothing is called. Claims written by hand stand beside it.
    """
    from flows.files import write_text
    from flows.project import find_project
    from simulrag.report.verdicts import page
    from simulrag.testing.verdict_cases import cases

    judged = asyncio.run(_all(find_project()))
    write_text(out, page(judged, asyncio.run(cases())))
    for one in judged:
        typer.echo(f"{one.domain}: {one.waiting}")
    typer.echo(f"-> {out}")


async def _all(project: Project) -> list[RuleVerdicts]:
    """By domain: the verdicts of the answers in data/, by each rule as far as it is stored."""
    from flows.files import record_lines
    from flows.params import load_params
    from flows.plan.plan import exports
    from flows.plan.rehearse import StoredCalls, StoredGateway
    from flows.running.bench import located
    from flows.stages.metrics import read_labels
    from simulrag.errors import CallsPending, InputError
    from simulrag.method.checking import Outputs, check_claim
    from simulrag.method.reading import read_claims, readable_runs
    from simulrag.models.prompts import Prompts
    from simulrag.questions.published import read_questions
    from simulrag.records import Answer, claim_hash
    from simulrag.report.verdicts import RULES, RuleVerdicts

    params = load_params(project.params)
    if params.answer.verify_by in ("point", "range"):
        raise InputError(
            "answer.verify_by: the verdicts in data/answers are by arithmetic, and there is "
            "nothing to hold it to; set it to both or model and run the stage answer again"
        )
    settings, size = located(project, params.model("answer")), params.answer.claims_per_call.verify
    prompts = Prompts(project.prompts, params.prompts)
    found = []
    with StoredCalls(params.operations.place(project.root), stage=None, mode="replay") as cache:
        for path in exports(project, params):
            cache.import_calls(path)
        for domain in params.domains:
            tools = params.load_simulator(domain, project.root).tools
            judged, gate = RuleVerdicts(domain), StoredGateway(settings, cache, prompts)
            answers = list(record_lines(project.results.answers(domain), Answer))
            labelled = project.results.labels(domain)
            labels = read_labels(labelled) if labelled.is_file() else {}
            benchmark = read_questions(project.results.benchmark(domain))
            questions = {question.question_id: question for question in benchmark}
            for answer in answers:
                if answer.failure is not None or not answer.evidence:
                    continue
                question = questions[answer.question_id]
                texts = [claim.text for claim in answer.claims]
                judged.verdicts["model"] += [claim.verdict for claim in answer.claims]
                judged.claims += texts
                of_question = labels.get(answer.question_id, {})
                judged.labels += [of_question.get(claim_hash(text)) for text in texts]
                outputs = Outputs(answer.evidence, readable_runs(answer.evidence, tools), tools)
                try:
                    readings = await read_claims(
                        question.text, texts, outputs.runs, gate, claims_per_call=size
                    )
                except CallsPending:
                    judged.kinds += [None] * len(texts)
                    for rule in RULES:
                        judged.verdicts[rule] += [None] * len(texts)
                    continue
                judged.kinds += [reading.kind for reading in readings]
                for rule in RULES:
                    judged.verdicts[rule] += [
                        check_claim(text, reading, outputs, rule)
                        for text, reading in zip(texts, readings, strict=True)
                    ]
            missing = gate.missing.get("read_claims", {})
            judged.requests = len(missing)
            judged.tokens = sum(call.tokens_in for call in missing.values())
            found.append(judged)
    return found
