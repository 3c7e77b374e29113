"""The HTTP client below an official SDK: each attempt has a deadline, failed ones are counted.

The SDK decides which attempt is made again and when (backoff, jitter, Retry-After).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx2

from simulrag.models.providers.base import Provider
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, THROTTLED

TIMEOUT = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
"""Only connecting has a limit of the library's own: its others start anew with each byte."""

MAX_REDIRECTS = 5
_AGAIN = frozenset({408, 409})


class AttemptClient(httpx2.AsyncClient):
    """Notes failures with ``provider``, whose ``timeout_s`` bounds an attempt with its body.

    A redirect to another host is not followed: the prompt is for the first. A body of more than
    ``provider.reply_mb``, unpacked, is given up: nothing that large is a reply.
    """

    def __init__(self, provider: Provider) -> None:
        # As many connections as the gateway lets calls through.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
        super().__init__(timeout=TIMEOUT, limits=limits)
        self._provider = provider

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Make one attempt."""
        limit = self._provider.timeout_s
        try:
            async with asyncio.timeout(limit):
                streamed = {**options, "follow_redirects": False, "stream": True}
                response = await self._followed(request, streamed)
                if not options.get("stream"):
                    response = await self._whole(response)
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

    async def _whole(self, response: httpx2.Response) -> httpx2.Response:
        """Read the body of a response, part by part."""
        content = bytearray()
        async with contextlib.aclosing(response):
            async for part in response.aiter_bytes():
                content += part
                if len(content) > self._provider.reply_mb * 1e6:
                    raise httpx2.RemoteProtocolError(
                        f"its reply is larger than operations.reply_mb "
                        f"({self._provider.reply_mb:g} MB)",
                        request=response.request,
                    )
        headers = [
            (name, value)
            for name, value in response.headers.raw
            if name.lower() not in (b"content-encoding", b"content-length", b"transfer-encoding")
        ]
        return httpx2.Response(
            response.status_code, headers=headers, content=bytes(content), request=response.request
        )

    async def _followed(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Send the request and follow redirects within the host."""
        for _ in range(MAX_REDIRECTS):
            response = await super().send(request, **options)
            following = response.next_request
            if following is None:
                return response
            await response.aclose()
            sent, other = request.url, following.url
            if (sent.scheme, sent.host, sent.port) != (other.scheme, other.host, other.port):
                raise httpx2.RemoteProtocolError(
                    f"it redirects to another host ({other.scheme}://{other.host}), which is not "
                    "followed; name that address as base_url if you trust it",
                    request=request,
                )
            request = following
        raise httpx2.TooManyRedirects("it redirects without an end", request=request)
