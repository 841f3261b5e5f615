"""A small host of MCP Apps: a page with the `app-bridge` of the SDK, before a real client of a server."""
