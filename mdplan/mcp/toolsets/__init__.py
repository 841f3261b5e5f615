"""Toolsets, one file each, and which of their tools a server has."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mdplan.engine.engine import Engine
from mdplan.mcp.tool import ToolDefinition
from mdplan.mcp.toolsets import editor, files, md, text

# What makes the tools of a toolset, of an engine and of whether nothing may be written.
TOOLSETS: Final[Mapping[str, Callable[[Engine, bool], tuple[ToolDefinition, ...]]]] = {
    "md": md.md_tools,
    "editor": lambda engine, _: editor.editor_tools(engine),
    "text": lambda engine, _: text.text_tools(engine),
    "files": lambda engine, _: files.files_tools(engine),
}


def chosen_tools(
    engine: Engine, toolsets: Sequence[str], names: Sequence[str], *, read_only: bool
) -> tuple[ToolDefinition, ...]:
    """Tools of `toolsets`, only those called `names` if some are given; with `read_only` none that writes.

    A toolset may have a tool that does less where nothing may be written.
    """
    tools = (tool for toolset in toolsets for tool in TOOLSETS[toolset](engine, read_only))
    return tuple(
        tool for tool in tools if (not names or tool.name in names) and not (read_only and tool.writes)
    )
