"""The official client, for `probe client`: lists the tools, calls the first, answers what it is asked, and reads all
resources there are.

python tests/peers/probed_client.py URL
python tests/peers/probed_client.py 'COMMAND ARGS…'       starts the server and talks to its stdio
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.types import ElicitResult, TextResourceContents


async def yes(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"ok": True})


async def visit(where: str) -> None:
    target: str | StdioServerParameters = where
    if not where.startswith("http"):
        command, *args = shlex.split(where)
        target = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(target, elicitation_callback=yes, read_timeout_seconds=3) as client:
        tools = (await client.list_tools()).tools
        await client.call_tool(tools[0].name, {})
        if client.server_capabilities.resources is None:
            return
        for _ in range(2):
            for resource in (await client.list_resources()).resources:
                read = await client.read_resource(resource.uri)
                assert isinstance(read.contents[0], TextResourceContents)
                assert read.contents[0].text == f"this is {resource.uri}"


if __name__ == "__main__":
    asyncio.run(visit(sys.argv[1]))
