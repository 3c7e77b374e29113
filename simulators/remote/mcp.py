"""Any MCP server as a simulator, by command line (stdio) or by URL (streamable HTTP).

Nobody sees the code of a service, so its fingerprint is its command or address, what it says of
itself (name, version, schemas) and a ``salt``: the user turns it when its results have changed.
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simulators.base import (
    ArgumentError,
    RunError,
    Tool,
    code_files,
    files_fingerprint,
    render_handbook,
)
from simulators.remote.session import Address, Server
from simulators.remote.tools import (
    SEED,
    Limits,
    Offered,
    ReplyTooLarge,
    canonical,
    hidden,
    make_tool,
    outputs_of,
    schemas_of,
    without_secrets,
)
from simulators.tied import tied

if TYPE_CHECKING:
    from mcp.types import CallToolResult

HERE = Path(__file__).parent
_LAST_WORDS = 20_000


class McpSimulator:
    """The tools of an MCP server.

    ``command`` (a list of words) starts it, with ``environment`` the names of the variables that it
    may see and ``folder`` its working directory; or ``url`` names it, with ``token_env`` the
    variable of its bearer token. ``tools``: only these. ``handbook`` (a file) and ``prose`` (a
    text) say what its descriptions do not. ``salt``: any text; another one makes every run anew.
    ``timeout_s`` of a call, ``max_mb`` of a reply (10^6 bytes).
    ``examples``: by tool, calls for ``simulrag simulators check``.

    Raises ArgumentError for settings, RunError where the server does not answer.
    """

    oracle = False
    remote = True

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
        self.name = name
        self._limits = Limits(timeout_s, max_mb)
        if url is not None:
            address = _by_url(_checked(url), _secret(token_env), self._limits)
        else:
            address = _by_command(command or (), environment, folder)
        self._secrets = address.secrets
        self._server = Server(address, self._limits, tools)
        about = self._server.greet()
        weakref.finalize(self, self._server.forget)
        self._title = about.name
        offered = _chosen(about.tools, tools, about.name)
        self._about = _prose(handbook, prose, about.instructions)
        self._identity = {
            # Two services may call themselves alike, and the runs of one are not the other's.
            "found_at": url
            if url is not None
            else [*(command or ()), folder and _in_project(folder)],
            "service": about.name,
            "version": about.version,
            "tools": schemas_of(offered),
            "salt": str(salt),
        }
        self.tools: Mapping[str, Tool] = {tool.name: make_tool(tool) for tool in offered}
        self._seeded = {tool.name for tool in offered if tool.seeded}
        self._examples = dict(examples or {})
        if unknown := sorted(set(self._examples) - set(self.tools)):
            raise ArgumentError(
                f"examples: {about.name} has no tool {', '.join(unknown)}; its tools are: "
                f"{', '.join(self.tools)}"
            )

    def handbook(self) -> str:
        """Return the user's prose and the server's, then what it says of its tools."""
        return render_handbook(f"# {self._title}\n\n{self._about}".strip(), self.tools)

    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return calls to try it with, from the settings."""
        return self._examples

    def fingerprint(self) -> str:
        """Hash where the server is, its name, version and schemas, the salt and this code."""
        return files_fingerprint(code_files(HERE), canonical(self._identity))

    def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Call a tool, with the seed where the tool takes one. Raises RunError."""
        sent = {**arguments, SEED: seed} if tool in self._seeded else dict(arguments)
        result = self._server.call(tool, sent)
        text = _text(result)
        if result.is_error:
            words = without_secrets(text, self._secrets) or "it does not say why"
            raise RunError(f"{self.name}.{tool} failed: {words}")
        text, structured = hidden((text, result.structured_content), self._secrets)
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
        self._server.close()


def _text(result: CallToolResult) -> str:
    """Read the words of a result; what is not text is named."""
    parts = []
    for block in result.content:
        resource = getattr(block, "resource", None)
        words = getattr(block, "text", None) or getattr(resource, "text", None)
        parts.append(words if isinstance(words, str) else f"[{block.type} left out]")
    return "\n".join(parts)


def _by_command(command: Sequence[str], environment: Sequence[str], folder: str | None) -> Address:
    if isinstance(command, str) or not command or not all(isinstance(w, str) for w in command):
        raise ArgumentError(
            "command is a list of words, such as [python, -m, my_server]; the first is a program"
        )
    passed = {variable: _secret(variable) or "" for variable in environment}
    log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        from mcp import StdioServerParameters, stdio_client

        log.truncate(0)
        program, *words = tied(command)
        parameters = StdioServerParameters(
            command=program,
            args=words,
            env=passed,
            cwd=folder,
            encoding_error_handler="replace",
        )
        async with stdio_client(parameters, errlog=log) as streams:
            yield streams

    def last_words() -> str:
        """Read the last line: the end of a traceback says most. A whole one, for its keys."""
        if log.seek(max(0, log.seek(0, os.SEEK_END) - _LAST_WORDS)):
            log.readline()
        return "".join(log.read().strip().splitlines()[-1:])

    title = f"the MCP server '{' '.join(command)[:80]}'"
    secrets = tuple(sorted(passed.values(), key=len, reverse=True))  # one may begin another
    return Address(title, opened, last_words=last_words, secrets=secrets)


def _in_project(folder: str) -> str:
    """Name a folder from its project's, so that a clone elsewhere finds the same runs."""
    path = Path(folder).resolve()
    roots = (above for above in (path, *path.parents) if (above / "params.yaml").is_file())
    return os.path.relpath(path, next(roots, path.anchor))


