"""HTTP replies bounded in size: the SDK's client bounds events, and no other reply."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from simulators.base import RunError
from simulators.remote.tools import Limits, ReplyTooLarge, ServiceDied


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """A transport that ends a reply to a POST above the limit, and notes why a request failed.

    Replies are asked for as they are: what is packed would be counted before it is unpacked.
    """

    def __init__(self, limits: Limits, problems: list[RunError]) -> None:
        super().__init__()
        self._limits = limits
        self._problems = problems

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the reply's body is counted as it is read."""
        request.headers["accept-encoding"] = "identity"
        try:
            response = await super().handle_async_request(request)
        except httpx2.ConnectError as refused:
            self._problems.append(ServiceDied(f"it cannot be reached ({refused})"))
            raise
        if response.status_code in (401, 403):
            self._problems.append(
                ServiceDied(
                    f"it answers {response.status_code}: its key is wrong or missing; token_env "
                    "names the variable that holds it"
                )
            )
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed != "identity":
            await response.aclose()
            raise httpx2.ReadError("a packed reply, which was not asked for", request=request)
        if request.method == "POST":
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream, self._limits, self._problems)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, limits: Limits, problems: list[RunError]
    ) -> None:
        self._stream = stream
        self._limits = limits
        self._problems = problems

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for part in self._stream:
            count += len(part)
            if count > self._limits.max_bytes:
                error = ReplyTooLarge(
                    f"more than {self._limits.max_mb:g} MB in one reply; raise max_mb or ask for "
                    "less"
                )
                self._problems.append(error)
                raise httpx2.ReadError(str(error))
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
