"""The server: which tools, resources and prompts it has, over one engine."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcp.server.mcpserver import MCPServer

from mdplan import __version__
from mdplan.engine import Engine
from mdplan.surfaces.mcp_server import adapter
from mdplan.surfaces.mcp_server.guide import way_of_working
from mdplan.surfaces.mcp_server.resources import resources
from mdplan.surfaces.mcp_server.tool import PromptDefinition
from mdplan.surfaces.mcp_server.toolsets import DEFAULT_TOOLSETS, TOOLSETS, chosen_tools

_READ_ONLY: Final = "This server is read-only: it previews, and tools that write are not there."


def build_server(
    engine: Engine,
    *,
    toolsets: Sequence[str] = DEFAULT_TOOLSETS,
    tools: Sequence[str] = (),
    read_only: bool = False,
) -> MCPServer[Any]:
    """MCP server over `engine` with the tools of `toolsets`, or those `tools` of them.

    With `read_only` it has no tool that writes.
    """
    paragraphs = {name: TOOLSETS[name].instructions for name in toolsets}
    return adapter.build(
        chosen_tools(engine, toolsets, tools, read_only=read_only),
        resources(engine, paragraphs),
        (_prompt(paragraphs),),
        version=__version__,
        instructions="\n\n".join([*paragraphs.values(), *([_READ_ONLY] if read_only else [])]),
    )


def _prompt(paragraphs: Mapping[str, str]) -> PromptDefinition:
    return PromptDefinition(
        name="way-of-working",
        title="How to edit with these tools",
        description="A short guide: look, edit by section, pin, preview in doubt.",
        text=way_of_working(paragraphs),
    )
