"""HTTP replies bounded in size, for an async client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2

from simulators.remote.errors import ReplyTooLarge, ServiceReplyInvalid


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """A transport that tells of a reply to a POST above ``max_bytes``, and of a failed request.

    Replies are asked for as they are: what is packed would be counted before it is unpacked.
    """

    def __init__(self, max_bytes: int, failed: Callable[[Exception], None]) -> None:
        super().__init__()
        self._max_bytes = max_bytes
        self._failed = failed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the reply's body is counted as it is read."""
        request.headers["accept-encoding"] = "identity"
        try:
            response = await super().handle_async_request(request)
        except httpx2.ConnectError as refused:
            self._failed(refused)
            raise
        if response.status_code in (401, 403):
            self._failed(ServiceRefused(response.status_code))
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed != "identity":
            await response.aclose()
            error = ServiceReplyInvalid(
                f"its reply is packed ({packed[:20]}), which was not asked for"
            )
            self._failed(error)
            raise httpx2.ReadError(str(error), request=request)
        if request.method == "POST":
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, self._max_bytes, self._failed)
        return response


class ServiceRefused(Exception):  # noqa: N818
    """The service takes no request of ours."""

    def __init__(self, status: int) -> None:
        super().__init__(
            f"it answers {status}: its key is wrong or missing; token_env names the variable that "
            "holds it"
        )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, most: int, failed: Callable[[Exception], None]
    ) -> None:
        self._stream = stream
        self._most = most
        self._failed = failed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        try:
            async for part in self._stream:
                count += len(part)
                if count > self._most:
                    error = ReplyTooLarge(
                        f"more than {self._most / 1e6:g} MB in one reply; raise max_mb or ask for "
                        "less"
                    )
                    self._failed(error)
                    raise httpx2.ReadError(str(error))
                yield part
        except httpx2.TransportError as error:
            self._failed(error)
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()
