"""The console script ``simulrag``. DVC starts ``stage`` for every stage, so that loads alone."""

from __future__ import annotations

import sys
import warnings

import typer


def main() -> None:
    """Run the command that the arguments name."""
    from flows.cli.errors import ended
    from flows.watch.terminal import guard

    guard()
    # Ctrl-C cancels work that has not begun, which is no mistake to warn of.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    if sys.argv[1:2] == ["stage"]:
        sys.exit(ended(stage_alone()))
    from flows.cli.app import app

    sys.exit(ended(app))


def stage_alone() -> typer.Typer:
    """The command line with ``stage`` as its only command."""
    from flows.cli.stage import stage

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(lambda: None)  # without it an only command goes by no name
    app.command()(stage)
    return app


if __name__ == "__main__":
    main()
