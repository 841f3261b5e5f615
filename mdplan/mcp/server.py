"""The server: its tools, resources and prompts for an engine.

Its self-description needs no engine, and is sent before one is loaded.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mdplan import __version__
from mdplan.mcp.adapter import McpServer
from mdplan.mcp.tool import DEFAULT_TOOLSETS, INTRODUCTIONS, Catalog, PromptDefinition

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine

_READ_ONLY: Final = "This server is read-only: it previews, and tools that write are not there."
_NEEDS_APPROVAL: Final = (
    "A person approves what is written. An edit that waits for that is APPROVAL_REQUIRED, with a planId: "
    "tell the user, and send the planId again once they have decided. Give title and description: they read "
    "them. After CHANGES_REQUESTED, md_history with planId has their comments; plan again with revises."
)


def new_server(
    toolsets: Sequence[str] = DEFAULT_TOOLSETS, *, read_only: bool = False, needs_approval: bool = False
) -> McpServer:
    """MCP server that introduces `toolsets`, and has no tools yet."""
    paragraphs = [INTRODUCTIONS[name].instructions for name in toolsets]
    paragraphs += [_READ_ONLY] if read_only else []
    paragraphs += [_NEEDS_APPROVAL] if needs_approval else []
    return McpServer(version=__version__, instructions="\n\n".join(paragraphs))


def build_catalog(
    engine: "Engine",
    *,
    toolsets: Sequence[str] = DEFAULT_TOOLSETS,
    tools: Sequence[str] = (),
    read_only: bool = False,
    approve_in_chat: bool = False,
) -> Catalog:
    """Return what a server for `engine` offers: the tools of `toolsets`, or only `tools`, and the guides.

    With `read_only` it has no tool that writes. With `approve_in_chat` people may approve plans in the chat
    with the agent, which trusts the host of that chat.
    """
    from mdplan.mcp.guide import resources, server_instructions
    from mdplan.mcp.review_app import ChatReview, app_resource, app_tools
    from mdplan.mcp.toolsets import chosen_tools

    paragraphs = {name: INTRODUCTIONS[name].instructions for name in toolsets}
    prompt = PromptDefinition(
        name="way-of-working",
        title="How to edit with these tools",
        description="A short guide: look, edit by section, guard, preview in doubt.",
        text=server_instructions(paragraphs),
    )
    review = ChatReview(engine, may_approve=approve_in_chat)
    chosen = chosen_tools(engine, toolsets, tools, read_only=read_only)
    has_app = any(tool.shows_app for tool in chosen)
    return Catalog(
        tools=(*chosen, *(app_tools(review, read_only=read_only) if has_app else ())),
        resources=(*resources(engine, paragraphs), *((app_resource(),) if has_app else ())),
        prompts=(prompt,),
        decisions=None if read_only else review,
    )
