"""A host on the official A2A SDK: has an agent do one thing, and answers what it is asked after a moment.

python a2a_host.py URL WHAT [VERSION]      what came of it goes to stdout, one event a line

WHAT: `stream` or `block` a booking; `poll` or `resubscribe` to a task that takes a while; `talk`, a message and two
tasks of one conversation; `late`, a message to a task that is done; `cancel` one that waits.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.helpers.proto_helpers import new_text_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError

THINKING = 0.3
STOPS = {TaskState.TASK_STATE_INPUT_REQUIRED: "four", TaskState.TASK_STATE_AUTH_REQUIRED: "logged in"}


def told(event: StreamResponse) -> tuple[str, str, int]:
    """(task, context, state) of an event; the task is "" for a message, the state 0 for what has none."""
    what = event.WhichOneof("payload")
    print(what, flush=True)
    if what == "task":
        return event.task.id, event.task.context_id, event.task.status.state
    if what == "status_update":
        update = event.status_update
        return update.task_id, update.context_id, update.status.state
    if what == "artifact_update":
        return event.artifact_update.task_id, event.artifact_update.context_id, 0
    return "", event.message.context_id, 0


class Host:
    def __init__(self, card: AgentCard) -> None:
        self.card = card

    @classmethod
    async def of(cls, url: str, version: str) -> Host:
        """One that has read the agent's card, and uses the one form of it that it is told to, at this address."""
        async with httpx.AsyncClient(trust_env=False) as http:
            card = await A2ACardResolver(http, url.rpartition("/")[0]).get_agent_card()
        del card.supported_interfaces[:]
        card.supported_interfaces.append(
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version)
        )
        return cls(card)

    def client(self, *, streaming: bool = False, polling: bool = False) -> Client:
        http = httpx.AsyncClient(timeout=90, trust_env=False)  # nothing of a proxy's environment counts
        config = ClientConfig(streaming=streaming, polling=polling, httpx_client=http)
        return ClientFactory(config).create(self.card)

    async def says(
        self, client: Client, text: str, task: str = "", context: str = ""
    ) -> tuple[str, str, int]:
        message = Message(
            message_id=str(uuid4()), role=Role.ROLE_USER, parts=[new_text_part(text)],
            task_id=task, context_id=context,
        )  # fmt: skip
        state = 0
        async for event in client.send_message(SendMessageRequest(message=message)):
            task, context, seen = told(event)
            state = seen or state
        return task, context, state

    async def books(self, streaming: bool, context: str = "") -> tuple[str, str]:
        async with self.client(streaming=streaming) as client:
            task, context, state = await self.says(client, "book a table", context=context)
            while state in STOPS:
                await asyncio.sleep(THINKING)
                task, context, state = await self.says(client, STOPS[state], task, context)
        return task, context

    async def stream(self) -> None:
        await self.books(streaming=True)

    async def block(self) -> None:
        await self.books(streaming=False)

    async def poll(self) -> None:
        async with self.client(polling=True) as client:
            name, _, _ = await self.says(client, "cook a meal")
            task = Task()
            while task.status.state != TaskState.TASK_STATE_COMPLETED:
                await asyncio.sleep(0.1)
                task = await client.get_task(GetTaskRequest(id=name))

    async def resubscribe(self) -> None:
        async with self.client(polling=True) as client:
            name, _, _ = await self.says(client, "cook a meal")
        async with self.client(streaming=True) as client:
            async for event in client.subscribe(SubscribeToTaskRequest(id=name)):
                told(event)

    async def talk(self) -> None:
        async with self.client() as client:
            _, context, _ = await self.says(client, "hello")
            for text in ("cook a soup", "cook a cake", "thank you"):
                await self.says(client, text, context=context)

    async def late(self) -> None:
        async with self.client() as client:
            task, context, _ = await self.says(client, "cook a meal")
            try:
                await self.says(client, "more salt", task, context)
            except A2AError as refused:
                print(type(refused).__name__)
            try:
                await self.says(client, "more salt", "no such task")
            except A2AError as refused:
                print(type(refused).__name__)

    async def cancel(self) -> None:
        async with self.client() as client:
            task, _, _ = await self.says(client, "book a table")
            await asyncio.sleep(THINKING)
            await client.cancel_task(CancelTaskRequest(id=task))


async def main(url: str, what: str, version: str = "1.0") -> None:
    await getattr(await Host.of(url, version), what)()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
