"""A provider: one way to reach a model. A plug-in is one subclass and an entry point."""

from __future__ import annotations

import ipaddress
import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import JsonValue

from simulrag.errors import ModelUnavailable, NotOffered
from simulrag.models.base import Measure, Message, ProviderReply, Sampling
from simulrag.models.settings import ModelSettings

REPLY_MB = 64.0
"""A hundred times the longest reply that a model writes."""


class Provider(ABC):
    """One way to reach a model. Only ``call`` has to be written.

    Providers neither cache nor validate. A failure is raised as a subclass of
    ``simulrag.errors.ModelError``, never returned; its text holds no key. Whether a failed attempt
    is made again is the provider's affair too (``retries``): official SDKs do that well.

    ``name`` is the name in params.yaml. ``local``: the model runs on this machine, so that its
    calls cost no money and never wait for a batch. ``concurrency``: the most calls that it bears
    at a time; None: as many as ``operations.concurrency`` says. ``max_output_tokens``: the limit
    that it sends where the sampling has none. ``failures`` counts failed attempts by kind.
    The gateway sets ``timeout_s`` (of one attempt), ``retries`` and ``reply_mb`` (the largest
    reply) before the first call.
    """

    name: ClassVar[str]
    local: ClassVar[bool] = False
    concurrency: ClassVar[int | None] = None
    max_output_tokens: ClassVar[int | None] = None

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.failures: Counter[str] = Counter()
        self.timeout_s = 120.0
        self.retries = 0
        self.reply_mb = REPLY_MB

    @abstractmethod
    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        """Return one reply. ``schema``: the reply's JSON schema, its title the model's name."""

    async def measure(
        self,
        measure: Measure,
        messages: Sequence[Message],  # noqa: ARG002
    ) -> ProviderReply:
        """Return what the model finds in words that are given; the reply's text is JSON.

        likelihood: the last message, the assistant's, token by token: [[token, natural
        log-probability], ...], a token by its id or, where the server tells none, its text.
        rerank: one score a message after the first, in their order.

        Raises NotOffered with the reason where the provider has no such thing.
        """
        raise NotOffered(f"provider '{self.name}' offers no {measure} of given texts")

    async def close(self) -> None:  # noqa: B027 most have nothing to close
        """Free connections."""

    @property
    def paid(self) -> bool:
        """Whether calls cost money: what params.yaml states; what is only replayed costs none."""
        return bool(self.settings.paid) and not self.settings.replay

    @property
    def identity(self) -> str | None:
        """What stands for the model in a call's key where its name may mean anything (a path)."""
        return None

    @property
    def key_variable(self) -> str | None:
        """The environment variable whose value is sent as the key; None where none is."""
        return self.settings.api_key_env

    @property
    def key_is_set(self) -> bool:
        """Whether the variable of the key holds anything."""
        return bool(os.environ.get(self.key_variable or "", "").strip())

    @property
    def deadline_s(self) -> float:
        """The longest that a call may take, with all that the provider does about failures."""
        return self.timeout_s


def measured_text(values: Sequence[Any]) -> str:
    """Write what was measured as text. Raises ModelUnavailable for what is no number."""
    try:
        return json.dumps(values, allow_nan=False)
    except ValueError:
        raise ModelUnavailable("the model measured NaN or an infinite value: no result") from None


def is_own_server(base_url: str | None) -> bool:
    """Tell whether an address is one's own: this machine, a private network, a dotless name.

    A server that is wrongly taken for another's asks for a budget; one wrongly taken for one's own
    would spend without one.
    """
    host = urlsplit(base_url or "").hostname or ""
    if not host:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))
    return address.is_loopback or address.is_private or address.is_link_local
