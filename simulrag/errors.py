"""The few errors users meet. Each says what happened, with which input, and what to do."""

from __future__ import annotations

from typing import Literal


class SimulRAGError(Exception):
    """Base of all: one line for the terminal and the exit code it ends with."""

    exit_code = 1


class InputError(SimulRAGError):
    """The user's input is wrong (a question, an argument, a file, params.yaml)."""

    exit_code = 2


class EnvironmentFault(SimulRAGError):  # noqa: N818 EnvironmentError is a name of Python
    """The machine is not ready (an unwritable folder, a missing program or key)."""


class CacheError(SimulRAGError):
    """The call cache or one of its rows is corrupt, or cannot answer."""


class NotStored(CacheError):  # noqa: N818 it says what is so, not that something broke
    """A call that is not in the cache was wanted where nothing may be called."""


class ModelError(SimulRAGError):
    """A model call failed; the text names the task and never holds a key.

    ``kind`` is one of: invalid_reply, refused, truncated, unavailable, timeout. ``cause`` says
    more of an unavailable provider: throttled (it answered 'slow down') or unreachable (no
    connection was made). ``retry_after_s`` is the time in seconds that the provider asked to wait.
    ``usage`` counts what was billed for the reply that failed, where the provider says so.
    """

    def __init__(
        self,
        message: str,
        kind: str = "invalid_reply",
        *,
        cause: Literal["throttled", "unreachable"] | None = None,
        retry_after_s: float | None = None,
        usage: dict[str, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.cause = cause
        self.retry_after_s = retry_after_s
        self.usage = usage

    def retold(self, message: str) -> ModelError:
        """The same failure in other words."""
        return ModelError(
            message,
            kind=self.kind,
            cause=self.cause,
            retry_after_s=self.retry_after_s,
            usage=self.usage,
        )


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


class ProviderDown(SimulRAGError):  # noqa: N818 it is the provider's state, not a fault of ours
    """Nobody gets an answer of the model's provider any more: no question's failure, the run's."""
