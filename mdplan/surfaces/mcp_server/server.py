"""The server: which tools and resources it has, over one engine."""

from typing import Any, Final

from mcp.server.mcpserver import MCPServer

from mdplan import __version__
from mdplan.engine import Engine
from mdplan.surfaces.mcp_server import adapter
from mdplan.surfaces.mcp_server.resources import resources
from mdplan.surfaces.mcp_server.toolsets.md import INSTRUCTIONS, md_tools

_READ_ONLY: Final = " This server is read-only: it previews, and md_apply is not there."


def build_server(engine: Engine, *, read_only: bool = False) -> MCPServer[Any]:
    """MCP server over `engine`; with `read_only` it has no tool that writes."""
    tools = [tool for tool in md_tools(engine) if not (read_only and tool.writes)]
    return adapter.build(
        tools,
        resources(engine),
        version=__version__,
        instructions=INSTRUCTIONS + (_READ_ONLY if read_only else ""),
    )
