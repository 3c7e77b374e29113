"""The HTTP client below an official SDK: each attempt has a deadline, failed ones are counted.

The SDK decides which attempt is made again and when (backoff, jitter, Retry-After).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from simulrag.errors import ModelUnavailable
from simulrag.models.providers.faults import CONNECT_TIMEOUT_S, THROTTLED
from simulrag.models.providers.sdk import SdkProvider

TIMEOUT = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
"""Only connecting has a limit of the library's own: its others start anew with each byte."""

MAX_REDIRECTS = 5
_AGAIN = frozenset({408, 409})


class AttemptClient(httpx2.AsyncClient):
    """Notes failures with ``provider``, whose ``timeout_s`` bounds an attempt with its body.

    No other host than the provider's is asked, whatever address a redirect or a reply names:
    prompts and key are for that one. A body of more than ``provider.reply_mb``, unpacked, is given
    up: nothing that large is a reply. Whoever asks for a stream reads it by ``lines_of``.
    """

    def __init__(self, provider: SdkProvider) -> None:
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
                if not options.get("stream") or response.is_error:
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
                    # No error of the library's: the SDK would ask, and pay, again.
                    raise ModelUnavailable(
                        f"the reply of {self._provider.server.base_url} is larger than "
                        f"operations.reply_mb ({self._provider.reply_mb:g} MB)"
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
        own = httpx2.URL(self._provider.server.base_url)
        for _ in range(MAX_REDIRECTS):
            other = request.url
            if (own.scheme, own.host, own.port) != (other.scheme, other.host, other.port):
                raise httpx2.RemoteProtocolError(
                    f"it redirects to another host ({other.scheme}://{other.host}), which is not "
                    "followed; name that address as base_url if you trust it",
                    request=request,
                )
            response = await super().send(request, **options)
            following = response.next_request
            if following is None:
                return response
            await response.aclose()
            request = following
        raise httpx2.TooManyRedirects("it redirects without an end", request=request)


async def lines_of(response: httpx2.Response, provider: SdkProvider) -> AsyncIterator[str | None]:
    """Read a body line by line; None for one that is longer than ``provider.reply_mb``.

    Raises ModelUnavailable for a line that takes too long, and for a body that breaks off.
    """
    line, too_long = bytearray(), False
    parts = response.aiter_bytes()
    loop = asyncio.get_running_loop()
    until_s = loop.time() + provider.timeout_s
    try:
        while True:
            async with asyncio.timeout_at(until_s):
                part = await anext(parts, b"")
            if not part:
                break
            for piece in part.splitlines(keepends=True):
                line += piece
                if len(line) > provider.reply_mb * 1e6:
                    too_long = True
                    line.clear()  # and what follows: none of it is kept
                if piece.endswith(b"\n"):
                    yield None if too_long else line.decode(errors="replace")
                    line, too_long = bytearray(), False
                    until_s = loop.time() + provider.timeout_s
    except (TimeoutError, httpx2.HTTPError) as error:
        why = "took too long" if isinstance(error, TimeoutError) else f"broke off ({error})"
        raise ModelUnavailable(f"a line of {provider.server.base_url} {why}") from None
    if line or too_long:
        yield None if too_long else line.decode(errors="replace")
