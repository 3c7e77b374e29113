"""What params.yaml says, what it will cost, and its models: do they answer, or one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.output import Endpoint, Free, Json, KeyEnv, Limit, Seed, show

models_app = typer.Typer(
    no_args_is_help=True,
    help="The models that params.yaml names.",
    callback=lambda: None,  # without it an only command goes by no name
)


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
    from flows.files import write_text
    from flows.params import check_params
    from flows.params_file import changed
    from flows.plan.plan import make_plan, plan_text
    from flows.project import find_project
    from flows.running.bench import located
    from simulrag.models.providers.registry import make_provider, model_settings

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


def plan(
    params: Annotated[
        Path | None,
        typer.Option(help="Plan these parameters, of a next recording say; else params.yaml."),
    ] = None,
    benchmark: Annotated[
        Path | None,
        typer.Option(help="Plan `simulrag run --benchmark FOLDER` over these question files."),
    ] = None,
    limit: Limit = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """State calls, tokens, money and time of what is to be done."""
    from flows.imported import imported
    from flows.plan.plan import show_plan
    from flows.project import Results, find_project
    from simulrag.errors import InputError

    project = find_project()
    if benchmark is not None:
        questions = imported(benchmark, limit, seed)
        show_plan(project, as_json, params, questions, Results(project.runs(benchmark)))
        return
    if limit is not None:
        raise InputError("--limit draws from the files of --benchmark: name their folder")
    show_plan(project, as_json, params)


def params(as_json: Json = False) -> None:
    """Tell what each parameter means, and its value."""
    from flows.params import describe, open_project

    _, params = open_project()
    values = params.model_dump(mode="json")
    rows = []
    for name, meaning in describe():
        value: Any = values
        for part in name.split("."):
            value = value[part]
        rows.append({"name": name, "value": value, "meaning": meaning})
    lines = (
        f"{row['name']} = {json.dumps(row['value'], ensure_ascii=False)}\n    {row['meaning']}"
        for row in rows
    )
    show(as_json, rows, *lines)


@models_app.command("check")
def check(as_json: Json = False) -> None:
    """A tiny call to each model: reached, schema kept, seconds; exit 1 where one fails."""
    from flows.cli.model_check import check_models, checked_text
    from flows.project import find_project

    checked = check_models(find_project())
    show(as_json, [item.model_dump(mode="json") for item in checked], *map(checked_text, checked))
    if not all(item.works for item in checked):
        raise typer.Exit(1)
