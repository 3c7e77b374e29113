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
from flows.plan import make_plan, plan_text
from flows.project import Project, find_project
from flows.running.bench import located
from flows.sections import Operations
from simulrag.calls import CallCache
from simulrag.errors import ModelError, ModelTimeout, ModelUnavailable, ReplyInvalid, SimulRAGError
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
    """Put a model of your own into params.yaml.

    It writes llm.answer and llm.judge, and benchmark_model of domains that no recording holds
    questions of; it says what a run will cost.
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
    typer.echo(f"params.yaml: {' and '.join(roles)} are {settings.provider}: {settings.model}")
    for place in own:
        typer.echo(f"{place} is it too: no recording has questions of this domain.")
    for place, writer in kept.items():
        named = "" if writer is None else f"{writer.provider}: {writer.model}"
        typer.echo(f"{place} stays {named}, whose questions these are (--for-benchmark: new ones).")
    if not for_benchmark:
        typer.echo("Other questions stay as they are (llm.benchmark; or --for-benchmark).")
    typer.echo(f"What `simulrag run` will cost:\n{plan_text(planned)}")
    if provider.key_variable is not None and not provider.key_is_set:
        typer.echo(f"{provider.key_variable} is not set here; it is to hold the key")
    if provider.paid and not params.operations.budget.given:
        typer.echo("A model that costs money needs operations.budget, for example: {usd: 5}")


@models_app.command("check")
def check(as_json: Json = False) -> None:
    """A tiny call to each model: reached, schema kept, seconds; exit 1 where one fails."""
    # Each goes the way of every other call (prompt, schema, cache, budget), but is always made: its
    # row is written anew. It is the paid call that needs no budget, since it is asked for by name
    # and takes some hundred tokens; where one is set it keeps to it.
    checked = check_models(find_project())
    show(as_json, [item.model_dump(mode="json") for item in checked], *map(checked_text, checked))
    if not all(item.works for item in checked):
        raise typer.Exit(1)


class ModelCheck(Record):
    """What a call showed. None: not found out, since something before it failed.

    ``roles``: who uses it. ``structured``: it kept the schema of its reply. ``problem``: the error,
    in one line.
    """

    roles: tuple[str, ...]
    model: str
    works: bool
    reached: bool | None = None
    structured: bool | None = None
    seconds: float | None = None
    note: str = ""
    problem: str | None = None


def check_models(project: Project) -> list[ModelCheck]:
    """Each distinct model and sampling of params.yaml once; one failure stops no other."""
    params = load_params(project.params)
    roles: dict[str, tuple[list[str], ModelSettings]] = {}
    for place, settings in params.models().items():
        role = place.removeprefix("llm.")
        variants = {role: settings.sampling}
        variants |= {f"{role}.{task}": settings.sampling_of(task) for task in settings.tasks}
        for name, sampling in variants.items():
            alone = settings.model_copy(update={"sampling": sampling, "tasks": {}})
            roles.setdefault(alone.model_dump_json(), ([], alone))[0].append(name)
    return [_check(project, params.operations, used_by, model) for used_by, model in roles.values()]


def _check(
    project: Project, operations: Operations, roles: list[str], settings: ModelSettings
) -> ModelCheck:
    facts = ModelCheck(
        roles=tuple(roles),
        model=f"{settings.provider}:{settings.model}",
        works=settings.replay,
        note=REPLAYED if settings.replay else "",
    )
    if settings.replay:
        return facts
    began = time.monotonic()
    try:
        provider = make_provider(located(project, settings))
        asyncio.run(_call(project, operations, provider))
    except SimulRAGError as error:
        return facts.model_copy(update={**_told(error), "problem": " ".join(str(error).split())})
    seconds = time.monotonic() - began
    return facts.model_copy(
        update={"works": True, "reached": True, "structured": True, "seconds": seconds}
    )


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
    """The project's; where it has none a boundless one, so that the call is counted too."""
    if not provider.paid:
        return None
    account = Account(cache.ledger(), read_prices(project.prices), limits.since)
    name = provider.settings.full_name
    if limits.given:
        return Budget(limits, account, name, max_output=provider.max_output_tokens)
    return Budget(NO_LIMIT, account, name, max_output=1)


def _told(error: SimulRAGError) -> dict[str, bool]:
    """How far the call came before it failed."""
    if not isinstance(error, ModelError):  # a field that the model refused: its server answered
        return {"reached": True} if "(400)" in str(error) else {}
    if isinstance(error, ModelUnavailable | ModelTimeout):
        return {"reached": False}
    return {"reached": True, "structured": False} if isinstance(error, ReplyInvalid) else {}


def checked_text(item: ModelCheck) -> str:
    """A few lines for people."""
    lines = [f"{'ok  ' if item.works else 'FAIL'} {item.model} ({', '.join(item.roles)})"]
    seen = {"reached": item.reached, "structured output": item.structured}
    shown = [f"{name}: {'yes' if ok else 'no'}" for name, ok in seen.items() if ok is not None]
    if item.seconds is not None:
        shown.append(f"{item.seconds:.1f} s a call")
    remarks = ("; ".join(shown), item.note, item.problem)
    return "\n".join([*lines, *(f"     {words}" for words in remarks if words)])
