"""An MCP server of the SDK's high-level class: a flood basin, with outputs of a declared shape.

``python -m tests.servers.mcp_basin`` speaks on stdio, ``... PORT`` over HTTP on loopback.
"""

from __future__ import annotations

import sys
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

server = MCPServer("basin", version="1.2", instructions="A basin that fills with rain and drains.")


class Filled(BaseModel):
    """How full the basin gets."""

    peak_m3: float = Field(description="most water in the basin", json_schema_extra={"unit": "m3"})
    overflows: bool = Field(description="whether water runs over")


@server.tool()
def fill(
    rain_mm: Annotated[
        float,
        Field(ge=0, le=200, description="rain of the storm", json_schema_extra={"unit": "mm"}),
    ],
    drain_m3_per_hour: Annotated[float, Field(ge=0, le=500, description="what is drained")] = 50.0,
) -> Filled:
    """How full the basin gets in a storm of six hours."""
    peak = max(0.0, 40.0 * rain_mm - 6 * drain_m3_per_hour)
    return Filled(peak_m3=round(peak, 1), overflows=peak > 4000)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
