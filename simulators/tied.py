"""A program that Linux kills when the *thread* that started it ends, as by kill -9 of us.

What it starts in turn is not tied. Run as a script this file ties itself and becomes the program.
"""

import os
import signal
import sys
from collections.abc import Sequence


def tied(command: Sequence[str]) -> list[str]:
    """Return the command that starts a program tied to this process; not on Linux the same one."""
    own = [sys.executable, "-IS", __file__, str(os.getpid())] if sys.platform == "linux" else []
    return [*own, *command]


if __name__ == "__main__":
    import ctypes

    parent, *words = sys.argv[1:]
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.environ.get("LC_CTYPE") == "C.UTF-8":
        del os.environ["LC_CTYPE"]  # Python's own word, where no locale is set
    try:
        if os.getppid() == int(parent):  # else it was killed before this
            os.execvp(words[0], words)  # noqa: S606
    except OSError as error:
        sys.exit(f"{words[0]} cannot be started: {error.strerror}")
