"""A host on the official SDK that follows tasks: calls one tool, polls, answers what the task asks after a moment.

python task_host.py TOOL ARGUMENTS [--plain] -- URL or COMMAND…     the result's text goes to stdout

--plain    does not declare the extension: says what it got instead of a result
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    Request,
    RequestParams,
    Result,
    TextContent,
)
from pydantic import ConfigDict, Field

THINKING = 0.5
ANSWER = {"action": "accept", "content": {"colour": "blue"}}


class Made(Result):
    """A result that is a task."""

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")
    poll_interval_ms: int = Field(alias="pollIntervalMs")


class State(Result):
    """A task as tasks/get tells of it."""

    model_config = ConfigDict(extra="allow")
    status: str
    input_requests: dict[str, Any] | None = Field(default=None, alias="inputRequests")
    result: dict[str, Any] | None = None


class Named(RequestParams):
    task_id: str = Field(alias="taskId", serialization_alias="taskId")


class Answers(Named):
    input_responses: dict[str, Any] = Field(alias="inputResponses", serialization_alias="inputResponses")


class Get(Request[Named, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"


class Update(Request[Answers, Literal["tasks/update"]]):
    name_param: ClassVar[str | None] = "taskId"


async def follow(made: Made, ctx: ClaimContext) -> CallToolResult:
    """Poll until the task is over; answer what it asks."""
    while True:
        await asyncio.sleep(made.poll_interval_ms / 1000)
        get = Get(method="tasks/get", params=Named(taskId=made.task_id))
        state = await ctx.session.send_request(get, State)
        if state.status == "completed":
            return CallToolResult.model_validate(state.result)
        if state.status == "input_required" and state.input_requests:
            await asyncio.sleep(THINKING)
            answers = Answers(taskId=made.task_id, inputResponses=dict.fromkeys(state.input_requests, ANSWER))
            await ctx.session.send_request(Update(method="tasks/update", params=answers), Result)


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Made, resolve=follow)]


async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"colour": "blue"})


async def call(given: argparse.Namespace) -> str:
    where: StdioServerParameters | str = given.command[0]
    if not given.command[0].startswith("http"):
        where = StdioServerParameters(command=given.command[0], args=given.command[1:], env=dict(os.environ))
    who = Implementation(name="host", version="1.0")
    extensions = [] if given.plain else [Tasks()]
    async with Client(
        where, elicitation_callback=person, read_timeout_seconds=20, client_info=who, extensions=extensions
    ) as server:
        try:
            result = await server.call_tool(given.tool, json.loads(given.arguments))
        except Exception as error:
            return type(error).__name__
        return "".join(c.text for c in result.content if isinstance(c, TextContent))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("tool")
    parser.add_argument("arguments")
    parser.add_argument("command", nargs="+")
    print(asyncio.run(call(parser.parse_args())))
