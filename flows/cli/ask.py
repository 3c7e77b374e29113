"""``ask``, ``check``, ``questions``, ``simulate``, ``handbook``: outside of the pipeline.

An answer is shown to programs as JSON, to people as text.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.asking import (
    benchmark_questions,
    check_anew,
    find_answer,
    find_source,
    offered,
    simulate_tool,
)
from flows.cli.output import (
    DomainArgument,
    Endpoint,
    Free,
    Json,
    KeyEnv,
    chosen_model,
    json_object,
    look_here,
    print_json,
    show,
)
from flows.params import open_project
from flows.report.words import method_name
from simulrag.errors import InputError
from simulrag.method.recipes import MARKED, RECIPES
from simulrag.records import Answer, AnswerVariant, Statement
from simulrag.shown import (
    LEFT_OUT,
    NO_PLACE,
    STANDINGS,
    is_marked,
    left_out,
    legend,
    pieces,
    readable,
    run_words,
    stands_without,
    statement_words,
    unverified,
    without_place,
)

WRONG = 3
"""The exit code of ``check`` where something in the text is wrong."""

Domain = Annotated[
    str | None,
    typer.Option("--domain", "-d", help="A domain of params.yaml (default: the question's own)."),
]

app = typer.Typer()


@app.command(
    epilog='Example: simulrag ask "The city lowers the speed limit by 30 percent. How does the '
    'average travel time change?" --domain urban --model openai:gpt-5-mini'
)
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes, or a question's id.")],
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            "-d",
            help="A domain of params.yaml, or auto: the first that fits, else none.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Answer anew with this model: openai:gpt-5-mini, anthropic:NAME, "
            "http://127.0.0.1:11434/v1#qwen3 or local:FILE.gguf."
        ),
    ] = None,
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    free: Free = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="How: grounded, an answer from the evidence, checked; or paper, as published "
            "(default: params.yaml's).",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="Of paper: share of the claims that may be verified (default: all in reach).",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            metavar="NUMBER",
            help="Of paper with --model: answers to draw (default: params.yaml's).",
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Say which evidence each claim stands on.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the stored answer to a question, or answer it.

    Questions of the benchmark (`simulrag questions`) have a stored answer for each --method and
    --budget of the run. Other questions need --model.
    """
    if not question.strip():
        raise InputError("the question is empty; give it in quotes")
    chosen = chosen_model(model, endpoint, key_env, free=free)
    explain = offered("explain", "--why") if why else None
    project, params = open_project()
    recipe = method or params.answer.method
    if recipe not in RECIPES:
        raise InputError(f"--method {recipe}: there is no such method; give {' or '.join(RECIPES)}")
    if RECIPES[recipe].marks and (budget, samples) != (None, None):
        raise InputError("--budget and --samples are of the published method: add --method paper")
    if model is None and samples is not None:
        raise InputError("--samples is of an answer anew: name its model by --model")
    given = find_answer(
        project, params, question, domain, chosen, method, budget_percent=budget, samples=samples
    )
    text, answer = given.question, given.answer
    reasons = None
    if explain is not None:
        reasons = explain(project=project, params=given.params, question=text, answer=answer)
    if as_json:
        why_json = {"why": reasons.as_json()} if reasons else {}
        print_json({"source": given.source, **answer_json(text, answer), **why_json})
        return
    show_answer(text, answer, given.source, params.answer.centrality)
    if reasons:
        reasons.show()


