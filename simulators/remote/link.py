"""A connection to an MCP server, from threads: one event loop of its own, opened when needed.

A server that died or hung is left, and the next call opens another. After each call the server is
asked once more what its tools are: a result of other tools than the fingerprint's is not taken.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from simulators.base import RunError
from simulators.remote.errors import ServiceDied, ServiceReplyInvalid, ServiceTimeout, ToolsChanged
from simulators.remote.loop import event_loop, on_loop
from simulators.remote.service import (
    Limits,
    Offered,
    canonical,
    digest,
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


@dataclass(frozen=True)
class Greeting:
    """What a server says of itself."""

    name: str
    version: str
    instructions: str
    tools: tuple[Offered, ...]


@dataclass(eq=False)
class Live:
    """An open session. ``problem`` ends every call that waits in it."""

    client: Client
    problem: asyncio.Future[None]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    keeper: asyncio.Task[None] | None = None
    calls: int = 0
    left: bool = False


@dataclass(frozen=True)
class Address:
    """How a server is reached: ``open`` gives the streams of a session, given whom to tell of a
    failure and where its last words go; ``secrets`` stand in no error."""

    title: str
    open: Callable[[Callable[[Exception], None], bytearray], Any]
    secrets: tuple[str, ...] = ()


class Link:
    """Calls of a server's tools, each within the limits."""

    def __init__(self, address: Address, limits: Limits, wanted: Sequence[str] | None) -> None:
        self._address = address
        self._limits = limits
        self._wanted = wanted
        self._title = address.title
        self._schemas = ""
        self._live: Live | None = None
        self._opening: asyncio.Lock | None = None
        self._words = bytearray()

    def greet(self) -> Greeting:
        """Open a session and ask who answers. Raises RunError."""
        return on_loop(self._greet())

    def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """One call. Raises RunError: the server died, hung, said too much, changed its tools."""
        return on_loop(self._call(tool, arguments))

    def close(self) -> None:
        """End the session, and the server's process where it is ours."""
        on_loop(self._end())

    def forget(self) -> None:
        """The same without waiting: a finaliser may run in the loop's own thread."""
        event_loop().call_soon_threadsafe(self._forgotten)

    def _forgotten(self) -> None:
        if self._live is not None:
            self._live.stop.set()

    async def _end(self) -> None:
        live = self._live
        await self._leave(live)
        if live is not None and live.keeper is not None:
            await asyncio.wait([live.keeper], timeout=START_S)

    async def _greet(self) -> Greeting:
        live = await self._session()
        try:
            tools = await self._within(live, self._tools(live))
        except RunError:
            await self._leave(live)
            raise
        about = live.client.server_info
        self._schemas = digest(schemas_of(self._kept(tools)))
        name = about.name if about else "mcp"
        self._title = f"the MCP server '{name}'"
        return Greeting(
            name=name,
            version=about.version if about else "",
            instructions=live.client.instructions or "",
            tools=tuple(tools),
        )

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        from mcp import MCPError

        live = await self._session()
        live.calls += 1
        try:
            try:
                result = await self._within(live, live.client.call_tool(tool, arguments))
            except MCPError as error:  # it answers, and refuses: perhaps it lost the tool
                await self._check_tools(live)
                raise RunError(f"{tool} was refused: {self._safe(str(error))}") from None
            await self._check_tools(live)
            return result
        except (ServiceDied, ServiceTimeout, ToolsChanged):
            live.left = True
            raise
        finally:
            live.calls -= 1
            if live.left or live.problem.done():
                await self._leave(live)

    async def _check_tools(self, live: Live) -> None:
        tools = await self._within(live, self._tools(live))
        if digest(schemas_of(self._kept(tools))) != self._schemas:
            raise ToolsChanged(
                f"{self._title} changed its tools since this run began; its result was not "
                "taken. Start again: results of the new tools get keys of their own"
            )

    def _kept(self, tools: Sequence[Offered]) -> list[Offered]:
        return [one for one in tools if self._wanted is None or one.name in self._wanted]

    async def _tools(self, live: Live) -> list[Offered]:
        found: list[Offered] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await live.client.list_tools(cursor=cursor)
            found += [
                Offered(one.name, one.description or "", one.input_schema, one.output_schema)
                for one in page.tools
            ]
            self._check_size(canonical([one.arguments for one in found]))
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ServiceReplyInvalid(f"{self._title} lists its tools without an end")

    def _check_size(self, text: str) -> None:
        if len(text) > self._limits.max_bytes:
            raise ServiceReplyInvalid(f"the tools of {self._title} take more than the limit")

    async def _within(self, live: Live, work: Coroutine[Any, Any, Result]) -> Result:
        """The work's result; a RunError for a time-out, a failed transport, an invalid reply."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        task = asyncio.ensure_future(work)
        both: list[asyncio.Future[Any]] = [task, live.problem]
        waited, _ = await asyncio.wait(
            both,
            timeout=self._limits.timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if live.problem.done() or not waited:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if live.problem.done():
                raise self._named(live.problem.exception())
            raise self._late()
        try:
            return task.result()
        except RunError:
            raise
        except MCPError as error:
            # The SDK's own words: a server may use the number for what it likes.
            if error.code == CONNECTION_CLOSED and str(error) == "Connection closed":
                await asyncio.wait([live.problem], timeout=0.5)  # its reason comes a moment later
                raise self._named(
                    live.problem.exception() if live.problem.done() else None
                ) from None
            raise
        except (
            Exception
        ) as error:  # the SDK refuses a reply: not its own schema, or no reply at all
            raise ServiceReplyInvalid(
                f"{self._title} answered what is not allowed: {self._safe(_words(error))}"
            ) from None

    def _named(self, error: BaseException | None) -> RunError:
        """A failed transport as an error for the user."""
        title = self._title
        if isinstance(error, RunError):
            return type(error)(f"{title}: {self._safe(str(error))}")
        lines = self._words.decode(errors="replace").strip().splitlines()
        last = self._safe(lines[-1])[:200] if lines else ""  # the end of a traceback says most
        why = f": {last}" if last else (f": {self._safe(_words(error))}" if error else "")
        return ServiceDied(f"{title} ended or cannot be reached{why}; start it and run again")

    def _late(self) -> ServiceTimeout:
        return ServiceTimeout(
            f"{self._title} did not answer within {self._limits.timeout_s:g} s; raise "
            "timeout_s if its runs take longer"
        )

    def _safe(self, text: str) -> str:
        return without_secrets(text, self._address.secrets)

    async def _session(self) -> Live:
        """The open session, or another where it is gone."""
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            live = self._live
            if live is None or live.left or live.problem.done():
                self._words.clear()
                ready: asyncio.Future[Live] = asyncio.get_running_loop().create_future()
                keeper = asyncio.create_task(self._keep(ready))
                _KEEPERS.add(keeper)
                keeper.add_done_callback(_KEEPERS.discard)
                try:
                    async with asyncio.timeout(max(START_S, self._limits.timeout_s)):
                        live = self._live = await ready
                    live.keeper = keeper
                except TimeoutError:
                    keeper.cancel()
                    await asyncio.gather(keeper, return_exceptions=True)
                    raise ServiceTimeout(f"{self._title} did not start in time") from None
            return live

    async def _keep(self, ready: asyncio.Future[Live]) -> None:
        """One task opens and closes a session, as its task groups want it."""
        problem: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def failed(error: BaseException) -> None:
            if not problem.done():
                problem.set_exception(error)
                problem.exception()  # seen: asyncio need not warn of it

        try:
            async with AsyncExitStack() as stack:
                live = Live(await stack.enter_async_context(self._client(failed)), problem)
                ready.set_result(live)
                ends: list[asyncio.Future[Any]] = [asyncio.create_task(live.stop.wait()), problem]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                ends[0].cancel()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            failed(problem.exception() if problem.done() else error)  # type: ignore[arg-type]
            if not ready.done():
                ready.set_exception(self._named(problem.exception()))

    @asynccontextmanager
    async def _client(self, failed: Callable[[Exception], None]) -> AsyncIterator[Client]:
        from mcp import Client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what a server says is told by us
        transport = self._address.open(failed, self._words)
        timeout = max(START_S, self._limits.timeout_s)  # calls have their own, in _within
        async with Client(transport, read_timeout_seconds=timeout, cache=None) as client:
            # Its own check of a reply runs Python's patterns in this loop's thread, which all
            # sessions share: one reply could stop it. Ours is made where the call came from.
            client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
            yield client

    async def _leave(self, live: Live | None) -> None:
        """Use a session no more; it ends with the last call that is in it."""
        if live is None:
            return
        live.left = True
        if live.calls == 0:
            live.stop.set()
        if self._live is live:
            self._live = None


async def _unchecked(name: str, result: CallToolResult) -> None:
    """Nothing."""


def _words(error: BaseException) -> str:
    """What an error says; of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_KEEPERS: set[asyncio.Task[None]] = set()
