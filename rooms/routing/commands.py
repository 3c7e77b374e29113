"""``simulrag route`` and ``ask --domain auto``: which source can answer, before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.output import Json, print_json

if TYPE_CHECKING:
    from flows.params import Params
    from flows.project import Project
    from rooms.routing.route import Route
    from simulators.base import Simulator


app = typer.Typer()


@app.command(
    epilog='Example: simulrag route "How warm will Oslo be in 2050?" --model openai:gpt-5-mini'
)
def route(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    model: Annotated[
        str | None, typer.Option(help="The model to ask, as in `simulrag ask`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Name the configured source that can answer a question, without a run."""
    from flows.asking import with_model
    from flows.params import load_params
    from flows.project import find_project
    from simulrag.errors import InputError
    from simulrag.models.providers.registry import model_settings

    if not question.strip():
        raise InputError("the question is empty; give it in quotes")
    project = find_project()
    chosen = None if model is None else model_settings(model)
    params, source = with_model(project, load_params(project.params), chosen, None)
    routed, unavailable = route_question(project, params, question.strip())
    if as_json:
        fits = [fit.model_dump() for fit in routed.fits]
        print_json(
            {
                "question": question.strip(),
                "chosen": routed.chosen,
                "sources": fits,
                "unavailable": unavailable,
                "source": source,
            }
        )
        return
    for fit in routed.fits:
        covered = f": {fit.covers} ({fit.tool})" if fit.fit != "not" else ""
        typer.echo(f"{fit.source}: {fit.fit}{covered}")
    for name, why in unavailable.items():
        typer.echo(f"{name}: not asked about, {why}")
    typer.echo(f"Answer with: {routed.chosen or 'no source; closed book, unverified'}")


def route_question(project: Project, params: Params, text: str) -> tuple[Route, dict[str, str]]:
    """Ask which source fits; return it with the sources that were left out, and why."""
    import asyncio

    from flows.running.bench import open_bench
    from rooms.routing.route import route as ask_route

    sources, unavailable = _sources(project, params)

    async def asked() -> Route:
        async with open_bench(project, params, "route", "answer") as bench:
            return await ask_route(text, sources, bench.gateway)

    return asyncio.run(asked()), unavailable


def _sources(project: Project, params: Params) -> tuple[dict[str, Simulator], dict[str, str]]:
    """Load every source that answers by its tools; a service that is down stops no other."""
    from simulators.base import SimulatorError

    kept: dict[str, Simulator] = {}
    left: dict[str, str] = {}
    for domain in params.simulators:
        try:
            simulator = params.load_simulator(domain, project.root)
        except SimulatorError as error:
            left[domain] = str(error)
            continue
        if simulator.oracle:
            left[domain] = "it answers the questions of its own benchmark only"
        else:
            kept[domain] = simulator
    return kept, left
