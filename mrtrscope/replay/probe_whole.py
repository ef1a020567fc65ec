"""What is tried on a server as a whole, and not on a retry: whether a client's name matters, whose a task is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mrtrscope.replay.attempt import Retry
from mrtrscope.replay.client import Reply
from mrtrscope.replay.compare import differences
from mrtrscope.replay.plan import request_of
from mrtrscope.replay.probe_judge import BROKEN, KEPT, UNSURE, did
from mrtrscope.replay.probe_send import Sender
from mrtrscope.replay.recording import Recording, Step

if TYPE_CHECKING:
    from mrtrscope.replay.probe import Tried

WHOLE = "the server as a whole"
LISTS = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list")


class Whole:
    """Makes those attempts; an attempt that cannot be made cannot be told, and says why."""

    def __init__(self, recording: Recording, sender: Sender, http: bool, as_headers: dict[str, str]) -> None:
        self._recording = recording
        self._sender = sender
        self._http = http
        self._as = as_headers

    async def make(self, tried: Tried, tasks: list[Step]) -> None:
        """Make one; the verdict is in `tried`."""
        tried.verdict = UNSURE
        try:
            if tried.attempt.name == "other-client-name":
                await self._named(tried)
            else:
                await self._task(tried, tasks)
        except OSError as error:
            tried.why = str(error)

    async def _named(self, tried: Tried) -> None:
        """A list, asked for under two names, A, B, B, A, so that a server that changes each time is not accused."""
        steps = [
            s for s in self._recording.firsts if s.exchange.method in LISTS and s.exchange.answer is not None
        ]
        if not steps:
            tried.why = "no list was asked for in the recording"
        for step in {s.exchange.method: s for s in steps}.values():
            replies: list[Reply] = []
            for n in range(4):
                first = request_of(step, self._sender.next_id())
                if n in (1, 2) and (why := tried.attempt.change(Retry({"params": {}}, first, {}))):
                    tried.why = why
                    return
                tried.id = first["id"]
                replies.append(await self._sender.send(await self._sender.connected(step), step, first))
            tried.did = f"{step.exchange.method}: {did(replies[1])}"
            if not self._same(tried, step.exchange.method, [reply.message for reply in replies]):
                return

    def _same(self, tried: Tried, method: str, answers: list[dict[str, Any] | None]) -> bool:
        """Whether answers to the names A, B, B, A say that the name does not matter; `tried` has what they say."""
        if None in answers:
            tried.verdict, tried.why = UNSURE, f"no answer to {method}"
            return False
        if differences(answers[0], answers[3]) or differences(answers[1], answers[2]):
            tried.verdict, tried.why = UNSURE, f"{method} is answered otherwise each time, whatever the name"
            return False
        if found := differences(answers[0], answers[1]):
            tried.verdict, tried.why = BROKEN, f"{method} is answered otherwise, at {found[0].path}"
            return False
        tried.verdict, tried.why = KEPT, ""
        return True

    async def _task(self, tried: Tried, tasks: list[Step]) -> None:
        """A task made by one principal and polled by another; its own poll is the control."""
        if not tasks:
            tried.why = "no call in the recording was answered with a task"
            return
        call = tasks[0]
        retry = Retry({"params": {}}, {}, {})
        retry.http, retry.as_headers = self._http, self._as
        if why := tried.attempt.change(retry):
            tried.why = why
            return
        sender = self._sender
        connection = await sender.connected(call)
        made = await sender.send(connection, call, request_of(call, sender.next_id()))
        result = (made.message or {}).get("result")
        task = result.get("taskId") if type(result) is dict else None
        if type(task) is not str:
            tried.did, tried.why = did(made), f"{call.op} {call.name} was not answered with a task"
            return
        poll = {"jsonrpc": "2.0", "method": "tasks/get", "params": {"taskId": task, **_meta(call)}}
        own = await sender.send(connection, call, {**poll, "id": sender.next_id()})
        if not _tells(own, task):
            tried.did, tried.why = did(own), "whose task it is gets nothing from it, either"
            return
        tried.id = sender.next_id()
        theirs = await sender.send(connection, call, {**poll, "id": tried.id}, retry.headers)
        tried.did = did(theirs)
        if not _tells(theirs, task):
            told = theirs.message is not None or theirs.status is not None
            tried.verdict, tried.why = (KEPT, "") if told else (UNSURE, "no answer came")
        elif await sender.serves_anybody(call, self._as):
            tried.why = "the server serves anybody, so a task is nobody's"
        else:
            tried.verdict, tried.why = BROKEN, "another principal got the task's data"


def _meta(step: Step) -> dict[str, Any]:
    meta = step.params.get("_meta")
    return {"_meta": {k: v for k, v in meta.items() if k != "progressToken"}} if type(meta) is dict else {}


def _tells(reply: Reply, task: str) -> bool:
    result = (reply.message or {}).get("result")
    return type(result) is dict and result.get("taskId", task) == task and "status" in result
