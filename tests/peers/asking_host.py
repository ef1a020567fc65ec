"""A host on the official SDK: calls one tool, and answers what it is asked after a moment.

python asking_host.py [OPTION…] TOOL ARGUMENTS -- COMMAND…      a stdio server; the result's text goes to stdout
python asking_host.py [OPTION…] TOOL ARGUMENTS -- URL           one over HTTP

TOOL may also be prompt:NAME, or the address of a resource.

--patience SECONDS   how long it waits for the answer; then it calls once more, and waits
--elsewhere TOOL     takes the answer and the state to another tool
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import Any

from mcp import MCPError, StdioServerParameters
from mcp.client import Client
from mcp.types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    TextContent,
)

THINKING = 0.3
ANSWERS: dict[str, str | int | float | list[str] | None] = {
    "size": "M", "people": 4, "ok": True, "name": "Ada", "without": "nuts",
}  # fmt: skip


async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
    await asyncio.sleep(THINKING)
    fields = getattr(params, "requested_schema", {"properties": {}})["properties"]
    return ElicitResult(action="accept", content={name: ANSWERS[name] for name in fields})


async def call(given: argparse.Namespace) -> str:
    where: StdioServerParameters | str = given.command[0]
    if not given.command[0].startswith("http"):
        where = StdioServerParameters(command=given.command[0], args=given.command[1:], env=dict(os.environ))
    who, arguments = Implementation(name="host", version="1.0"), json.loads(given.arguments)
    async with Client(where, elicitation_callback=person, read_timeout_seconds=20, client_info=who) as server:
        try:
            if "://" in given.tool:
                return "".join(
                    getattr(c, "text", "") for c in (await server.read_resource(given.tool)).contents
                )
            if given.tool.startswith("prompt:"):
                got = await server.get_prompt(given.tool.removeprefix("prompt:"), arguments)
                return "".join(getattr(m.content, "text", "") for m in got.messages)
            if given.elsewhere:
                return text(await elsewhere(server, given.tool, given.elsewhere, arguments))
            return text(await server.call_tool(given.tool, arguments, read_timeout_seconds=given.patience))
        except MCPError as error:
            if given.patience:
                await server.call_tool(given.tool, arguments)
            return f"error: {error}"


async def elsewhere(server: Client, asks: str, other: str, arguments: dict[str, Any]) -> CallToolResult:
    """What no host should do: what was agreed to for one tool is shown to another."""
    asked = await server.session.call_tool(asks, arguments, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult) and asked.input_requests is not None
    answers = {key: ElicitResult(action="accept", content={"size": "M"}) for key in asked.input_requests}
    return await server.session.call_tool(
        other, arguments, input_responses=dict(answers), request_state=asked.request_state
    )


def text(result: CallToolResult) -> str:
    return "".join(c.text for c in result.content if isinstance(c, TextContent))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--patience", type=float)
    parser.add_argument("--elsewhere", default="")
    parser.add_argument("tool")
    parser.add_argument("arguments")
    parser.add_argument("command", nargs="+")
    print(asyncio.run(call(parser.parse_args())))
