"""A host on the official SDK: calls one tool of a stdio server, and answers what it is asked after a moment.

python asking_host.py TOOL ARGUMENTS -- COMMAND…      the result's text goes to stdout
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.types import ElicitRequestParams, ElicitResult, Implementation, TextContent

THINKING = 0.3
ANSWERS: dict[str, str | int | float | list[str] | None] = {"size": "M", "people": 4}


async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
    await asyncio.sleep(THINKING)
    fields = getattr(params, "requested_schema", {"properties": {}})["properties"]
    return ElicitResult(action="accept", content={name: ANSWERS[name] for name in fields})


async def call(tool: str, arguments: dict[str, Any], command: list[str]) -> str:
    target = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    who = Implementation(name="host", version="1.0")
    async with Client(
        target, elicitation_callback=person, read_timeout_seconds=20, client_info=who
    ) as server:
        result = await server.call_tool(tool, arguments)
        return "".join(c.text for c in result.content if isinstance(c, TextContent))


if __name__ == "__main__":
    print(asyncio.run(call(sys.argv[1], json.loads(sys.argv[2]), sys.argv[4:])))
