"""The pages of the MCP tools, one for each toolset, from what a server publishes."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any, Final

from mdplan.codegen.pages.page import bullets, fenced, kind_of, page, table, with_code_tags
from mdplan.codegen.published_tools import published_tools
from mdplan.mcp.guide.introductions import DEFAULT_TOOLSETS, INTRODUCTIONS
from mdplan.mcp.tool import ToolDefinition

FOLDER: Final = "docs/reference/tools"
_WIDTH: Final = 88
_INTRODUCTION: Final = """\
`mdplan serve` offers one or several toolsets: families of tools over the same engine, chosen with `--toolsets`.
`--tools` takes only some of their tools, and `--read-only` omits every tool that writes.
Names, descriptions and arguments on these pages are what a client gets."""
_REFUSALS: Final = """\
A refusal is an answer with `isError`, and its text alone says all: the [code](errors.md), what and where, the next step.
A success has a short text, and everything in `structuredContent`, whose schemas are in [`schemas/tools`](schemas.md#tools).
Answers that would be too long say how many entries they omit; see [limits](limits.md)."""


def tool_pages() -> dict[str, str]:
    """The index and the page of each toolset, by their paths."""
    tools = published_tools()
    pages = {f"{FOLDER}/{toolset}.md": _toolset_page(toolset, tools[toolset]) for toolset in tools}
    rows = [
        (
            f"[`{toolset}`](tools/{toolset}.md)",
            "yes" if toolset in DEFAULT_TOOLSETS else "",
            ", ".join(f"`{tool.name}`" for tool in tools[toolset]),
        )
        for toolset in tools
    ]
    listed = table(["Toolset", "Default", "Tools"], rows)
    return {f"{FOLDER}.md": page("MCP tools", _INTRODUCTION, listed, _REFUSALS), **pages}


def _toolset_page(toolset: str, tools: tuple[ToolDefinition, ...]) -> str:
    instructions = f"Instructions that a model gets:\n\n> {INTRODUCTIONS[toolset].instructions}"
    listed = bullets(f"[`{tool.name}`](#{tool.name.lower()}): {tool.title.lower()}" for tool in tools)
    blocks = [block for tool in tools for block in _tool_blocks(tool)]
    return page(f"Toolset {toolset}", instructions, listed, *blocks)


def _tool_blocks(tool: ToolDefinition) -> Iterator[str]:
    yield f"## {tool.name}"
    repeated = "may be repeated" if tool.may_be_repeated else "does more when it is repeated"
    yield f"{tool.title}. {'Writes' if tool.writes else 'Only looks'}; {repeated}."
    yield fenced("\n".join(map(_wrapped, tool.description.split("\n"))))
    yield table(["Argument", "Value", "", "Meaning"], _rows(tool.input_schema))


def _wrapped(line: str) -> str:
    """A line of a description, broken where it is too wide for a page."""
    return fill(line, _WIDTH, subsequent_indent="  " if line.startswith("- ") else "")


def _rows(schema: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Rows of the fields of an object, and of the objects in them: ``files[].path``."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{outer}{name}"
        needed = "required" if name in required else ""
        yield f"`{path}`", kind_of(field), needed, with_code_tags(field.get("description", ""))
        inner, mark = (field["items"], "[]") if field.get("type") == "array" else (field, "")
        yield from _rows(inner, f"{path}{mark}.")
