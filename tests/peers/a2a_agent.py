"""An agent on the official A2A SDK, over JSON-RPC in the forms of 1.0 and 0.3; it runs in an environment of its own.

python a2a_agent.py      prints the port that it listens on; ends with SIGTERM

What it does with a message that begins a task: "book …" asks how many will come, then has the client log in, and is
done; "cook …" works for a while; anything else it answers with a message, and makes no task of it.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Role,
    TaskState,
)
from starlette.applications import Starlette

COOKING = 0.6


class Waiter(AgentExecutor):
    async def execute(self, context: RequestContext, queue: EventQueue) -> None:
        said, task = context.get_user_input(), context.current_task
        if task is None and said.split(" ")[0] not in ("book", "cook"):
            await queue.enqueue_event(
                new_text_message(f"You said: {said}", context_id=context.context_id, role=Role.ROLE_AGENT)
            )
            return
        if task is None:
            await queue.enqueue_event(new_task_from_user_message(context.message))
        work = TaskUpdater(queue, context.task_id, context.context_id)

        def says(text: str) -> Message:
            return work.new_agent_message([new_text_part(text)])

        await work.start_work(says("Let me see"))
        if said.startswith("cook"):
            await asyncio.sleep(COOKING)
            await work.add_artifact([new_text_part("soup, ")], artifact_id="meal", name="meal")
            await work.add_artifact(
                [new_text_part("bread")], artifact_id="meal", append=True, last_chunk=True
            )
            await work.complete()
        elif task is None:
            await work.requires_input(says("For how many?"))
        elif task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            await work.requires_auth(says("Please log in at the front desk"))
        else:
            await work.add_artifact([new_text_part("Table 7, at eight")], name="booking")
            await work.complete(says("Booked"))

    async def cancel(self, context: RequestContext, queue: EventQueue) -> None:
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def card(port: int) -> AgentCard:
    url = f"http://127.0.0.1:{port}/a2a"
    return AgentCard(
        name="waiter", description="Books tables", version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[AgentSkill(id="book", name="book", description="Books a table", tags=["table"])],
    )  # fmt: skip


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    about = card(listener.getsockname()[1])
    handler = DefaultRequestHandler(agent_executor=Waiter(), task_store=InMemoryTaskStore(), agent_card=about)
    routes = [
        *create_agent_card_routes(about),
        *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True),
    ]
    print(listener.getsockname()[1], flush=True)
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
