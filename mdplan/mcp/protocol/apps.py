"""MCP Apps for the clients that show them: others see no App, no tool of one, and no link to one."""

from typing import Any, Final

from mcp import MCPError
from mcp.server.apps import Apps, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.types import INVALID_PARAMS

__all__ = ["Apps", "client_supports_apps", "hide_apps"]
_UI: Final = "ui"
_SCHEME: Final = "ui://"


def hide_apps(server: MCPServer[Any]) -> None:
    """Let `server` show Apps only to clients that declare the capability."""
    server.middleware.append(_hide)


async def _hide(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    if ctx.method == "tools/list":
        return _with_tools_for(await call_next(ctx), has_apps=client_supports_apps(ctx))
    if ctx.method == "resources/list" and not client_supports_apps(ctx):
        result = await call_next(ctx)
        if isinstance(result, dict):
            result["resources"] = [each for each in result["resources"] if not _is_app(each)]
        return result
    if ctx.method == "resources/read" and _is_app(ctx.params or {}) and not client_supports_apps(ctx):
        raise MCPError(INVALID_PARAMS, "this server shows Apps only to clients that declare MCP Apps")
    return await call_next(ctx)


def _with_tools_for(result: HandlerResult, *, has_apps: bool) -> HandlerResult:
    if has_apps or not isinstance(result, dict):
        return result
    tools = []
    for tool in result["tools"]:
        meta = dict(tool.get("_meta") or {})
        link = meta.pop(_UI, None)
        if link is None or link.get("visibility") != ["app"]:
            tools.append({**tool, "_meta": meta} if link is not None else tool)
    return {**result, "tools": tools}


def _is_app(named: Any) -> bool:  # noqa: ANN401 (a part of a message)
    return str(named.get("uri", "")).startswith(_SCHEME)
