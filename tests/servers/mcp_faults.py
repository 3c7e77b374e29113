"""An MCP server of the SDK's low-level class, whose one tool does what it is told to.

``python -m tests.servers.mcp_faults`` speaks on stdio, ``... PORT`` over HTTP on loopback.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server

WAYS = ("word", "die", "hang", "huge", "change", "nan", "misfit", "error", "echo_key", "silent")
TOOL = types.Tool(
    name="gauge",
    description="The level of the river.",
    input_schema={
        "type": "object",
        "properties": {
            "way": {"enum": list(WAYS), "default": "word", "description": "what to do"},
            "day": {"type": "integer", "minimum": 0, "maximum": 365},
        },
    },
    output_schema={
        "type": "object",
        "properties": {"level_m": {"type": "number", "unit": "m"}},
    },
)
CHANGED = TOOL.model_copy(update={"input_schema": {"type": "object", "properties": {}}})
tools = [TOOL]


async def list_tools(
    context: Any, parameters: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=tools)


async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = parameters.arguments or {}
    text, level, wrong = "The river stands at 1.5 m.", 1.5, False
    match arguments.get("way"):
        case "die":
            key = os.environ.get("GAUGE_KEY", "")
            print(f"the gauge broke, its key was {key}", file=sys.stderr)
            os._exit(3)
        case "hang":
            await asyncio.sleep(60)
        case "huge":
            text = "x" * 12_000_000
        case "change":
            tools[:] = [CHANGED]
        case "nan":
            level = math.nan
        case "misfit":
            return types.CallToolResult(content=[], structured_content={"level_m": "high"})
        case "error":
            text, wrong = "no gauge on this day", True
        case "echo_key":
            text, wrong = f"refused {os.environ.get('GAUGE_KEY', '')}", True
        case "silent":
            return types.CallToolResult(content=[], structured_content={})
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=None if wrong else {"level_m": level},
        is_error=wrong,
    )


server: Server[Any] = Server(
    "gauge", version="0.1", on_list_tools=list_tools, on_call_tool=call_tool
)


async def main() -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import uvicorn

        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]), log_level="error")
    else:
        asyncio.run(main())
