"""A host on an old release of the official SDK that calls a tool as a task, in the way of 2025-11-25.

python task_host_old.py TOOL ARGUMENTS [--polling | --cancel] -- COMMAND…     the result's text goes to stdout

It polls until the task is over or wants input, then asks for the result, with which the question comes.
--polling   goes on polling while it waits for the result
--cancel    cancels the task once it wants input, instead: says the state that the task is then in
"""

from __future__ import annotations

import argparse
import json
import os
from datetime import timedelta
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation, TextContent

THINKING = 0.7
PATIENCE = timedelta(seconds=60)


async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
    await anyio.sleep(THINKING)
    return ElicitResult(action="accept", content={"colour": "blue"})


async def fetched(session: ClientSession, task: str) -> str:
    """The text of the task's result, which the server keeps back until there is one."""
    result = await session.experimental.get_task_result(task, CallToolResult)
    return "".join(c.text for c in result.content if isinstance(c, TextContent))


async def follow(session: ClientSession, task: str, given: argparse.Namespace) -> str:
    """Poll until the task is over; what came of it."""
    found: list[str] = []

    async def fetch() -> None:
        found.append(await fetched(session, task))

    asked = False
    async with anyio.create_task_group() as group:
        async for state in session.experimental.poll_task(task):
            if state.status != "input_required" or asked:
                continue
            if given.cancel:
                return (await session.experimental.cancel_task(task)).status
            asked = True
            group.start_soon(fetch)
            if not given.polling:
                break
    return found[0]


async def call(given: argparse.Namespace) -> str:
    where = StdioServerParameters(command=given.command[0], args=given.command[1:], env=dict(os.environ))
    who = Implementation(name="host", version="1.0")
    async with (
        stdio_client(where) as (read, write),
        ClientSession(read, write, PATIENCE, elicitation_callback=person, client_info=who) as session,
    ):
        await session.initialize()
        await session.list_tools()
        made = await session.experimental.call_tool_as_task(given.tool, json.loads(given.arguments))
        return await follow(session, made.task.taskId, given)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--polling", action="store_true")
    parser.add_argument("--cancel", action="store_true")
    parser.add_argument("tool")
    parser.add_argument("arguments")
    parser.add_argument("command", nargs="+")
    print(anyio.run(call, parser.parse_args()))
