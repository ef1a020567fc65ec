"""An agent on a release of the A2A SDK before 1.0, over JSON-RPC; it runs in an environment of its own.

python a2a_agent_old.py      prints the port that it listens on; ends with SIGTERM

It asks how many will come, then has the client log in, and is done.
"""

from __future__ import annotations

import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Message, Part, TaskState, TextPart
from a2a.utils import new_task


class Waiter(AgentExecutor):
    async def execute(self, context: RequestContext, queue: EventQueue) -> None:
        before = context.current_task
        task = before or new_task(context.message)
        if before is None:
            await queue.enqueue_event(task)
        work = TaskUpdater(queue, task.id, task.context_id)

        def says(text: str) -> Message:
            return work.new_agent_message([Part(root=TextPart(text=text))])

        await work.start_work(says("Let me see"))
        if before is None:
            await work.requires_input(says("For how many?"), final=True)
        elif before.status.state == TaskState.input_required:
            await work.requires_auth(says("Please log in at the front desk"), final=True)
        else:
            await work.add_artifact([Part(root=TextPart(text="Table 7, at eight"))], name="booking")
            await work.complete(says("Booked"))

    async def cancel(self, context: RequestContext, queue: EventQueue) -> None:
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    card = AgentCard(
        name="waiter", description="Books tables", version="1.0.0", url=f"http://127.0.0.1:{port}/a2a",
        capabilities=AgentCapabilities(streaming=True), default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="book", name="book", description="Books a table", tags=["table"])],
    )  # fmt: skip
    handler = DefaultRequestHandler(agent_executor=Waiter(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build(rpc_url="/a2a")
    print(port, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
