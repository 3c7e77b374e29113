"""Simulators behind a wire: the tools of an MCP server."""
