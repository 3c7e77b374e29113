"""What goes to a model and what comes back, whoever the provider is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from simulrag.records import Usage
from simulrag.task import Task


class Message(BaseModel):
    """One message of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(BaseModel):
    """Sampling parameters, part of a call's key. None leaves the provider's own default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, le=2, description="sampling temperature")
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="nucleus sampling: share of the probability mass"
    )
    max_output_tokens: int | None = Field(
        default=None, ge=1, description="longest reply, in tokens"
    )
    seed: int | None = Field(
        default=None, description="seed, if the provider takes one; the sample's index is added"
    )
    reasoning_effort: str | None = Field(
        default=None,
        pattern=r"^[a-z]+$",
        description="effort of a reasoning model, in the provider's words (low, high)",
    )
    top_logprobs: int | None = Field(
        default=None,
        ge=0,
        le=20,
        description="alternatives of the reply's first token to return log-probabilities for",
    )


FirstTokens = tuple[tuple[str, float], ...]
"""What a reply could have begun with, and the natural logarithm of each one's probability."""


Measure = Literal["likelihood", "rerank"]
"""What a model is asked for other than words: how probable the last message is after the others;
how well each further message fits the first."""


@dataclass(frozen=True)
class Request:
    """One question to a model.

    ``task`` names the step for counting and per-task settings; it is not sent to the model and is
    no part of the call's key. ``schema`` None means free text. ``check`` raises ValueError where a
    reply is well-formed and still impossible (an index out of range). ``measure``: the reply is no
    text of the model but JSON that the provider measured, see ``Provider.measure``.
    """

    task: str
    messages: tuple[Message, ...]
    schema: type[BaseModel] | None = None
    sampling: Sampling = field(default_factory=Sampling)
    sample_index: int = 0
    check: Callable[[Any], None] | None = None
    measure: Measure | None = None


@dataclass(frozen=True)
class Completion:
    """A validated reply. ``parsed`` is None for free text. ``cached``: nothing was paid now.

    ``first_tokens``: where the sampling asked for ``top_logprobs``; () where the server sent none.
    """

    text: str
    parsed: Any
    usage: Usage
    model_version: str
    cached: bool
    first_tokens: FirstTokens = ()


@dataclass(frozen=True)
class ProviderReply:
    """What a provider returned for one call, not yet validated.

    ``service`` names another price than the usual one: "batch", which costs half. ``seconds``: how
    long the provider took; 0 where nobody waited for it. ``context``: who wrote a reply of a file.
    """

    text: str
    usage: Usage
    model_version: str
    service: str = ""
    first_tokens: FirstTokens = ()
    seconds: float = 0.0
    context: str = ""


class Asker(Protocol):
    """What the method's steps need of a model: a task's prompt rendered, sent and validated."""

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """Render the task's prompt with ``values`` and complete it. Raises ModelError.

        ``values`` may hold more than the prompt shows: what a stand-in is made from.
        """
        ...


def encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which have no UTF-8 form, by question marks."""
    return text.encode(errors="replace").decode()


class Counted:
    """An Asker that sums usage by task, for calls paid now and calls paid before alike."""

    def __init__(self, asker: Asker, usage: dict[str, Usage] | None = None) -> None:
        self._asker = asker
        self.usage: dict[str, Usage] = dict(usage or {})

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Callable[[Any], None] | None = None,
        **values: object,
    ) -> Completion:
        """See Asker.ask."""
        completion = await self._asker.ask(task, sample_index=sample_index, check=check, **values)
        add_usage(self.usage, task.name, completion.usage)
        return completion


def add_usage(usage: dict[str, Usage], task: str, used: Usage) -> None:
    """Add to what a task took."""
    usage[task] = usage.get(task, Usage()) + used
