"""The desk as an MCP server on stdio."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server

from flows.assistant.desk import OFFERS, AssistantDesk, ToolResult
from flows.cli.errors import code_of

PROGRESS_S = 1.0
"""How often a long request says that it goes on."""
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


def _served(desk: AssistantDesk, name: str, arguments: dict[str, Any]) -> tuple[ToolResult, bool]:
    """The result and whether it is an error; a fault of ours is told in one line and logged."""
    try:
        return desk.serve(name, arguments), False
    except Exception as error:
        if code_of(error) is not None:
            return ToolResult(" ".join(str(error).split()), {}), True
        traceback.print_exc(file=sys.stderr)
        return ToolResult(f"{name} failed inside SimulRAG: {type(error).__name__}", {}), True


async def serve_stdio(desk: AssistantDesk) -> None:
    """Serve until the other side closes. Prints of ours go to stderr meanwhile."""
    from mcp.server.stdio import stdio_server

    server = make_server(desk)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
