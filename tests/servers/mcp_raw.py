"""An MCP server without the SDK, for what the SDK's own servers never send: a bare NaN, a log line.

``python -m tests.servers.mcp_raw`` speaks on stdio, in the handshake of 2025.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "gauge",
    "description": "The level of the river.",
    "inputSchema": {"type": "object", "properties": {"level": {"type": "string"}}},
}


def answer(method: str, parameters: dict[str, Any]) -> str | None:
    """The result as JSON text."""
    if method == "initialize":
        version = parameters["protocolVersion"]
        about = {"name": "raw", "version": "1"}
        return json.dumps(
            {"protocolVersion": version, "serverInfo": about, "capabilities": {"tools": {}}}
        )
    if method == "tools/list":
        return json.dumps({"tools": [TOOL]})
    if method == "tools/call":
        level = parameters["arguments"].get("level", "1.5")
        return '{"content": [], "structuredContent": {"level_m": ' + level + "}}"
    return None


def main() -> None:
    print("a line that is no message", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result = answer(asked["method"], asked.get("params", {}))
        error = '"error": {"code": -32601, "message": "unknown method"}'
        end = error if result is None else f'"result": {result}'
        print(f'{{"jsonrpc": "2.0", "id": {json.dumps(asked["id"])}, {end}}}', flush=True)


if __name__ == "__main__":
    main()
