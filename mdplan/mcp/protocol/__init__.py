"""Everything that depends on the MCP SDK: the server, stdio, HTTP, Apps, tasks and elicitation."""
