"""Pending calls as the lines of batch files, exactly as the gateway would send them.

What a line has beside its ``custom_id`` is the provider's (``SdkProvider.batches``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simulrag.errors import InputError
from simulrag.models.base import Message, Sampling
from simulrag.models.pending import PendingCall, Target
from simulrag.models.providers.registry import make_provider
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.settings import ModelSettings


@dataclass(frozen=True)
class BatchLimits:
    """The most that one batch may hold; ``size`` in bytes."""

    requests: int
    size: int


@dataclass(frozen=True)
class Part:
    """One batch: its calls and their lines. ``name`` is derived from the content."""

    name: str
    target: Target
    path: str
    calls: tuple[PendingCall, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The file's content."""
        return "".join(line + "\n" for line in self.lines)


@lru_cache(maxsize=64)
def provider_of(target: Target) -> SdkProvider:
    """The provider of a target. Raises InputError where it takes no batches."""
    provider = make_provider(ModelSettings.model_validate(target.model_dump()))
    if not isinstance(provider, SdkProvider):
        raise InputError(f"provider '{target.provider}' takes no batches; openai and anthropic do")
    return provider


def sampling_of(call: PendingCall) -> Sampling:
    """The sampling that a call is keyed with."""
    return Sampling.model_validate(call.request["sampling"])


def messages_of(call: PendingCall) -> list[Message]:
    """The conversation that a call sends."""
    request: Any = call.request
    return [Message.model_validate(message) for message in request["messages"]]


def body_of(call: PendingCall) -> dict[str, Any]:
    """The JSON that a call sends."""
    request: Any = call.request
    provider = provider_of(call.target)
    sampling, index = sampling_of(call), request["sample_index"]
    return provider.body(messages_of(call), request["schema"], sampling, index)


def request_line(call: PendingCall) -> str:
    """The line of a call."""
    provider = provider_of(call.target)
    line = {"custom_id": call.id, **provider.batches.request(provider.path, body_of(call))}
    return json.dumps(line, ensure_ascii=True)


def parts(calls: Iterable[PendingCall], limits: BatchLimits | None = None) -> Iterator[Part]:
    """Waiting calls as batches, one model and interface each, within the provider's limits.

    Raises InputError for a call that is too large for a batch of its own.
    """
    groups: dict[str, list[PendingCall]] = {}
    for call in calls:
        if call.waiting:
            groups.setdefault(call.target.model_dump_json(), []).append(call)
    for group in dict(sorted(groups.items())).values():
        target = group[0].target
        own = provider_of(target).batches
        most = limits or BatchLimits(own.most_requests, own.most_bytes)
        yield from _split(target, group, most)


def _split(target: Target, group: list[PendingCall], limits: BatchLimits) -> Iterator[Part]:
    calls: list[PendingCall] = []
    lines: list[str] = []
    size = 0
    for call in group:
        line = request_line(call)
        length = len(line) + 1  # the line is ASCII
        if length > limits.size:
            raise InputError(
                f"the call '{call.task}' (key {call.id}) takes {length} bytes, more than a batch "
                f"may hold ({limits.size})"
            )
        if lines and (len(lines) == limits.requests or size + length > limits.size):
            yield _part(target, calls, lines)
            calls, lines, size = [], [], 0
        calls.append(call)
        lines.append(line)
        size += length
    if lines:
        yield _part(target, calls, lines)


def _part(target: Target, calls: list[PendingCall], lines: list[str]) -> Part:
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    words = (target.provider, target.endpoint, target.model)
    name = "-".join(re.sub(r"[^A-Za-z0-9._]+", "_", word) for word in words)
    path = provider_of(target).path
    return Part(f"{name}-{digest}", target, path, tuple(calls), tuple(lines))
