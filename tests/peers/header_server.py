"""A server on the official SDK whose tool wants its arguments in headers, and says which it got; its URL on stdout.

python tests/peers/header_server.py
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

server = MCPServer("harbour", version="1.0", log_level="CRITICAL")


@server.tool()
async def ship(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    fast: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Fast"})],
    ctx: Context[Any, Any],
) -> str:
    """Send something somewhere."""
    headers = ctx.headers or {}
    return json.dumps({name: headers.get(f"mcp-param-{name}") for name in ("region", "fast")})


if __name__ == "__main__":
    from mrtrscope.demo import server as demo

    demo.bakery = server
    demo.serve_http(0)
