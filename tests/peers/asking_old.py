"""A server on an old release of the official SDK, over stdio: tools that ask before they answer, or take their time."""

from typing import Any

import anyio
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

PATIENCE = 1.5
tailor = FastMCP("tailor", log_level="ERROR")


class Size(BaseModel):
    size: str


@tailor.tool()
async def order(shirts: int, ctx: Context[Any, Any]) -> str:
    """Order shirts: asks for the size."""
    answer = await ctx.elicit(message=f"Which size for {shirts} shirts?", schema=Size)
    return f"{shirts} shirts, {answer.data.size if answer.action == 'accept' and answer.data else 'no size'}"


@tailor.tool()
async def fit(shirts: int, ctx: Context[Any, Any]) -> str:
    """Order shirts: asks for the size, and waits for a moment only."""
    with anyio.move_on_after(PATIENCE):
        return await order(shirts, ctx)
    return f"{shirts} shirts, nobody said which size"


@tailor.tool()
async def burn(shirts: int) -> str:
    """Burn shirts, without asking."""
    return f"{shirts} shirts burnt"


@tailor.tool()
async def sew(seconds: float) -> str:
    """Take so long."""
    await anyio.sleep(seconds)
    return "sewn"


tailor.run()
