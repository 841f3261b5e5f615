"""MCP servers as `mdplan serve` makes them, with an engine at once."""

from collections.abc import Sequence

from mdplan.engine.engine import Engine
from mdplan.mcp.adapter import McpServer
from mdplan.mcp.server import build_catalog, new_server
from mdplan.mcp.tool import DEFAULT_TOOLSETS


def build_server(
    engine: Engine,
    *,
    toolsets: Sequence[str] = DEFAULT_TOOLSETS,
    tools: Sequence[str] = (),
    read_only: bool = False,
    needs_approval: bool = False,
    approve_in_chat: bool = False,
) -> McpServer:
    """MCP server over `engine` that has all that `build_catalog` gives.

    With `needs_approval` it says that the engine commits only what a person approved.
    """
    server = new_server(toolsets, read_only=read_only, needs_approval=needs_approval)
    server.catalog = build_catalog(
        engine, toolsets=toolsets, tools=tools, read_only=read_only, approve_in_chat=approve_in_chat
    )
    return server
