"""Questions and runs outside the pipeline: ``ask``, ``questions``, ``simulate``, ``handbook``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pluggy
import typer

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
from simulrag.method.recipes import RECIPES

AUTO = "auto"
Domain = Annotated[
    str | None,
    typer.Option("--domain", "-d", help="A domain of params.yaml (default: the question's own)."),
]


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
    """Show a question's stored answer, or answer it anew.

    A question of the benchmark has one (`simulrag questions`), of each --method and --budget that
    the run wrote; any other needs --model.
    """
    from flows.asking import answer_anew, answer_by, find_question, stored_answer, with_model
    from flows.cli.answers import answer_json, show_answer
    from flows.params import open_project
    from simulrag.errors import InputError

    if not question.strip():
        raise InputError("the question is empty; give it in quotes")
    chosen = chosen_model(model, endpoint, key_env, free=free)
    explain = offered("explain", "--why") if why else None
    project, params = open_project()
    auto = domain == AUTO and AUTO not in params.simulators
    if auto:
        domain = None
    if domain is not None:
        params.simulator(domain)  # a wrong name is the user's to see
    _check_of_paper(method or params.answer.method, budget, samples, model)
    if method is not None:
        params = params.model_copy(
            update={"answer": params.answer.model_copy(update={"method": method})}
        )
    known = find_question(project, params, question, domain)
    stored = stored_answer(project, params, known) if model is None and known else None
    shown = answer_by(stored[0], method, budget) if stored else None
    if known and stored and shown is not None:
        answer, source, text = shown, stored[1], known.text
    else:
        params, source = with_model(project, params, chosen, known)
        if domain is None and known is None and not auto:
            raise InputError(f"give --domain auto, or one of: {', '.join(params.domains)}")
        text = known.text if known else question.strip()
        if auto:
            choose = offered("choose_domain", "--domain auto")
            domain = choose(project=project, params=params, text=text) or None
            source += f"; {f'domain {domain}' if domain else 'no source fits, so nothing was run'}"
        else:
            domain = domain or (known.domain if known else "")
        answer, stored_calls = answer_anew(project, params, text, domain, budget, samples)
        source += stored_calls
    found = None
    if explain:
        found = explain(project=project, params=params, question=text, answer=answer)
    if as_json:
        reasons = {"why": found.as_json()} if found else {}
        print_json({"source": source, **answer_json(text, answer), **reasons})
        return
    show_answer(text, answer, source, params.answer.centrality)
    if found:
        found.show()


def _check_of_paper(
    method: str, budget: float | None, samples: int | None, model: str | None
) -> None:
    """Raise InputError for an unknown method, and where --budget and --samples say nothing."""
    from simulrag.errors import InputError

    if method not in RECIPES:
        raise InputError(f"--method {method}: there is no such method; give {' or '.join(RECIPES)}")
    if RECIPES[method].marks and (budget, samples) != (None, None):
        raise InputError("--budget and --samples are of the published method: add --method paper")
    if model is None and samples is not None:
        raise InputError("--samples is of an answer anew: name its model by --model")


def offered(name: str, option: str) -> Callable[..., Any]:
    """The hook of what a room does for ``ask``. Raises InputError where none of them does it."""
    from flows.hooks import rooms
    from simulrag.errors import InputError

    hook: pluggy.HookCaller = getattr(rooms().hook, name)
    if not hook.get_hookimpls():
        raise InputError(f"{option}: the room that does it is not in this project")
    return hook


def questions(
    domain: Domain = None,
    full: Annotated[bool, typer.Option("--full", help="Whole questions, not a line each.")] = False,
    as_json: Json = False,
) -> None:
    """List the questions of the benchmark, to ask."""
    from shutil import get_terminal_size
    from textwrap import shorten

    from flows.asking import benchmark_questions
    from flows.params import open_project
    from simulrag.errors import InputError

    project, params = open_project()
    if domain is not None:
        params.simulator(domain)
    found = benchmark_questions(project, params, domain)
    if not found:
        raise InputError("there is no benchmark yet; `simulrag run` makes it, without a call")
    listed = [{"id": q.question_id, "domain": q.domain, "text": q.text} for q in found]
    width = get_terminal_size((120, 24)).columns
    lines = (
        f"{q.question_id}\n    {q.text}"
        if full
        else shorten(f"{q.question_id} {q.text}", width, placeholder=" ...")
        for q in found
    )
    show(as_json, listed, *lines)


def simulate(
    domain: DomainArgument,
    tool: Annotated[str, typer.Argument(help="A tool; `simulrag handbook DOMAIN` lists them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as a JSON object.")] = "{}",
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the domain's own).")] = None,
) -> None:
    """Run one tool of a domain's simulator (through the call cache)."""
    from flows.asking import simulate_tool
    from flows.params import open_project

    given = json_object(arguments, "the arguments", '{"speed_factor": 0.8}')
    look_here(domain)
    project, params = open_project()
    params = params.with_registered(domain)
    simulator = params.load_simulator(domain, project.root)
    evidence, hit = simulate_tool(project, params, domain, simulator, tool, given, seed)
    show(as_json, evidence.model_dump(mode="json") | {"from_cache": hit}, evidence.text)


def handbook(domain: DomainArgument) -> None:
    """Print the handbook that models are shown."""
    from flows.params import open_project

    look_here(domain)
    project, params = open_project()
    params = params.with_registered(domain)
    typer.echo(params.load_simulator(domain, project.root).handbook())
