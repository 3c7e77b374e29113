"""Questions and runs outside the pipeline: ``ask``, ``questions``, ``simulate``, ``handbook``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows.cli.output import DomainArgument, Endpoint, Json, json_object, print_json

AUTO = "auto"

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from simulators.base import Simulator
    from simulrag.records import Answer, Evidence, Question

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
    method: Annotated[
        Literal["paper", "reconciled"] | None,
        typer.Option(help="How: as published, or one voice a subject (default: params.yaml's)."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="Share of the claims that may be verified (default: all within reach).",
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
    from flows.cli.answers import answer_json, show
    from flows.params import open_project
    from simulrag.errors import InputError

    if not question.strip():
        raise InputError("the question is empty; give it in quotes")
    explain = offered("why", "--why") if why else None
    project, params = open_project()
    auto = domain == AUTO and AUTO not in params.simulators
    if auto:
        domain = None
    if domain is not None:
        params.simulator(domain)  # a wrong name is the user's to see
    if method is not None:
        params = params.model_copy(update={"answer": params.answer.by(method)})
    known = find_question(project, params, question, domain)
    stored = stored_answer(project, params, known) if model is None and known else None
    shown = answer_by(stored[0], method, budget) if stored else None
    if known and stored and shown is not None:
        answer, source, text = shown, stored[1], known.text
    else:
        params, source = with_model(project, params, model, known, endpoint)
        if domain is None and known is None and not auto:
            raise InputError(f"give --domain auto, or one of: {', '.join(params.domains)}")
        text = known.text if known else question.strip()
        if auto:
            domain = offered("choose_domain", "--domain auto")(project, params, text)
            source += f"; {f'domain {domain}' if domain else 'no source fits, so nothing was run'}"
        else:
            domain = domain or (known.domain if known else "")
        answer, stored_calls = answer_anew(project, params, text, domain, budget)
        source += stored_calls
    found = explain(project, params, text, answer) if explain else None
    if as_json:
        reasons = {"why": found.as_json()} if found else {}
        print_json({"source": source, **answer_json(text, answer), **reasons})
        return
    show(text, answer, source, params.answer.centrality)
    if found:
        found.show()


def offered(name: str, option: str) -> Callable[..., Any]:
    """What a room does for ``ask``. Raises InputError where none of them does it."""
    from simulrag import registry
    from simulrag.errors import InputError

    for room in registry.each("commands"):
        function: Callable[..., Any] | None = getattr(room, name, None)
        if function is not None:
            return function
    raise InputError(f"{option}: the room that does it is not in this project")


def answer_by(
    answer: Answer, method: Literal["paper", "reconciled"] | None, budget_percent: float | None
) -> Answer | None:
    """The answer with the final text of a method and budget, by default its own; None: not there.

    At the largest budget of the method where none is given.
    """
    if method is None and budget_percent is None:
        return answer
    own = answer.final.line
    published = own.method == "simulrag" if method is None else method == "paper"
    names = ("simulrag",) if published else ("reconciled_complete", "reconciled")
    fitting = [
        final
        for name in names
        for final in answer.finals
        if final.line.method == name
        and final.line.samples == own.samples
        and final.failure is None
        and budget_percent in (None, final.line.budget_percent)
    ]
    if not fitting:
        return None
    final = max(fitting, key=lambda one: one.line.size)
    subjects = () if published else answer.subjects
    return answer.model_copy(update={"final": final, "subjects": subjects})


def questions(domain: Domain = None, as_json: Json = False) -> None:
    """List the questions of the benchmark, to ask."""
    from flows.params import open_project
    from simulrag.errors import InputError

    project, params = open_project()
    if domain is not None:
        params.simulator(domain)
    found = benchmark_questions(project, params, domain)
    if not found:
        raise InputError("there is no benchmark yet; `simulrag run` makes it, without a call")
    if as_json:
        print_json([{"id": q.question_id, "domain": q.domain, "text": q.text} for q in found])
        return
    for item in found:
        typer.echo(f"{item.question_id}\n    {item.text}")


def simulate(
    domain: DomainArgument,
    tool: Annotated[str, typer.Argument(help="A tool; `simulrag handbook DOMAIN` lists them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as a JSON object.")] = "{}",
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Seed (default: the domain's own).")] = None,
) -> None:
    """Run one tool of a domain's simulator (through the call cache)."""
    given = json_object(arguments, "the arguments", '{"speed_factor": 0.8}')
    evidence, hit = simulate_tool(domain, tool, given, seed)
    if as_json:
        print_json(evidence.model_dump(mode="json") | {"from_cache": hit})
    else:
        typer.echo(evidence.text)


def handbook(domain: DomainArgument) -> None:
    """Print the handbook that models are shown."""
    from flows.params import open_project

    project, params = open_project()
    typer.echo(params.load_simulator(domain, project.root).handbook())


def benchmark_questions(project: Project, params: Params, domain: str | None) -> list[Question]:
    """The questions that are there, of one domain or of all."""
    from simulrag.questions.published import read_questions

    names = params.domains if domain is None else [domain]
    files = [project.results.benchmark(name) for name in names]
    return [question for file in files if file.is_file() for question in read_questions(file)]