def _by_url(url: str, token: str | None, limits: Limits) -> Address:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    problems: list[RunError] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        from simulators.remote.bounded import BoundedTransport

        problems.clear()
        async with (
            httpx2.AsyncClient(
                headers=headers,
                timeout=limits.timeout_s,
                transport=BoundedTransport(limits, problems),
            ) as client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=limits.max_bytes
            ) as streams,
        ):
            yield streams

    return Address(
        f"the MCP server at {url.partition('?')[0]}",
        opened,
        problems,
        secrets=(token,) if token else (),
    )


def _chosen(offered: Sequence[Offered], wanted: Sequence[str] | None, title: str) -> list[Offered]:
    """Choose the tools that the settings name, or all. Raises ArgumentError."""
    names = [tool.name for tool in offered]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError(f"{title} has two tools named {', '.join(twice)}; its owner mends that")
    unknown = [name for name in wanted or [] if name not in names]
    if unknown:
        raise ArgumentError(f"{title} has no tool {', '.join(unknown)}; known: {', '.join(names)}")
    kept = [tool for tool in offered if wanted is None or tool.name in wanted]
    if not kept:
        raise ArgumentError(f"{title} offers no tool; a simulator needs one at least")
    return kept


def _prose(handbook: str | None, prose: str, service: str) -> str:
    """Join the user's prose (a file and a text) and the service's own. Raises ArgumentError."""
    parts = [prose.strip(), service.strip()]
    if handbook is not None:
        try:
            parts.insert(0, Path(handbook).read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"handbook: {handbook} cannot be read: {error}") from None
    return "\n\n".join(part for part in parts if part)


def _secret(variable: str | None) -> str | None:
    """Read a key from the environment, by the name of its variable. Raises ArgumentError."""
    if variable is None:
        return None
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ArgumentError(
            f"the environment variable {variable} is not set; it holds the key of the service"
        )
    if not value.isascii() or not value.isprintable():
        raise ArgumentError(f"the value of {variable} cannot be sent: it holds odd characters")
    return value


def _checked(url: str) -> str:
    """Require an http(s) address without a key in it. Raises ArgumentError."""
    try:
        parts = urlsplit(url)
    except (AttributeError, ValueError):
        raise ArgumentError(f"url is no address: {url!r}; write https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = parts._replace(netloc="...").geturl()
        raise ArgumentError(f"url is '{shown}', not an http(s) address; write https://host/path")
    if parts.username or parts.password:
        raise ArgumentError(
            "url holds a user name or password; name a variable of the environment instead"
        )
    return url