@app.command(
    epilog='Example: simulrag check draft.txt --domain urban --question "The city lowers the speed '
    'limit by 30 percent. How does the mean travel time change?"'
)
def check(
    file: Annotated[str, typer.Argument(help="A file of the text, or - for standard input.")],
    domain: Annotated[
        str, typer.Option("--domain", "-d", help="A domain of params.yaml: whose simulator runs.")
    ],
    question: Annotated[
        str,
        typer.Option(
            help="What the text answers, or the situation that it speaks of; or a question's id."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The model that checks: openai:gpt-5-mini ... (default: llm.answer)."),
    ] = None,
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    free: Free = False,
    mend: Annotated[
        bool, typer.Option("--mend", help="Put right what is wrong, add what is missing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a text against a simulator, statement by statement.

    Exit code 3 if a statement is wrong. A statement that no run decides is no error.
    """
    chosen = chosen_model(model, endpoint, key_env, free=free)
    project, params = open_project()
    params.simulator(domain)
    params = params.answering(chosen)
    given = check_anew(project, params, _read(file), question, domain, mend=mend)
    text, answer = given.question, given.answer
    if as_json:
        print_json({"source": given.source, **answer_json(text, answer)})
    else:
        show_answer(text, answer, given.source, params.answer.centrality, given=True)
    if any(item.standing in ("wrong", "corrected") for item in answer.final.statements):
        raise typer.Exit(WRONG)


def _read(file: str) -> str:
    """Return the text. Raises InputError for a file that is not there or not UTF-8."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text") from None


@app.command()
def questions(
    domain: Domain = None,
    full: Annotated[bool, typer.Option("--full", help="Whole questions, not a line each.")] = False,
    as_json: Json = False,
) -> None:
    """List the questions of the benchmark."""
    project, params = open_project()
    if domain is not None:
        params.simulator(domain)
    asked = benchmark_questions(project, params, domain)
    if not asked:
        raise InputError("there is no benchmark yet; `simulrag run` makes it, without a call")
    listed = [{"id": q.question_id, "domain": q.domain, "text": q.text} for q in asked]
    width = get_terminal_size((120, 24)).columns
    lines = (
        f"{q.question_id}\n    {q.text}"
        if full
        else shorten(f"{q.question_id} {q.text}", width, placeholder=" ...")
        for q in asked
    )
    show(as_json, listed, *lines)


@app.command(epilog="Example: simulrag simulate urban run_scenario '{\"speed_factor\": 0.8}'")
def simulate(
    domain: DomainArgument,
    tool: Annotated[str, typer.Argument(help="A tool; `simulrag handbook DOMAIN` lists them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as a JSON object.")] = "{}",
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the domain's own).")] = None,
) -> None:
    """Run one tool of a domain's simulator (through the call cache)."""
    given = json_object(arguments, "the arguments", '{"speed_factor": 0.8}')
    look_here(domain)
    evidence, hit = simulate_tool(find_source(domain), tool, given, seed)
    lines = [evidence.text, *filter(None, [readable(evidence)])]
    show(as_json, evidence.model_dump(mode="json") | {"from_cache": hit}, *lines)


@app.command()
def handbook(domain: DomainArgument) -> None:
    """Print the handbook that models read."""
    look_here(domain)
    typer.echo(find_source(domain).simulator.handbook())


def answer_json(question: str, answer: Answer) -> dict[str, Any]:
    """Return an answer for programs."""
    final = answer.final
    selected, kept = set(final.selected), set(final.kept)
    return {
        "question": question,
        "answer": final.text,
        "method": final.line.method,
        "verified": answer.verified,
        "failed_steps": [failure.model_dump() for failure in answer.failed_steps],
        "statements": [statement.model_dump(mode="json") for statement in final.statements],
        "claims": [
            {
                "claim": claim.after if i in selected else claim.text,
                "before": claim.text,
                "confidence": claim.confidence,
                "boundary": claim.boundary,
                "selected": i in selected,
                "verdict": claim.verdict.status if claim.verdict else None,
                "kept": i in kept,
            }
            for i, claim in enumerate(answer.claims)
        ],
        "audit": None if answer.audit is None else answer.audit.model_dump(mode="json"),
        "evidence": [item.model_dump(mode="json") for item in answer.evidence],
        "usage": {task: usage.model_dump() for task, usage in answer.usage.items()},
    }


def show_answer(
    question: str, answer: Answer, source: str, centrality: str, *, given: bool = False
) -> None:
    """Show people the answer, then why each part of it is there. ``given``: somebody's text.

    A grounded one with a sign behind each quote, what the signs mean, and in words what is not
    simply checked.
    """
    console = Console(highlight=False)
    console.print()
    console.print(_marked(answer))
    for words in filter(None, (unverified(answer, given=given), stands_without(answer))):
        console.print(Text(f"\n{words}", style="yellow"))
    if is_marked(answer):
        _show_statements(console, answer)
    console.print(Text(f"\n{question}", style="dim"))
    console.print(Text(f"{source[:1].upper()}{source[1:]}.", style="dim"))
    if not given:
        console.print(Text(f"{line_words(answer.final.line)}.", style="dim"))
    if not is_marked(answer):
        _show_claims(console, answer, centrality)
    for number, item in enumerate(answer.evidence, start=1):
        call = f"{item.simulator}.{item.call.tool} {item.call.arguments}"
        console.print(Text.assemble((f"\nRun {number}: ", "bold"), call))
        console.print(Text(item.text))
        if words := readable(item):
            console.print(Text(words, style="dim"))


def _marked(answer: Answer) -> Text:
    text = Text()
    for piece in pieces(answer.text, answer.final.statements):
        colour = STANDINGS[piece.standing].colour if piece.standing else ""
        text.append(piece.text, f"underline {colour}" if colour else None)
        for end in piece.endings:
            _, sign, colour, _ = STANDINGS[end.standing]
            text.append(f" {sign}{','.join(str(run + 1) for run in end.runs)}", f"bold {colour}")
    return text


def _show_statements(console: Console, answer: Answer) -> None:
    """Show what the signs mean, and in words what they do not say in full."""
    statements = answer.final.statements
    meanings = [f"{STANDINGS[standing].sign} {words}" for standing, words in legend(statements)]
    if meanings:
        numbered = "; a number: the run" if any(item.runs for item in statements) else ""
        console.print(Text(f"\n{' · '.join(meanings)}{numbered}", style="dim"))
    apart = without_place(answer)
    _show_list(console, NO_PLACE, [told(item) for item in apart])
    there = [item for item in statements if item not in apart and item.standing != "checked"]
    _show_list(console, "In the text, and not simply checked", [told(item) for item in there])
    points = [Text(f"{point.text} ({run_words(point.runs)})") for point in left_out(answer)]
    _show_list(console, LEFT_OUT, points)
    for problem in answer.audit.problems if answer.audit else ():
        console.print(Text(f"\nProblem: {problem}", style="dim"))


def _show_list(console: Console, title: str, items: Sequence[Text]) -> None:
    if items:
        console.print(Text(f"\n{title}:", style="bold"))
    for number, item in enumerate(items, start=1):
        console.print(Text.assemble(f"  {number}. ", item))


def told(item: Statement) -> Text:
    """Tell a statement, and behind it what stands behind it."""
    _, sign, colour, _ = STANDINGS[item.standing]
    return Text.assemble(f"{item.text}  ", (f"[{sign} {statement_words(item)}]", colour))


def _show_claims(console: Console, answer: Answer, centrality: str) -> None:
    table = Table("claim", "confidence", "in reach", "verdict", "kept", title="Claims")
    selected, kept = set(answer.final.selected), set(answer.final.kept)
    for i, claim in enumerate(answer.claims):
        verdict = claim.verdict.status if claim.verdict and i in selected else "not selected"
        shown = Text(claim.after if i in selected else claim.text)
        if i in selected and claim.after != claim.text:
            shown.append(f"\nwas: {claim.text}", style="dim")
        table.add_row(
            shown,
            f"{claim.confidence[centrality]:.2f}",
            {True: "yes", False: "no", None: "-"}[claim.boundary],
            verdict,
            "yes" if i in kept else "no",
        )
    console.print(table)


def line_words(line: AnswerVariant) -> str:
    """Tell what kind of answer it is: "SimulRAG, at 100 % of the claims, m = 5"."""
    if line.method in MARKED:
        return method_name(line.method)
    share = "" if line.budget_percent is None else f", at {line.budget_percent:g} % of the claims"
    return f"{method_name(line.method)}{share}, m = {line.samples} sampled answers"
