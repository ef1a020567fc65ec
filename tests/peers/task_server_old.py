"""A server on an old release of the official SDK, over stdio, with the experimental tasks of 2025-11-25.

Its one tool must be called as a task: works, asks for the colour in mid-flight, works again.
"""

from typing import Any

import anyio
from mcp.server.experimental.task_context import ServerTaskContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import TASK_REQUIRED, CallToolResult, CreateTaskResult, TextContent, Tool, ToolExecution

WORK = 1.1
BOAT = {"type": "object", "properties": {"boat": {"type": "string"}}, "required": ["boat"]}
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
PAINT = Tool(
    name="paint",
    description="Paint a boat: asks for the colour.",
    inputSchema=BOAT,
    execution=ToolExecution(taskSupport=TASK_REQUIRED),
)

yard: Server[Any, Any] = Server("yard", version="1.0")
yard.experimental.enable_tasks()


@yard.list_tools()
async def tools() -> list[Tool]:
    return [PAINT]


@yard.call_tool()
async def call(name: str, arguments: dict[str, Any]) -> CreateTaskResult:
    context = yard.request_context
    context.experimental.validate_for_tool(PAINT)

    async def paint(task: ServerTaskContext) -> CallToolResult:
        await anyio.sleep(WORK)
        answer = await task.elicit(message=f"Which colour for {arguments['boat']}?", requestedSchema=COLOUR)
        colour = (answer.content or {}).get("colour", "no colour")
        await task.update_status(f"painting {colour}")  # tells the client
        await anyio.sleep(WORK)
        return CallToolResult(content=[TextContent(type="text", text=f"{arguments['boat']}: {colour}")])

    return await context.experimental.run_task(paint)


async def main() -> None:
    async with stdio_server() as (read, write):
        await yard.run(read, write, yard.create_initialization_options())


anyio.run(main)
