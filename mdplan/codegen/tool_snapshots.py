"""Snapshots of the MCP tools, which a test compares with the tools that a server lists."""

import json
from typing import Any, Final

from mdplan.codegen.published_tools import published_tools
from mdplan.mcp.tool import ToolDefinition

FOLDER: Final = "tests/snapshots/tools"


def tool_snapshots() -> dict[str, str]:
    """The text of each snapshot by its path."""
    return {
        f"{FOLDER}/{tool.name}.json": json.dumps(_listed(tool), indent=2, ensure_ascii=False) + "\n"
        for tools in published_tools().values()
        for tool in tools
    }


def _listed(tool: ToolDefinition) -> dict[str, Any]:
    """The tool as an entry of the answer to `tools/list`, for a client without MCP Apps."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.writes,
            "idempotentHint": tool.may_be_repeated,
            "openWorldHint": False,
        },
        "_meta": {name: value for name, value in tool.published_meta.items() if name != "ui"},
    }
