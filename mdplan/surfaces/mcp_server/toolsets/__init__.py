"""Toolsets, one file each, and which of their tools a server has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.engine import Engine
from mdplan.surfaces.mcp_server.tool import ToolDefinition
from mdplan.surfaces.mcp_server.toolsets import editor, files, md, text


@dataclass(frozen=True, slots=True)
class Toolset:
    """A family of tools, made of an engine and of whether nothing may be written.

    `instructions` is the paragraph that a model reads about their way of working.
    """

    instructions: str
    tools: Callable[[Engine, bool], tuple[ToolDefinition, ...]]
    names: tuple[str, ...]


TOOLSETS: Final[Mapping[str, Toolset]] = {
    "md": Toolset(md.INSTRUCTIONS, md.md_tools, md.NAMES),
    "editor": Toolset(editor.INSTRUCTIONS, lambda engine, _: editor.editor_tools(engine), editor.NAMES),
    "text": Toolset(text.INSTRUCTIONS, lambda engine, _: text.text_tools(engine), text.NAMES),
    "files": Toolset(files.INSTRUCTIONS, lambda engine, _: files.files_tools(engine), files.NAMES),
}
DEFAULT_TOOLSETS: Final = ("md",)


def chosen_tools(
    engine: Engine, toolsets: Sequence[str], names: Sequence[str], *, read_only: bool
) -> tuple[ToolDefinition, ...]:
    """Tools of `toolsets`, only those called `names` if some are given; with `read_only` none that writes.

    A toolset may have a tool that does less where nothing may be written.
    """
    tools = (tool for toolset in toolsets for tool in TOOLSETS[toolset].tools(engine, read_only))
    return tuple(
        tool for tool in tools if (not names or tool.name in names) and not (read_only and tool.writes)
    )


def tool_names(toolsets: Sequence[str]) -> list[str]:
    """Names of all tools of `toolsets`."""
    return [name for toolset in toolsets for name in TOOLSETS[toolset].names]
