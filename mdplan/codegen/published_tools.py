"""The tools that servers publish, by their toolsets."""

from functools import cache
from pathlib import Path

from mdplan.engine.engine import Engine
from mdplan.mcp.guide.introductions import INTRODUCTIONS
from mdplan.mcp.tool import ToolDefinition
from mdplan.mcp.toolsets import chosen_tools


@cache
def published_tools() -> dict[str, tuple[ToolDefinition, ...]]:
    """The tools of each toolset; a server that may write has them all."""
    engine = Engine.open([Path(__file__).parent])
    return {toolset: chosen_tools(engine, [toolset], (), read_only=False) for toolset in INTRODUCTIONS}
