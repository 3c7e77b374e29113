"""The top floor: one Prefect flow per dvc.yaml stage, and the command line."""

import sys
from types import TracebackType

_before = sys.excepthook


def _say_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Ctrl-C before a program's own handling is in place: while its modules are imported."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("error: interrupted\n")
    else:
        _before(kind, error, trace)


sys.excepthook = _say_interrupted
