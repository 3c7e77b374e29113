"""The command line ``simulrag``: its commands, each of which is imported when it is used.

The idea is kedro's LazyGroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group_from_info
from typer.models import TyperInfo

from flows.hooks import rooms

ASK, RUN, LOOK, MODELS = "Ask", "Run", "Look", "Models"
SOURCES, LABELS, OPERATE = "Questions and evidence", "Labels by people", "Operate"
PANELS = (ASK, RUN, LOOK, MODELS, SOURCES, LABELS, OPERATE, "Further")
"""The groups of the help, in its order. A room's commands name one of them, or stand last."""

COMMANDS: dict[tuple[str, str], dict[str, str]] = {
    (ASK, "flows.cli.ask"): {
        "ask": "Show the stored answer to a question, or answer it.",
        "check": "Check a text against a simulator, statement by statement.",
        "questions": "List the questions of the benchmark.",
        "simulate": "Run one tool of a domain's simulator (through the call cache).",
        "handbook": "Print the handbook that models read.",
    },
    (ASK, "flows.cli.services"): {
        "mcp": "Serve ask, check, simulate, handbook and questions to an assistant; read-only by "
        "default.",
    },
    (RUN, "flows.cli.run"): {
        "run": "Run the pipeline (`dvc repro --keep-going`); show the table.",
        "retry": "Repeat the stages that have failures, then run the rest.",
        "plan": "State calls, tokens, money and time of the pending work.",
        "params": "Show the meaning and the value of each parameter.",
        "stage": "Run one stage without DVC.",
    },
    (LOOK, "flows.cli.run"): {
        "table": "Show the cost and the worth of each method, from a run's metrics.",
        "figure": "Draw a figure for a paper, a panel a domain.",
    },
    (LOOK, "flows.cli.services"): {
        "ui": "Start Prefect's UI in the background, to watch stages.",
    },
    (MODELS, "flows.cli.models"): {
        "use": "Write a model of your own into params.yaml.",
        "models": "The models that params.yaml names.",
    },
    (MODELS, "flows.cli.calls"): {
        "batch": "Calls that wait in mode deferred: the half-price path.",
    },
    (SOURCES, "flows.cli.sources"): {
        "import-official": "Import published benchmark folders as questions.",
        "simulators": "Simulators: of this project, and yours.",
        "domains": "Choose the domains that run, in every list of params.yaml.",
        "library": "Documents as evidence.",
    },
    (LABELS, "flows.cli.label"): {"label": "Labels by people, which override the judge's."},
    (OPERATE, "flows.cli.services"): {
        "refresh": "Draw new questions for a period, and see what moved.",
        "serve": "Run refreshes on the schedule of params.yaml.",
    },
    (OPERATE, "flows.cli.run"): {
        "record": "Write the calls of the last run to data/recorded, from where the default "
        "replays them.",
    },
    (OPERATE, "flows.cli.calls"): {"cache": "The call cache: what was paid for."},
    (OPERATE, "flows.cli.docs"): {
        "docs": "Pages of the documentation made from the code.",
    },
}
"""The help's lines stand here too, so that help imports no command; a test compares."""


class LazyGroup(TyperGroup):
    """The commands as listed; one is imported when it is asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.modules: dict[str, list[str]] = {}
        for listing in (COMMANDS, *rooms().hook.listed_commands()):
            for (panel, module), lines in listing.items():
                for name, line in lines.items():
                    listed = TyperCommand(name, help=line, rich_help_panel=panel)
                    self.commands.setdefault(name, listed)
                    self.modules.setdefault(name, []).append(module)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 the base's
        """Import a command; one of several modules is a group with the commands of all of them."""
        command: Any = None
        for module in self.modules.get(cmd_name, ()):
            info = TyperInfo(import_module(module).app)
            group = get_group_from_info(
                info, pretty_exceptions_short=True, rich_markup_mode=None, suggest_commands=True
            )
            loaded: Any = group.commands[cmd_name]
            if command is None:
                command = loaded
            else:
                command.commands.update(loaded.commands)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 the base's
        """A section a group; one of no group stands under "Further"."""
        groups: dict[str, list[tuple[str, str]]] = {group: [] for group in PANELS}
        room = formatter.width - 6 - max(map(len, self.commands))
        for name, listed in self.commands.items():
            panel = str(getattr(listed, "rich_help_panel", None))
            named = panel if panel in groups else "Further"
            groups[named].append((name, listed.get_short_help_str(room)))
        for group, rows in groups.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes 0.2 s less to show
    help="Answers to scientific questions, checked claim by claim against a simulator.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"simulrag {metadata.version('simulrag')}")
        raise typer.Exit


@app.callback()
def _simulrag(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options before any command."""


def every_command() -> Iterator[tuple[str, Any]]:
    """List each command with its whole name, such as ``cache stats``, and each group."""

    def below(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
        for name in sorted(group.commands):
            command = group.get_command(None, name)
            yield f"{prefix}{name}", command
            if hasattr(command, "commands"):
                yield from below(command, f"{prefix}{name} ")

    return below(typer.main.get_command(app), "")
