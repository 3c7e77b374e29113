"""The command line ``simulrag``. Heavy imports wait until a command needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli import ask, imports, mcp, run, schedule, settings, verdicts
from flows.cli.batch import batch_app
from flows.cli.cache import cache_app
from flows.cli.label import app as label_app
from flows.cli.reference import docs_app
from flows.cli.simulators import simulators_app
from flows.cli.stage import stage
from simulrag import registry

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes 0.2 s less to show
    help="Answers to scientific questions, checked claim by claim against a simulator.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"simulrag {version('simulrag')}")
        raise typer.Exit


@app.callback()
def _simulrag(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options before any command."""


app.command(
    epilog='Example: simulrag ask "The city lowers the speed limit by 30 percent. How does the '
    'average travel time change?" --domain urban --model openai:gpt-5-mini'
)(ask.ask)
app.command()(ask.questions)
app.command(epilog="Example: simulrag simulate urban run_scenario '{\"speed_factor\": 0.8}'")(
    ask.simulate
)
app.command()(ask.handbook)
app.command()(mcp.mcp)
app.command()(run.run)
app.command()(run.retry)
app.command()(run.table)
app.command()(stage)
app.command(epilog="Example: simulrag use openai:gpt-5-mini")(settings.use)
app.command()(settings.plan)
app.command()(settings.params)
app.command("import-official")(imports.import_official)
app.command()(verdicts.agreement)
app.command()(run.record)
app.command()(schedule.refresh)
app.command()(schedule.serve)
app.command()(schedule.ui)
app.add_typer(cache_app, name="cache")
app.add_typer(batch_app, name="batch")
app.add_typer(settings.models_app, name="models")
app.add_typer(label_app, name="label")
app.add_typer(simulators_app, name="simulators")
app.add_typer(imports.library_app, name="library")
app.add_typer(verdicts.verdicts_app, name="verdicts")
app.add_typer(docs_app, name="docs")
for room in registry.each("commands"):
    if hasattr(room, "register"):
        room.register(app)
