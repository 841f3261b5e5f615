"""The MCP server: tools over the engine, for agents."""
