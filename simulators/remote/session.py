"""Calls of an MCP server, from threads: sessions of the SDK's client in one event loop.

A session whose server died, hung or changed its tools is left, and the next call opens another.
After each call the server is asked once more what its tools are: a result of other tools than the
fingerprint's is not taken.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from simulators.base import RunError
from simulators.remote.tools import (
    Limits,
    Offered,
    ReplyTooLarge,
    ServiceDied,
    ServiceReplyInvalid,
    ServiceTimeout,
    ToolsChanged,
    canonical,
    digest,
    hidden,
    schemas_of,
    without_secrets,
)

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

Result = TypeVar("Result")
MAX_PAGES = 100
START_S = 60.0
"""How long a server may take to start, in s: its first answer waits for all of its imports."""
END_S = 15.0
"""How long we wait, as we end, for servers of ours to end: the SDK kills them before that."""


@dataclass(frozen=True)
class Address:
    """How a server is reached: ``open`` gives the transport of a session.

    ``problems``: what went wrong in the last one's transport; ``last_words``: what a process said
    at its end. ``secrets`` stand in no error.
    """

    title: str
    open: Callable[[], AbstractAsyncContextManager[Any]]
    problems: list[RunError] = field(default_factory=list)
    last_words: Callable[[], str] = str
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Greeting:
    """What a server says of itself."""

    name: str
    version: str
    instructions: str
    tools: tuple[Offered, ...]


@dataclass(eq=False)
class Session:
    """An open session; one that was left ends with the last call that is in it."""

    client: Client
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    calls: int = 0
    left: bool = False


class Server:
    """Calls of a server's tools, each within the limits."""

    def __init__(self, address: Address, limits: Limits, wanted: Sequence[str] | None) -> None:
        self._address = address
        self._limits = limits
        self._wanted = wanted
        self._title = address.title
        self._schemas = ""
        self._session: Session | None = None
        self._opening = asyncio.Lock()

    def greet(self) -> Greeting:
        """Open a session and ask who answers. Raises RunError."""
        return _on_loop(self._greet())

    def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool. Raises RunError: the server died, hung, said too much, changed its tools."""
        return _on_loop(self._call(tool, arguments))

    def close(self) -> None:
        """End the session, and the server's process where it is ours."""
        _on_loop(self._end())

    def forget(self) -> None:
        """Do the same without waiting: a finaliser may run in the loop's own thread."""
        _loop().call_soon_threadsafe(self._leave)

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.stop.set()
            if (keeper := _KEEPERS.get(session)) is not None:
                await asyncio.wait([keeper], timeout=END_S)

    async def _greet(self) -> Greeting:
        from mcp import MCPError

        session = await self._opened()
        try:
            tools = await self._within(self._tools(session))
        except (RunError, MCPError) as error:
            self._leave()
            raise error if isinstance(error, RunError) else self._died(error) from None
        about = session.client.server_info
        self._schemas = digest(schemas_of(self._kept(tools)))
        named = (about.name, about.version) if about else ("mcp", "")
        said = (*named, session.client.instructions or "")
        self._check_size(len(canonical(said)))
        name, version, instructions = hidden(said, self._address.secrets)
        self._title = f"the MCP server '{name}'"
        return Greeting(name, version, instructions, tuple(tools))

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        from mcp import MCPError

        session = await self._opened()
        session.calls += 1
        try:
            try:
                result = await self._within(session.client.call_tool(tool, arguments))
            except MCPError as error:  # it answers, and refuses: perhaps it lost the tool
                await self._check_tools(session)
                raise RunError(f"{tool} was refused: {self._safe(str(error))}") from None
            await self._check_tools(session)
            return result
        except (ReplyTooLarge, ServiceDied, ServiceTimeout, ToolsChanged):
            session.left = True
            raise
        finally:
            session.calls -= 1
            if session.left and session.calls == 0:
                session.stop.set()

    async def _check_tools(self, session: Session) -> None:
        from mcp import MCPError

        try:
            tools = await self._within(self._tools(session))
        except MCPError as error:  # it does not know the session any more
            raise self._died(error) from None
        if digest(schemas_of(self._kept(tools))) != self._schemas:
            raise ToolsChanged(
                f"{self._title} changed its tools since this run began; its result was not "
                "taken. Start again: results of the new tools get keys of their own"
            )

    def _kept(self, tools: Sequence[Offered]) -> list[Offered]:
        return [tool for tool in tools if self._wanted is None or tool.name in self._wanted]

    async def _tools(self, session: Session) -> list[Offered]:
        offered: list[Offered] = []
        cursor: str | None = None
        size = 0
        for _ in range(MAX_PAGES):
            page = await session.client.list_tools(cursor=cursor)
            for tool in page.tools:
                schemas = (tool.input_schema, tool.output_schema)
                said = (tool.name, tool.description or "", *schemas)
                offered.append(Offered(*hidden(said, self._address.secrets)))
                size += len(canonical(said))
            self._check_size(size)
            cursor = page.next_cursor
            if cursor is None:
                return offered
        raise ServiceReplyInvalid(f"{self._title} lists its tools without an end")

    def _check_size(self, size: int) -> None:
        if size > self._limits.max_bytes:
            raise ReplyTooLarge(
                f"{self._title} tells of itself {size / 1e6:.3g} MB, above the limit of "
                f"{self._limits.max_mb:g} MB; raise max_mb or have it say less"
            )

    async def _within(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for the work within the limit. Raises MCPError where the server itself refuses."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        try:
            async with asyncio.timeout(self._limits.timeout_s):
                return await work
        except TimeoutError:
            raise ServiceTimeout(
                f"{self._title} did not answer within {self._limits.timeout_s:g} s; raise "
                "timeout_s if its runs take longer"
            ) from None
        except RunError:
            raise
        except MCPError as error:
            # The SDK's own words: a server may use the number for what it likes.
            closed = error.code == CONNECTION_CLOSED and str(error) == "Connection closed"
            if closed or self._address.problems:
                raise self._died(error) from None
            raise
        except Exception as error:  # the SDK refuses a reply
            if self._address.problems:
                raise self._died(error) from None
            raise ServiceReplyInvalid(
                f"{self._title} answered what is not allowed: {self._safe(_words(error))}"
            ) from None

    def _died(self, error: BaseException) -> RunError:
        """Turn a failed transport into an error for the user."""
        for problem in self._address.problems[:1]:
            if not isinstance(problem, ServiceDied):
                return type(problem)(f"{self._title}: {self._safe(str(problem))}")
            error = problem
        why = self._safe(self._address.last_words() or _words(error))
        return ServiceDied(
            f"{self._title} ended or cannot be reached: {why}; start it and run again"
        )

    def _safe(self, text: str) -> str:
        # What pydantic quotes is cut in its middle: no key would be found in it.
        return without_secrets(text.partition(" [type=")[0], self._address.secrets)

    async def _opened(self) -> Session:
        """Return the open session, or open another where it is gone."""
        async with self._opening:
            session = self._session
            if session is None or session.left or session not in _KEEPERS:
                ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
                keeper = asyncio.create_task(self._keep(ready))
                try:
                    async with asyncio.timeout(max(START_S, self._limits.timeout_s)):
                        session = self._session = await ready
                except TimeoutError:
                    keeper.cancel()
                    await asyncio.gather(keeper, return_exceptions=True)
                    raise ServiceTimeout(f"{self._title} did not start in time") from None
                _KEEPERS[session] = keeper
                keeper.add_done_callback(partial(_KEEPERS.pop, session))
            return session

    async def _keep(self, ready: asyncio.Future[Session]) -> None:
        """Open and close a session in one task, as its task groups want it."""
        from mcp import Client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what a server says is told by us
        timeout = max(START_S, self._limits.timeout_s)  # calls have their own, in _within
        try:
            async with (
                Client(self._address.open(), read_timeout_seconds=timeout, cache=None) as client,
            ):
                # Its own check of a reply runs Python's patterns in this loop's thread, which all
                # sessions share: one reply could stop it. Ours is made where the call came from.
                client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
                session = Session(client)
                ready.set_result(session)
                await session.stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(self._died(error))

    def _leave(self) -> None:
        """Use the session no more."""
        if self._session is not None:
            self._session.left = True
            self._session.stop.set()
            self._session = None


async def _unchecked(name: str, result: CallToolResult) -> None:
    """Nothing."""


def _words(error: BaseException) -> str:
    """Say what an error says; of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_KEEPERS: dict[Session, asyncio.Task[None]] = {}
"""The task of each open session."""


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """Start the event loop of all servers, in a thread of its own to the end of the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="mcp-servers", daemon=True).start()
    return loop


def _on_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for the work's result in the caller's thread."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@atexit.register
def _end_all() -> None:
    """End every server that we started: none outlives us."""

    async def end() -> None:
        for session in _KEEPERS:
            session.stop.set()
        if _KEEPERS:
            await asyncio.wait(list(_KEEPERS.values()), timeout=END_S)

    if _KEEPERS:
        _on_loop(end())
