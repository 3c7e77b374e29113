"""The few errors users meet. Each says what happened, with which input, and what to do.

SimulRAGError
    InputError            the user's input is wrong
        BudgetMissing
    EnvironmentFault      the machine is not ready
    CacheError            a stored call cannot be used
        NotStored
    ModelError            one model call failed, and its question with it
        ReplyInvalid, ReplyRefused, ReplyTruncated, NotOffered, ModelTimeout
        ModelUnavailable
            ModelThrottled, ModelUnreachable
    BudgetSpent, ProviderDown, CallsPending, CoverageFailed     the run or stage ends
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pydantic import ValidationError

    from simulrag.records import Usage


_SHOWN = 3
"""Problems of a file that its error repeats."""


class SimulRAGError(Exception):
    """Base of all: one line for the terminal and the exit code it ends with."""

    exit_code = 1


class InputError(SimulRAGError):
    """The user's input is wrong (a question, an argument, a file, params.yaml)."""

    exit_code = 2


class EnvironmentFault(SimulRAGError):  # noqa: N818 EnvironmentError is a name of Python
    """The machine is not ready (an unwritable folder, a missing program or key)."""


class CacheError(SimulRAGError):
    """A stored call is corrupt, or cannot be used."""


class NotStored(CacheError):  # noqa: N818 it says what is wrong, as the others do
    """Calls are only replayed, and this one is not stored: nothing was made."""


class ModelError(SimulRAGError):
    """A model call failed; the text names the task and never holds a key.

    ``usage`` counts what was billed for the reply that failed, where the provider says so.
    """

    def __init__(self, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage

    def retold(self, message: str) -> Self:
        """Tell the same failure in other words."""
        return type(self)(message, usage=self.usage)


class ReplyInvalid(ModelError):  # noqa: N818 a finding about the reply, as the next two
    """Two replies that do not fit the schema or the step's check."""


class ReplyRefused(ModelError):  # noqa: N818
    """The model or its provider refused this request: asking again does not mend it."""


class NotOffered(ModelError):  # noqa: N818
    """The provider does not offer this kind of call at all: there is no value, with a reason."""


class ReplyTruncated(ModelError):  # noqa: N818
    """The reply, or the prompt, met a limit of tokens."""


class ModelUnavailable(ModelError):  # noqa: N818 the provider's state, as the next three
    """The provider failed, or answered with something that is not an answer."""


class ModelThrottled(ModelUnavailable):
    """The provider said 'slow down', and went on saying so."""


class ModelUnreachable(ModelUnavailable):
    """No connection was made."""


class ModelTimeout(ModelError):  # noqa: N818
    """No reply within ``operations.call_timeout_s``."""


class BudgetMissing(InputError):  # noqa: N818 a limit of the user's, as the next one
    """A call that costs money was about to be made without a budget; none was made."""


class BudgetSpent(SimulRAGError):  # noqa: N818 a limit of the user's, not a fault of ours
    """The budget would be passed by the next call: no question's failure, the run's."""


class CallsPending(SimulRAGError):  # noqa: N818 nothing is wrong: a batch is to be waited for
    """Mode deferred: model calls wait for their batch. Neither a failure nor a value.

    75 is EX_TEMPFAIL of sysexits.h: run the same command again later.
    """

    exit_code = 75


class CoverageFailed(SimulRAGError):  # noqa: N818 it says what failed, as the others do
    """Too few of a stage's questions came through; the outs hold the reason of each."""


class CoverageShort(CoverageFailed):
    """Fewer came through than have to, and enough for a report (``operations.report_from``)."""


class ProviderDown(SimulRAGError):  # noqa: N818 it is the provider's state, not a fault of ours
    """The model's provider has failed for every call: this ends the run, not one question."""


def problems_of_file(path: Path, problems: Sequence[str]) -> InputError:
    """Say what is wrong with a user's file: three problems, and where all of them are.

    More than three are written to a file beside it.
    """
    summary = "; ".join(problems[:_SHOWN])
    if len(problems) > _SHOWN:
        beside = path.with_name(f"{path.name}.problems.txt")
        try:
            beside.write_text("".join(f"{problem}\n" for problem in problems), encoding="utf-8")
            summary += f"; all {len(problems)} problems are in {beside}"
        except OSError:
            summary += f"; and {len(problems) - _SHOWN} more"
    return InputError(f"{path}: {summary}")


def all_problems(error: ValidationError) -> str:
    """Say all that pydantic found wrong with one record; missing fields are named together."""
    problems = error.errors(include_url=False, include_input=False)
    missing = [_place(problem) for problem in problems if problem["type"] == "missing"]
    others = [f"{_place(item)}: {item['msg']}" for item in problems if item["type"] != "missing"]
    are = "is" if len(missing) == 1 else "are"
    lacks = [f"{', '.join(missing)} {are} missing"] if missing else []
    return "; ".join(lacks + [other.removeprefix(": ") for other in others])


def _place(problem: Mapping[str, Any]) -> str:
    where = ".".join(map(str, problem["loc"]))
    return f"'{where}'" if where else ""


def first_problem(error: ValidationError, whole: str = "") -> str:
    """Say what pydantic found wrong first, at its place or, without one, of the ``whole``.

    What stood there is left out: it may be a key.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"])) or whole
    return ": ".join(filter(None, [where, first["msg"].removeprefix("Value error, ")]))
