"""Toolsets, one file each, and which of their tools a server has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.engine import Engine
from mdplan.surfaces.mcp_server.tool import ToolDefinition
from mdplan.surfaces.mcp_server.toolsets import files, md


@dataclass(frozen=True, slots=True)
class Toolset:
    """A family of tools; `instructions` is the paragraph that a model reads about their way of working."""

    instructions: str
    tools: Callable[[Engine], tuple[ToolDefinition, ...]]


TOOLSETS: Final[Mapping[str, Toolset]] = {
    "md": Toolset(md.INSTRUCTIONS, md.md_tools),
    "files": Toolset(files.INSTRUCTIONS, files.files_tools),
}
DEFAULT_TOOLSETS: Final = ("md",)


def chosen_tools(
    engine: Engine, toolsets: Sequence[str], names: Sequence[str], *, read_only: bool
) -> tuple[ToolDefinition, ...]:
    """Tools of `toolsets`, of which only `names` if some are given; without those that write if `read_only`."""
    tools = [tool for toolset in toolsets for tool in TOOLSETS[toolset].tools(engine)]
    return tuple(
        tool for tool in tools if (not names or tool.name in names) and not (read_only and tool.writes)
    )
