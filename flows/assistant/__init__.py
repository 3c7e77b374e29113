"""SimulRAG for assistants: its questions, simulators and method as the tools of an MCP server."""
