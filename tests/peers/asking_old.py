"""A server on an old release of the official SDK, over stdio: a tool that asks before it answers."""

from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

tailor = FastMCP("tailor", log_level="ERROR")


class Size(BaseModel):
    size: str


@tailor.tool()
async def order(shirts: int, ctx: Context[Any, Any]) -> str:
    """Order shirts: asks for the size."""
    answer = await ctx.elicit(message=f"Which size for {shirts} shirts?", schema=Size)
    return f"{shirts} shirts, {answer.data.size if answer.action == 'accept' and answer.data else 'no size'}"


tailor.run()
