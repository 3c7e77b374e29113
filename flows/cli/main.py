"""The console script ``simulrag``: a command ends with an exit code and, where it fails, a line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from errno import ELOOP
from pathlib import Path

from simulrag.errors import CallsPending, EnvironmentFault, SimulRAGError

INTERRUPTED = 130
"""The exit code of Ctrl-C: 128 and SIGINT."""


def main() -> None:
    """Run the command that the arguments name."""
    code = ended(_command)
    flushed = ended(sys.stdout.flush) if sys.stdout else 0  # what is left may meet a full disk
    sys.exit(code or flushed)


def _command() -> None:
    # Imported here, so that Ctrl-C meanwhile is an end like any other.
    from flows.cli.app import app
    from flows.watch.tracking import guard

    guard()
    # Ctrl-C cancels work that has not begun, which is no mistake to warn of.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    try:
        Path.cwd()
    except OSError:
        raise EnvironmentFault("the working folder is gone; go to one that is there") from None
    app()


def ended(command: Callable[[], object]) -> int:
    """Run a command; a known error becomes one line on stderr. Others keep their traceback."""
    try:
        command()
    except SystemExit as error:  # typer's end: of help, of a usage error, of Ctrl-C
        if error.code == INTERRUPTED:
            return _report(KeyboardInterrupt())
        return error.code if isinstance(error.code, int) else 0
    except BrokenPipeError:  # who read what we wrote has enough, as `head` has
        return 1
    except BaseException as error:
        if code_of(error) is None:
            raise
        return _report(error)
    return 0


def code_of(error: BaseException) -> int | None:
    """Return the exit code that an error ends a command with; None for one that we do not know."""
    if isinstance(error, SimulRAGError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    # A file, a disk: its text names it. Of a loop of links pathlib makes a RuntimeError.
    if isinstance(error, OSError) or getattr(error.__context__, "errno", None) == ELOOP:
        return EnvironmentFault.exit_code
    # Late: the help needs neither.
    from simulators.base import ArgumentError, SimulatorError
    from simulators.registry import missing

    if missing(error):
        return EnvironmentFault.exit_code
    if isinstance(error, SimulatorError):
        return 2 if isinstance(error, ArgumentError) else 1
    return None


def _report(error: BaseException) -> int:
    from simulators.registry import missing

    text = " ".join((missing(error) or str(error) or type(error).__name__).split())
    if isinstance(error, KeyboardInterrupt):
        from flows.pipeline import OUTCOMES

        if OUTCOMES in os.environ:  # the run around this stage says so
            return INTERRUPTED
        text = "interrupted; every finished call is kept, run the same command again"
    prefix = "" if isinstance(error, CallsPending) else "error: "
    with suppress(OSError, EnvironmentFault):  # the disk behind stderr may be the full one
        sys.stderr.write(f"{prefix}{text}\n")
    return code_of(error) or 1


if __name__ == "__main__":
    main()
