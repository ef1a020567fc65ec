"""A server on the official SDK, over stdio: a tool that asks until it hears yes."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

insister = MCPServer("insister", version="1.0", log_level="ERROR")
FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@insister.tool()
async def insist(n: int, ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Ask until it is a yes."""
    times = int(ctx.request_state or 0)
    answer = (ctx.input_responses or {}).get("go")
    if isinstance(answer, ElicitResult) and answer.action == "accept":
        return f"{n}: yes, at last"
    params = ElicitRequestFormParams(message=f"Go on? ({times + 1})", requested_schema=FORM)
    question = ElicitRequest(params=params)
    return InputRequiredResult(input_requests={"go": question}, request_state=str(times + 1))


insister.run("stdio")
