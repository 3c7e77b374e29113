"""Which model does a stage's work and how (``llm.*`` of params.yaml), and what it may cost."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from simulrag.models.base import Sampling

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PLAIN_URL = re.compile(r"https?://[^\s@?#]+")

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class LocalSettings(BaseModel):
    """How provider ``local`` runs its weights. Nothing here is part of a call's key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    threads: int | None = Field(
        default=None, ge=1, description="provider local: number of threads; null: all cores"
    )
    context: int = Field(
        default=8192, ge=64, description="provider local: tokens of prompt and reply together"
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # no number, or out of range
        return False
    return bool(host) and port != 0 and _PLAIN_URL.fullmatch(url) is not None


Structured = Literal["tool", "output_format"]


class ModelSettings(BaseModel):
    """One section ``llm.*`` of params.yaml: which model does a stage's work, and how.

    ``endpoint`` names the server and is part of a call's key; ``base_url`` says where it is today
    and is not, so that moving a server repays nothing. ``api_key_env`` is the *name* of the
    environment variable that holds the key. ``tasks`` overrides single sampling fields by task.
    """

    # A key pasted into the wrong field must not come back in the error text.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    provider: Name = Field(
        description="openai, anthropic, local, stand-in, or the name of a plug-in"
    )
    replay: bool = Field(
        default=False,
        description="replay stored calls only; a call that is not stored is an error",
    )
    endpoint: Name = Field(
        default="default", description="your name for the server; part of a call's key"
    )
    model: str = Field(
        min_length=1, description="the model's name at the provider; local: a GGUF file"
    )
    base_url: str | None = Field(
        default=None, description="address of a compatible server; not part of a call's key"
    )
    api: Literal["auto", "chat", "responses"] = Field(
        default="auto",
        description="OpenAI's interface: responses or chat; auto: responses at OpenAI, chat "
        "elsewhere",
    )
    structured: Structured = Field(
        default="tool",
        description="Anthropic: ask for a schema by a forced tool or by output_format",
    )
    api_key_env: str | None = Field(
        default=None, description="name of the environment variable that holds the key"
    )
    paid: bool | None = Field(
        default=None,
        description="calls cost money; null: yes, except on your own machine or network",
    )
    sampling: Sampling = Sampling()
    tasks: dict[str, Sampling] = Field(
        default={}, description="sampling of single tasks, named as in prompts/"
    )
    local: LocalSettings = LocalSettings()

    @model_validator(mode="after")
    def _real(self) -> Self:
        if self.replay and (self.base_url is not None or self.paid is not None):
            field = "paid" if self.base_url is None else "base_url"
            raise ValueError(
                f"replay: true and {field} exclude each other: calls that are only replayed go to "
                f"no server and cost nothing; take replay or {field} away"
            )
        return self

    @model_validator(mode="after")
    def _nothing_secret(self) -> Self:
        # Not a field's own pattern: its error would hold the input, which may be a key.
        if self.api_key_env is not None and not _VARIABLE.fullmatch(self.api_key_env):
            raise ValueError(
                "api_key_env is the name of an environment variable in capitals, not the key itself"
            )
        if self.base_url is not None and not _is_address(self.base_url):
            raise ValueError(
                "base_url must start with http:// or https:// and hold no user, password or query"
            )
        return self

    @property
    def full_name(self) -> tuple[str, str, str]:
        """Provider, named endpoint, model: what prices and the ledger know a model by."""
        return self.provider, self.endpoint, self.model

    def chosen_wire(self) -> dict[str, JsonValue]:
        """Tell how the interface is asked, where that is chosen: it can change a reply."""
        return self.model_dump(include={"api", "structured"}, exclude_defaults=True)

    def sampling_of(self, task: str) -> Sampling:
        """Return the sampling of a task: the general one with the task's own fields over it."""
        override = self.tasks.get(task)
        if override is None:
            return self.sampling
        return self.sampling.model_copy(update=override.model_dump(exclude_unset=True))


class BudgetLimits(BaseModel):
    """What model calls may cost. Without a limit no paid call is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    usd: float | None = Field(default=None, ge=0, description="upper limit of money, in US dollars")
    tokens: int | None = Field(
        default=None, ge=0, description="upper limit of tokens, prompts and replies together"
    )
    since: date | None = Field(
        default=None, description="count calls paid since this day (UTC); null: the whole cache"
    )

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return self.usd is not None or self.tokens is not None
