"""The end of every command: its exit code, and one line on stderr where it went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from flows.outcomes import OUTCOMES
from simulrag.errors import CallsPending, EnvironmentFault, SimulRAGError

INTERRUPTED = 130
"""The exit code of Ctrl-C: 128 and SIGINT."""


def code_of(error: BaseException) -> int | None:
    """The exit code that an error ends a command with; None for one that we do not know."""
    if isinstance(error, SimulRAGError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    from simulators.base import ArgumentError, SimulatorError
    from simulators.registry import missing

    if missing(error):
        return EnvironmentFault.exit_code
    if isinstance(error, SimulatorError):
        return 2 if isinstance(error, ArgumentError) else 1
    return None


def ended(command: Callable[[], object]) -> int:
    """Run a command; a known error becomes one line on stderr. Others keep their traceback."""
    try:
        command()
    except SystemExit as error:  # typer's end: of help, of a usage error, of Ctrl-C
        if error.code == INTERRUPTED:
            return _said(KeyboardInterrupt())
        return error.code if isinstance(error.code, int) else 0
    except BaseException as error:
        if code_of(error) is None:
            raise
        return _said(error)
    return 0


def _said(error: BaseException) -> int:
    from simulators.registry import missing

    text = " ".join((missing(error) or str(error)).split())
    if isinstance(error, KeyboardInterrupt):
        if OUTCOMES in os.environ:  # the run around this stage says so
            return INTERRUPTED
        text = "interrupted; every finished call is kept, run the same command again"
    prefix = "" if isinstance(error, CallsPending) else "error: "
    sys.stderr.write(f"{prefix}{text}\n")
    return code_of(error) or 1
