"""The desk as an MCP server: on stdio, or over HTTP on this machine with a token."""

from __future__ import annotations

import asyncio
import hmac
import socket
import sys
import traceback
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server.lowlevel import Server

from flows.assistant.desk import OFFERS, AssistantDesk, Said
from flows.cli.errors import code_of
from simulrag.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    App = Callable[[Scope, Callable[..., Any], Callable[..., Any]], Awaitable[None]]

PROGRESS_S = 1.0
"""How often a long request says that it goes on."""
HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN_LETTERS = 16
_OPEN = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CLOSED = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
)


def make_server(desk: AssistantDesk) -> Server[Any]:
    """The server of a project."""
    from importlib.metadata import version

    async def list_tools(context: Any, page: Any) -> types.ListToolsResult:  # noqa: ARG001
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=offer.name,
                    description=offer.description,
                    input_schema=dict(offer.arguments.schema),
                    annotations=_OPEN if offer.harmless else _CLOSED,
                )
                for offer in OFFERS.values()
            ]
        )

    async def call_tool(
        context: Any, parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        work = asyncio.create_task(
            asyncio.to_thread(_served, desk, parameters.name, parameters.arguments or {})
        )
        seconds = 0.0
        while not (await asyncio.wait([work], timeout=PROGRESS_S))[0]:
            seconds += PROGRESS_S
            words = f"{parameters.name}: running for {seconds:g} s"
            await context.session.report_progress(seconds, None, words)
        said, wrong = work.result()
        return types.CallToolResult(
            content=[types.TextContent(text=said.text)],
            structured_content=None if wrong else said.fields,
            is_error=wrong,
        )

    return Server(
        "simulrag",
        version=version("simulrag"),
        instructions=(
            "Scientific questions answered with simulators. Read a domain's handbook before "
            "'simulate'. Domains: " + ", ".join(_domains(desk))
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _domains(desk: AssistantDesk) -> list[str]:
    from flows.params import load_params

    return load_params(desk.project.params).domains


def _served(desk: AssistantDesk, name: str, arguments: dict[str, Any]) -> tuple[Said, bool]:
    """The result and whether it is an error; a fault of ours is told in one line and logged."""
    try:
        return desk.serve(name, arguments), False
    except Exception as error:
        if code_of(error) is not None:
            return Said(" ".join(str(error).split()), {}), True
        traceback.print_exc(file=sys.stderr)
        return Said(f"{name} failed inside SimulRAG: {type(error).__name__}", {}), True


async def serve_stdio(desk: AssistantDesk) -> None:
    """Serve until the other side closes. Prints of ours go to stderr meanwhile."""
    from mcp.server.stdio import stdio_server

    server = make_server(desk)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(desk: AssistantDesk, port: int, token: str) -> None:
    """Serve on this machine's loopback address. Raises InputError for a port that is taken."""
    import uvicorn

    app = http_app(desk, token)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used ({error.strerror}); name another"
            ) from None
        listening.listen()  # before it is announced: who reads the line connects at once
        bound = listening.getsockname()[1]
        sys.stderr.write(f"listening on http://{HOST}:{bound}{PATH}\n")
        sys.stderr.flush()
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])


def http_app(desk: AssistantDesk, token: str) -> App:
    """The server as a web application: the token first, then the SDK's check of host and origin."""
    inner = make_server(desk).streamable_http_app(host=HOST, streamable_http_path=PATH)
    wanted = f"Bearer {token}".encode()

    async def app(scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                await _refuse(send)
                return
        await inner(scope, receive, send)

    return app


async def _refuse(send: Callable[..., Any]) -> None:
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    body = b"a bearer token is needed: the value of SIMULRAG_MCP_TOKEN where the server runs\n"
    await send({"type": "http.response.body", "body": body})
