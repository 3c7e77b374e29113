"""The HTTP client below an official SDK: each attempt has a deadline, failed ones are counted.

The SDK decides which attempt is made again and when (backoff, jitter, Retry-After).
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

from simulrag.models.providers.base import Provider
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, THROTTLED

TIMEOUT = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
"""Only connecting has a limit of the library's own: its others start anew with each byte."""

_AGAIN = frozenset({408, 409})


class AttemptClient(httpx2.AsyncClient):
    """Notes failures with ``provider``, whose ``timeout_s`` bounds an attempt with its body."""

    def __init__(self, provider: Provider) -> None:
        # As many connections as the gateway lets calls through.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
        super().__init__(timeout=TIMEOUT, limits=limits, follow_redirects=True)
        self._provider = provider

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """One attempt."""
        limit = self._provider.timeout_s
        try:
            async with asyncio.timeout(limit):
                response = await super().send(request, **options)
        except (TimeoutError, httpx2.TimeoutException) as error:
            self._provider.failures["timeout"] += 1
            if isinstance(error, TimeoutError):
                raise httpx2.ReadTimeout(f"{limit:g} s", request=request) from None
            raise
        except httpx2.RequestError:
            self._provider.failures["unavailable"] += 1
            raise
        if response.status_code in THROTTLED:
            self._provider.failures["throttled"] += 1
        elif response.status_code in _AGAIN or response.status_code >= 500:
            self._provider.failures["unavailable"] += 1
        return response
