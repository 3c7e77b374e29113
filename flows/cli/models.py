"""``simulrag use`` and ``models check``: models of one's own, and whether they answer."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

import typer

from flows.cli.output import Endpoint, Free, Json, KeyEnv, show
from flows.files import write_text
from flows.params import check_params, load_params
from flows.params_file import changed
from flows.plan import make_plan
from flows.planned import sum_text
from flows.project import Project, find_project
from flows.running.bench import located
from flows.sections import Operations
from flows.watch.tracking import duration
from simulrag.calls import CallCache
from simulrag.errors import ModelTimeout, ModelUnavailable, ReplyInvalid, SimulRAGError
from simulrag.method.verification import VERBALIZED
from simulrag.models.budget import Account, Budget
from simulrag.models.gateway import Gateway
from simulrag.models.prices import read_prices
from simulrag.models.prompts import Prompts
from simulrag.models.providers.base import Provider
from simulrag.models.providers.registry import make_provider, model_settings
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.records import Record

QUESTION = "How many days has a week?"
CLAIM = "A week has seven days."
NO_LIMIT = BudgetLimits(tokens=2**62)
REPLAYED = "calls are only replayed, no model is asked; `simulrag use` sets a model of your own"

app = typer.Typer()
models_app = typer.Typer(no_args_is_help=True, help="The models that params.yaml names.")
app.add_typer(models_app, name="models")


@app.command(epilog="Example: simulrag use openai:gpt-5-mini")
def use(
    model: Annotated[
        str,
        typer.Argument(
            help="openai:gpt-5-mini, anthropic:NAME, http://127.0.0.1:11434/v1#qwen3, local:FILE."
        ),
    ],
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    free: Free = False,
    for_benchmark: Annotated[
        bool,
        typer.Option("--for-benchmark", help="Draw new questions with it too (llm.benchmark)."),
    ] = False,
) -> None:
    """Write a model of your own into params.yaml.

    It sets llm.answer and llm.judge, and benchmark_model of domains without recorded questions, and
    states the cost of a run.
    """
    project = find_project()
    settings = model_settings(model, endpoint, key_env=key_env, free=free)
    provider = make_provider(located(project, settings))
    section = settings.model_dump(mode="json", exclude_defaults=True)
    roles = ["llm.benchmark"] if for_benchmark else []
    roles += ["llm.answer", "llm.judge"]
    text = changed(project.params, dict.fromkeys(roles, section))
    params = check_params(text, project.params.name)
    unwritten = [] if for_benchmark else params.unwritten(project)
    kept = {
        f"simulators.{name}.benchmark_model": chosen.benchmark_model
        for name in params.domains
        if (chosen := params.simulator(name)).benchmark_model not in (None, settings)
    }
    own = {f"simulators.{name}.benchmark_model": section for name in unwritten}
    if for_benchmark:
        own, kept = dict.fromkeys(kept, section), {}
    if own:
        text = changed(project.params, {**dict.fromkeys(roles, section), **own})
        params = check_params(text, project.params.name)
    planned = make_plan(project, params)
    write_text(project.params, text)
    typer.echo(f"params.yaml: {', '.join(roles)} are {settings.provider}: {settings.model}")
    for place in own:
        typer.echo(f"{place} is it too: no recording has questions of this domain.")
    for place, writer in kept.items():
        named = "" if writer is None else f"{writer.provider}: {writer.model}"
        typer.echo(f"{place} stays {named}, whose questions these are (--for-benchmark: new ones).")
    takes = f"; about {duration(planned.seconds)}" if planned.measured else ""
    typer.echo(f"`simulrag run`: {sum_text(planned.tasks)}{takes}")
    too = "" if for_benchmark else " New questions too: --for-benchmark."
    typer.echo(f"Details: `simulrag plan`.{too}")
    if provider.key_variable is not None and not provider.key_is_set:
        typer.echo(f"{provider.key_variable} is not set here; it is to hold the key")
    if provider.paid and not params.operations.budget.given:
        typer.echo("A model that costs money needs operations.budget, for example: {usd: 5}")


@models_app.command("check")
def check(as_json: Json = False) -> None:
    """Make a tiny call to each model: reached, schema kept, seconds; exit 1 if one fails."""
    # Each goes the way of every other call (prompt, schema, cache, budget), but is always made: its
    # row is written anew. It is the paid call that needs no budget, since it is asked for by name
    # and takes some hundred tokens; where one is set it keeps to it.
    checks = check_models(find_project())
    lines = [check_text(item) for item in checks] or [REPLAYED]
    show(as_json, [item.model_dump(mode="json") for item in checks], *lines)
    if any(item.problem for item in checks):
        raise typer.Exit(1)


class ModelCheck(Record):
    """What a call showed. None: not found out, since something before it failed.

    ``roles``: who uses it. ``structured``: it kept the schema of its reply. ``problem``: the error,
    in one line.
    """

    roles: tuple[str, ...]
    model: str
    reached: bool | None = None
    structured: bool | None = None
    seconds: float | None = None
    problem: str = ""


def check_models(project: Project) -> list[ModelCheck]:
    """Call each distinct model of params.yaml once, but those whose calls are only replayed.

    One failure stops no other.
    """
    params = load_params(project.params)
    roles: dict[str, list[str]] = {}
    models: dict[str, ModelSettings] = {}
    for place, settings in params.models().items():
        if not settings.replay:
            models[settings.model_dump_json()] = settings
            roles.setdefault(settings.model_dump_json(), []).append(place.removeprefix("llm."))
    return [
        _check(project, params.operations, roles[key], settings) for key, settings in models.items()
    ]


def _check(
    project: Project, operations: Operations, roles: list[str], settings: ModelSettings
) -> ModelCheck:
    result = ModelCheck(roles=tuple(roles), model=f"{settings.provider}:{settings.model}")
    began = time.monotonic()
    try:
        asyncio.run(_call(project, operations, make_provider(located(project, settings))))
    except SimulRAGError as error:
        facts: dict[str, object] = {"problem": " ".join(str(error).split())}
        if isinstance(error, ModelUnavailable | ModelTimeout):
            facts |= {"reached": False}
        elif isinstance(error, ReplyInvalid):
            facts |= {"reached": True, "structured": False}
        return result.model_copy(update=facts)
    seconds = time.monotonic() - began
    return result.model_copy(update={"reached": True, "structured": True, "seconds": seconds})


async def _call(project: Project, operations: Operations, provider: Provider) -> None:
    with CallCache(operations.place(project.root), stage="models-check", mode="refresh") as cache:
        gateway = Gateway(
            provider,
            provider.settings,
            cache,
            Prompts(project.prompts),
            timeout_s=operations.call_timeout_s,
            retries=0,
            budget=_budget(project, operations.budget, provider, cache),
        )
        try:
            await gateway.ask(VERBALIZED, question=QUESTION, claim=CLAIM)
        finally:
            await gateway.close()


def _budget(
    project: Project, limits: BudgetLimits, provider: Provider, cache: CallCache
) -> Budget | None:
    """Open the project's; where it has none a boundless one, so that the call is counted too."""
    if not provider.paid:
        return None
    account = Account(cache.ledger(), read_prices(project.prices), limits.since)
    bound = provider.max_output_tokens if limits.given else 1
    allowed = limits if limits.given else NO_LIMIT
    return Budget(allowed, account, provider.settings.full_name, max_output=bound)


def check_text(item: ModelCheck) -> str:
    """Write a few lines for people."""
    seen = {"reached": item.reached, "structured output": item.structured}
    facts = [f"{name}: {'yes' if ok else 'no'}" for name, ok in seen.items() if ok is not None]
    if item.seconds is not None:
        facts.append(f"{item.seconds:.1f} s a call")
    mark = "FAIL" if item.problem else "ok  "
    lines = [f"{mark} {item.model} ({', '.join(item.roles)})", "; ".join(facts), item.problem]
    return "\n     ".join(filter(None, lines))
