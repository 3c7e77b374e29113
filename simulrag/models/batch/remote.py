"""Batches at their provider, by the official SDKs: sent, asked about, read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simulrag.errors import (
    ModelError,
    ModelThrottled,
    ModelUnreachable,
    ReplyRefused,
    SimulRAGError,
)
from simulrag.models.batch.lines import provider_of
from simulrag.models.pending import Target
from simulrag.models.providers.batches import Batches
from simulrag.models.providers.credentials import read_key
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, ODD_SHAPE

READ_TIMEOUT_S = 600.0


@contextmanager
def connected(target: Target) -> Iterator[Batches]:
    """The batches of a target's provider.

    Errors of the SDK come out as ours, without the key: ModelError, EnvironmentFault for a key that
    is missing or not accepted, InputError for what the server does not know. ``was_not_taken``
    tells which of them leave no doubt that nothing was sent.
    """
    import importlib

    provider = provider_of(target)
    server, batches = provider.server, provider.batches
    key = read_key(server.key_variable, server.base_url)
    sdk = importlib.import_module(provider.sdk)
    client = getattr(sdk, batches.client)
    timeout = sdk.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    failure: SimulRAGError
    try:
        # Retries are off: a repeated POST could make, and bill, a batch twice.
        options = {
            "api_key": key,
            "base_url": server.base_url,
            "max_retries": 0,
            "timeout": timeout,
        }
        with client(**options) as opened:
            yield batches(opened, key)
        return
    except sdk.APIError as error:
        failure = server.failure(error, sdk, key)
    except (ValueError, *ODD_SHAPE):
        failure = server.odd_shape()
    raise failure  # outside the handler: the SDK's error, which quotes the server, is not chained


def was_not_taken(error: SimulRAGError) -> bool:
    """The provider certainly made no batch: a timeout or a lost connection leaves that open."""
    never = (ReplyRefused, ModelThrottled, ModelUnreachable)
    return isinstance(error, never) or not isinstance(error, ModelError)
