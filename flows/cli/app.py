"""The command line ``simulrag``. Heavy imports wait until a command needs them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flows.cli import ask, check, imports, mcp, run, schedule, settings
from flows.cli.batch import batch_app
from flows.cli.cache import cache_app
from flows.cli.label import app as label_app
from flows.cli.reference import docs_app
from flows.cli.simulators import simulators_app
from flows.cli.stage import stage
from flows.hooks import rooms

ASK, RUN, LOOK, MODELS = "Ask", "Run", "Look", "Models"
SOURCES, LABELS, OPERATE = "Questions and evidence", "Labels by people", "Operate"
"""The groups of the help, in its order. A room's commands name one of them, or stand last."""


class Grouped(TyperGroup):
    """Help with the commands in groups, by their ``rich_help_panel``."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 the base's
        """A section a group; one of no group stands under "Further"."""
        groups: dict[str, list[tuple[str, str]]] = {
            group: [] for group in (ASK, RUN, LOOK, MODELS, SOURCES, LABELS, OPERATE, "Further")
        }
        room = formatter.width - 6 - max(map(len, self.commands))
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None)
            named = panel if isinstance(panel, str) and panel in groups else "Further"
            groups[named].append((name, command.get_short_help_str(room)))
        for group, rows in groups.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=Grouped,
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
    rich_help_panel=ASK,
    epilog='Example: simulrag ask "The city lowers the speed limit by 30 percent. How does the '
    'average travel time change?" --domain urban --model openai:gpt-5-mini',
)(ask.ask)
app.command(
    rich_help_panel=ASK,
    epilog='Example: simulrag check draft.txt --domain urban --question "The city lowers the speed '
    'limit by 30 percent. How does the mean travel time change?"',
)(check.check)
app.command(rich_help_panel=ASK)(ask.questions)
app.command(
    rich_help_panel=ASK,
    epilog="Example: simulrag simulate urban run_scenario '{\"speed_factor\": 0.8}'",
)(ask.simulate)
app.command(rich_help_panel=ASK)(ask.handbook)
app.command(rich_help_panel=ASK)(mcp.mcp)
app.command(rich_help_panel=RUN)(run.run)
app.command(rich_help_panel=RUN)(run.retry)
app.command(rich_help_panel=RUN)(settings.plan)
app.command(rich_help_panel=RUN)(stage)
app.command(rich_help_panel=RUN)(settings.params)
app.command(rich_help_panel=LOOK)(run.table)
app.command(rich_help_panel=LOOK)(schedule.ui)
app.command(rich_help_panel=MODELS, epilog="Example: simulrag use openai:gpt-5-mini")(settings.use)
app.add_typer(settings.models_app, name="models", rich_help_panel=MODELS)
app.add_typer(batch_app, name="batch", rich_help_panel=MODELS)
app.add_typer(simulators_app, name="simulators", rich_help_panel=SOURCES)
app.add_typer(imports.library_app, name="library", rich_help_panel=SOURCES)
app.command("import-official", rich_help_panel=SOURCES)(imports.import_official)
app.add_typer(label_app, name="label", rich_help_panel=LABELS)
app.add_typer(cache_app, name="cache", rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(schedule.refresh)
app.command(rich_help_panel=OPERATE)(schedule.serve)
app.command(rich_help_panel=OPERATE)(run.record)
app.add_typer(docs_app, name="docs", rich_help_panel=OPERATE)
rooms().hook.register_commands(app=app)