def find_question(
    project: Project, params: Params, text: str, domain: str | None
) -> Question | None:
    """The question of the benchmark with this text (white space and case aside) or this id."""

    def plain(words: str) -> str:
        return " ".join(words.split()).casefold()

    for question in benchmark_questions(project, params, domain):
        if plain(text) in (plain(question.text), plain(question.question_id)):
            return question
    return None


def stored_answer(project: Project, params: Params, question: Question) -> tuple[Answer, str]:
    """A benchmark question's answer of the last run, and words on who gave it."""
    from flows.files import record_lines
    from simulrag.errors import InputError, ModelError
    from simulrag.records import Answer

    path = project.results.answers(question.domain)
    known = record_lines(path, Answer) if path.is_file() else iter(())
    answer = next((one for one in known if one.question_id == question.question_id), None)
    if answer is None:
        raise InputError(
            f"question {question.question_id} has no stored answer; run `simulrag run`, or answer "
            "it anew with --model openai:gpt-5-mini"
        )
    if answer.failure is not None:
        raise ModelError(
            f"question {question.question_id} failed in the last run, at {answer.failure.step}: "
            f"{answer.failure.reason}; answer it anew with --model openai:gpt-5-mini"
        )
    model = params.model("answer")
    kind = "recorded answer" if model.replay else "stored answer of the last run"
    return answer, f"{kind} ({model.provider}: {model.model}), {question.question_id}; no call made"


def answer_anew(
    project: Project,
    params: Params,
    text: str,
    domain: str | None,
    budget_percent: float | None = None,
) -> tuple[Answer, str]:
    """Answer one question by itself, with words on the calls that were stored.

    Verified is what the budget buys, or all within reach. Without a domain nothing is run: the
    answer is closed-book and unverified.
    """
    import asyncio

    from flows.cli.answers import stored_words
    from flows.running.bench import open_bench
    from simulrag.errors import InputError
    from simulrag.library import ask_for, succeeded
    from simulrag.method.algorithm import answer_question
    from simulrag.method.simulation import NoSource

    simulator = NoSource() if domain is None else params.load_simulator(domain, project.root)
    question = ask_for(text).model_copy(update={"domain": domain or simulator.name})
    method = params.answer.for_one_question(100.0 if budget_percent is None else budget_percent)
    seed = 0 if domain is None else params.simulator(domain).seed

    async def answer() -> tuple[Answer, dict[str, int]]:
        async with open_bench(
            project, params, "ask", "answer", simulator=simulator, seed=seed
        ) as bench:
            answered = await answer_question(question, bench.instruments, method)
            return answered, bench.cache.stored_days

    result, days = asyncio.run(answer())
    if simulator.oracle and result.failure is not None and result.failure.step == "retrieve":
        raise InputError(result.failure.reason)
    return succeeded(result), stored_words(days)


def simulate_tool(
    domain: str,
    tool: str,
    arguments: dict[str, Any],
    seed: int | None,
    *,
    project: Project | None = None,
    simulator: Simulator | None = None,
) -> tuple[Evidence, bool]:
    """One simulator run, and whether it came from the cache."""
    import asyncio

    from flows.params import load_params
    from flows.project import find_project
    from simulrag.calls import CallCache
    from simulrag.method.simulation import Simulations

    project = project or find_project()
    params = load_params(project.params)
    simulator = simulator or params.load_simulator(domain, project.root)
    if seed is None:
        seed = params.simulator(domain).seed
    place = params.operations.place(project.root)
    with CallCache(place, stage="simulate", mode=params.operations.mode) as cache:
        simulations = Simulations(simulator, cache)
        evidence = asyncio.run(simulations.run(tool, arguments, seed))
        return evidence, simulations.runs == 0


def with_model(
    project: Project,
    params: Params,
    model: str | None,
    known: Question | None,
    endpoint: str | None = None,
) -> tuple[Params, str]:
    """The parameters to answer anew with. Raises InputError where only recorded calls are there."""
    from simulrag.errors import InputError

    if model is not None:
        from simulrag.models.specification import model_settings

        chosen = model_settings(model, endpoint)
        llm = params.llm.model_copy(update={"answer": chosen})
        params = params.model_copy(update={"llm": llm})
    elif params.model("answer").replay and known is None:
        why = (
            "this is not a question of the benchmark (`simulrag questions` lists them)"
            if any(project.results.benchmark(name).is_file() for name in params.domains)
            else "there is no benchmark yet (`simulrag run` makes it, without a call)"
        )
        raise InputError(
            f"{why}, and params.yaml only replays recorded answers. Name a model: --model "
            "openai:gpt-5-mini, anthropic:NAME, http://127.0.0.1:11434/v1#qwen3 or "
            "local:FILE.gguf; `simulrag use` puts one into params.yaml"
        )
    settings = params.model("answer")
    return params, f"answered now by {settings.provider}: {settings.model}"
