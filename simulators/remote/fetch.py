"""HTTP requests to a service that is somebody else's: limits, retries, no way to another host."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from simulators.base import RunError
from simulators.remote.errors import ReplyTooLarge, ServiceDied, ServiceReplyInvalid, ServiceTimeout
from simulators.remote.loop import on_loop
from simulators.remote.service import Limits, without_secrets

MAX_REDIRECTS = 5
LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class Fetched:
    """A good reply: its kind (``application/json``) and its bytes."""

    kind: str
    content: bytes


class Fetcher:
    """Requests with one key, in a header; it stands in no log and no error."""

    def __init__(self, limits: Limits, retries: int, key: tuple[str, str] | None) -> None:
        self._limits = limits
        self._retries = retries
        self._key = key

    def send(
        self, method: str, url: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Fetched:
        """The reply with a status of 2xx. Raises RunError.

        429 and 5xx are asked again, after the time that the service names or a growing one.
        """
        asked = {"params": dict(query or {}), **({} if body is None else {"json": body})}
        deadline = time.monotonic() + self._limits.timeout_s
        try:
            address = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise RunError(f"{_place(url)[:200]} is no address: {error}") from None
        for attempt in range(self._retries + 1):
            status, headers, content = on_loop(
                self._once(method, address, asked, deadline - time.monotonic())
            )
            if 200 <= status < 300:
                kind = headers.get("content-type", "").partition(";")[0].strip().lower()
                return Fetched(kind, content)
            again = status == 429 or status >= 500
            wait = _wait(headers, attempt)
            if not again or attempt == self._retries or time.monotonic() + wait > deadline:
                break
            time.sleep(wait)
        said = self._safe(content[:2000].decode(errors="replace"))
        raise RunError(f"{_place(url)} answered {status}{': ' + said if said else ''}")

    async def _once(
        self, method: str, url: httpx2.URL, asked: dict[str, Any], seconds: float
    ) -> tuple[int, httpx2.Headers, bytes]:
        """One request, with redirects within its host, all of it within so many seconds."""
        headers = dict([self._key]) if self._key else {}
        try:
            async with (
                asyncio.timeout(seconds),
                httpx2.AsyncClient(timeout=None, headers=headers) as client,
            ):
                request = client.build_request(method, url, **asked)
                for _ in range(MAX_REDIRECTS):
                    response = await client.send(request, stream=True)
                    try:
                        if response.next_request is None:
                            content = await self._read(response)
                            return response.status_code, response.headers, content
                        request = _within_host(request, response.next_request)
                    finally:
                        await response.aclose()
        except TimeoutError:
            raise self._late(str(url)) from None
        except httpx2.TransportError as error:
            raise ServiceDied(
                f"{_place(str(url))} cannot be reached ({self._safe(str(error))}); is it running?"
            ) from None
        except httpx2.RequestError as error:
            said = self._safe(str(error))
            raise ServiceReplyInvalid(
                f"{_place(str(url))} answered what cannot be read: {said}"
            ) from None
        raise RunError(f"{_place(str(url))} redirects without an end")

    async def _read(self, response: httpx2.Response) -> bytes:
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > self._limits.max_bytes:
                raise ReplyTooLarge(
                    f"{_place(str(response.url))} answered with more than "
                    f"{self._limits.max_mb:g} MB; raise max_mb or ask for less"
                )
        return bytes(content)

    def _late(self, url: str) -> ServiceTimeout:
        return ServiceTimeout(
            f"{_place(url)} did not answer within {self._limits.timeout_s:g} s; raise timeout_s if "
            "its runs take longer"
        )

    def _safe(self, text: str) -> str:
        words = self._key[1].split() if self._key else []
        return without_secrets(text, words[-1:])


def _within_host(sent: httpx2.Request, following: httpx2.Request) -> httpx2.Request:
    """The request that follows a redirect. Raises RunError for one that leaves the host."""
    one, other = sent.url, following.url
    if other.userinfo:
        raise RunError(f"{_place(str(one))} redirects to an address with a user name or password")
    if (one.scheme, one.host, one.port) != (other.scheme, other.host, other.port):
        raise RunError(
            f"{_place(str(one))} redirects to another host ({other.scheme}://{other.host}), which "
            "is not followed: the key is for the first; name the other address if you trust it"
        )
    if following.method != sent.method:
        raise RunError(f"{_place(str(one))} redirects a {sent.method} to a {following.method}")
    return following


def _place(url: str) -> str:
    """An address without its query."""
    return url.partition("?")[0]


def _wait(headers: httpx2.Headers, attempt: int) -> float:
    try:
        asked = float(headers.get("retry-after", ""))
    except ValueError:
        asked = math.nan
    return min(max(asked, 0.0) if math.isfinite(asked) else 0.5 * 2**attempt, LONGEST_WAIT_S)
