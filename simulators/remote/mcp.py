"""Any MCP server as a simulator, by command line (stdio) or by URL (streamable HTTP)."""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from simulators.base import ArgumentError, RunError
from simulators.remote.errors import ReplyTooLarge
from simulators.remote.link import Address, Link
from simulators.remote.pipe import process_streams
from simulators.remote.service import (
    Limits,
    RemoteSimulator,
    checked_url,
    chosen,
    outputs_of,
    prose_of,
    secret,
    without_secrets,
)

if TYPE_CHECKING:
    from mcp.types import CallToolResult


class McpSimulator(RemoteSimulator):
    """The tools of an MCP server.

    ``command`` (a list of words) starts it, with ``environment`` the names of the variables that it
    may see and ``folder`` its working directory; or ``url`` names it, with ``token_env`` the
    variable of its bearer token. ``tools``: only these. ``handbook`` (a file) and ``prose`` (a
    text) say what its descriptions do not. ``salt``: any text; another one makes every run anew.
    ``examples``: by tool, calls for ``simulrag simulators check``.

    Raises ArgumentError for settings, RunError where the server does not answer.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        url: str | None = None,
        *,
        name: str = "mcp",
        environment: Sequence[str] = (),
        folder: str | None = None,
        token_env: str | None = None,
        tools: Sequence[str] | None = None,
        handbook: str | None = None,
        prose: str = "",
        salt: str = "",
        timeout_s: float = 60.0,
        max_mb: float = 10.0,
        examples: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> None:
        if (command is None) == (url is None):
            raise ArgumentError("mcp needs one of command (a list of words) and url, not both")
        limits = Limits(timeout_s, max_mb)
        if url is not None:
            address = _by_url(checked_url(url, "url"), secret(token_env), limits)
        else:
            address = _by_command(command or (), environment, folder, limits)
        self._link = Link(address, limits, tools)
        self._limits = limits
        self._secrets = address.secrets
        about = self._link.greet()
        weakref.finalize(self, self._link.forget)  # also where the interpreter ends
        super().__init__(
            name=name,
            title=about.name,
            version=about.version,
            offered=chosen(about.tools, tools, about.name),
            about=prose_of(handbook, prose, about.instructions),
            salt=salt,
            examples=examples,
        )

    def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """One call of a tool. Raises RunError."""
        result = self._link.call(tool, self.sent(tool, arguments, seed))
        text = _text(result)
        if result.is_error:
            said = without_secrets(text, self._secrets) or "it does not say why"
            raise RunError(f"{self.name}.{tool} failed: {said}")
        structured = result.structured_content
        size = len(text) + len(json.dumps(structured))
        if size > self._limits.max_bytes:
            raise ReplyTooLarge(
                f"{self.name}.{tool} answered with {size / 1e6:.3g} MB, above the limit of "
                f"{self._limits.max_mb:g} MB; raise max_mb or ask for less"
            )
        values = structured if isinstance(structured, dict) else {}
        return outputs_of(self.tools[tool], values, text)

    def close(self) -> None:
        """End the session, and the server where it is a process of ours."""
        self._link.close()


def _text(result: CallToolResult) -> str:
    """The words of a result; what is not text is named."""
    parts = []
    for block in result.content:
        resource = getattr(block, "resource", None)
        words = getattr(block, "text", None) or getattr(resource, "text", None)
        parts.append(words if isinstance(words, str) else f"[{block.type} left out]")
    return "\n".join(parts)


def _by_command(
    command: Sequence[str], environment: Sequence[str], folder: str | None, limits: Limits
) -> Address:
    if isinstance(command, str) or not command or not all(isinstance(w, str) for w in command):
        raise ArgumentError(
            "command is a list of words, such as [python, -m, my_server]; the first is a program"
        )
    passed = {variable: secret(variable) or "" for variable in environment}

    def opened(failed: Callable[[Exception], None], words: bytearray) -> Any:
        return process_streams(
            list(command),
            environment=passed,
            folder=folder,
            max_bytes=limits.max_bytes,
            failed=failed,
            last_words=words,
        )

    return Address(f"the MCP server '{' '.join(command)[:80]}'", opened, tuple(passed.values()))


def _by_url(url: str, token: str | None, limits: Limits) -> Address:
    def opened(failed: Callable[[Exception], None], words: bytearray) -> Any:  # noqa: ARG001
        return _http_streams(url, token, limits, failed)

    return Address(f"the MCP server at {url.partition('?')[0]}", opened, (token,) if token else ())


@asynccontextmanager
async def _http_streams(
    url: str, token: str | None, limits: Limits, failed: Callable[[Exception], None]
) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from simulators.remote.bounded import BoundedTransport

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=limits.timeout_s,
            transport=BoundedTransport(limits.max_bytes, failed),
        ) as client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=limits.max_bytes
        ) as streams,
    ):
        yield streams
