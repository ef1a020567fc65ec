"""The tasks extension of 2026-07-28 as an extension of the official SDK: a call becomes a task, and asks on its way.

python task_server.py [--http] [--always]       stdio, or HTTP with its URL on stdout

--always    makes a task also for a client that did not declare the extension, which it must not
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, RequestParams
from pydantic import Field

TASKS = "io.modelcontextprotocol/tasks"
WORKING = 0.3  # seconds before it asks, and after it was answered
Ctx = ServerRequestContext[Any, Any]
Json = dict[str, Any]


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


class Task:
    """One task: its object as it goes over the wire, and the answers that came."""

    def __init__(self, boat: str) -> None:
        self.boat = boat
        self.answers: dict[str, Any] = {}
        self.answered = asyncio.Event()
        now = stamp()
        self.told: Json = {
            "taskId": secrets.token_urlsafe(24), "status": "working", "createdAt": now, "lastUpdatedAt": now,
            "ttlMs": 60_000, "pollIntervalMs": 100,
        }  # fmt: skip

    def now(self, status: str, **more: Any) -> None:
        for name in ("inputRequests", "result"):
            self.told.pop(name, None)
        self.told |= {"status": status, "lastUpdatedAt": stamp(), **more}

    async def work(self) -> None:
        await asyncio.sleep(WORKING)
        colour = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        params = {"mode": "form", "message": f"Which colour for {self.boat}?", "requestedSchema": colour}
        self.now(
            "input_required", inputRequests={"colour": {"method": "elicitation/create", "params": params}}
        )
        await self.answered.wait()
        self.now("working")
        await asyncio.sleep(WORKING)
        got = self.answers["colour"]
        said = got["content"]["colour"] if got["action"] == "accept" else "left as it is"
        done = f"{self.boat}: {said}"
        content, structured = [{"type": "text", "text": done}], {"result": done}
        result = {"resultType": "complete", "content": content, "structuredContent": structured}
        self.now("completed", result=result)


def stamp() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Tasks(Extension):
    """Makes a task of each call of `paint` by a client that can follow it."""

    identifier = TASKS

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.running: set[asyncio.Task[None]] = set()

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("tasks/get", TaskParams, self.get),
            MethodBinding("tasks/update", UpdateParams, self.update),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Ctx, call_next: CallNext
    ) -> HandlerResult:
        declared = ctx.session.client_capabilities
        if TASKS not in ((declared and declared.extensions) or {}) and "--always" not in sys.argv:
            return await call_next(ctx)
        task = Task(str((params.arguments or {}).get("boat")))
        self.tasks[task.told["taskId"]] = task
        work = asyncio.create_task(task.work())
        self.running.add(work)
        work.add_done_callback(self.running.discard)
        return {"resultType": "task", **task.told}

    async def get(self, ctx: Ctx, params: TaskParams) -> HandlerResult:
        return {"resultType": "complete", **self.named(params).told}

    async def update(self, ctx: Ctx, params: UpdateParams) -> HandlerResult:
        task = self.named(params)
        asked = task.told.get("inputRequests", {})
        task.answers |= {key: value for key, value in params.input_responses.items() if key in asked}
        if task.answers.keys() >= asked.keys():
            task.answered.set()
        return {"resultType": "complete"}

    def named(self, params: TaskParams) -> Task:
        task = self.tasks.get(params.task_id)
        if task is None:
            raise MCPError(code=-32602, message="no such task")
        return task


yard = MCPServer("yard", version="1.0", log_level="ERROR", extensions=[Tasks()])


@yard.tool()
async def paint(boat: str) -> str:
    """Paint a boat; without tasks it stays as it is."""
    return f"{boat}: left as it is"


if __name__ == "__main__":
    if "--http" in sys.argv:
        from mrtrscope.demo import server as demo

        demo.bakery = yard
        demo.serve_http(0)
    else:
        yard.run("stdio")
