"""Simulators behind a wire: tools of an MCP server, operations of an OpenAPI document."""
