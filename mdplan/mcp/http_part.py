"""The MCP server as a part of an HTTP application: streamable HTTP, as the SDK has it."""

from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from mdplan.web.http import HttpPart

PATH: Final = "/mcp"


def mcp_part(server: MCPServer[Any], max_body_bytes: int) -> HttpPart:
    """Route of `server`, at `PATH`, for every protocol version that the SDK knows.

    The SDK's own check of hosts is off, because it is weaker than the guard that is before all routes.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return HttpPart(routes=tuple(app.routes), running=lambda: app.router.lifespan_context(app))
