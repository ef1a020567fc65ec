"""A2A 1.x over JSON-RPC: told by its methods, so that nothing needs configuring; where it names tasks and their states.

A message that names a task goes on with it: a round of the operation that the first message began. An answer is one
event of a stream or the only one, and says a task, a change of its state, a piece of its work, or just a message.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.wire.events import Message

SENDS = frozenset({"SendMessage", "SendStreamingMessage"})
GET, FOLLOW, CANCEL = "GetTask", "SubscribeToTask", "CancelTask"
METHODS = SENDS | {
    GET, FOLLOW, CANCEL, "ListTasks", "GetExtendedAgentCard", "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
}  # fmt: skip
VERSION_HEADER = "a2a-version"

WORD = 64  # characters of a state that are kept
NAME = 512  # a longer name of a task is no name


def speaks(request: Message) -> bool:
    """Whether a request is one of A2A."""
    return request.method in METHODS and request.http is not None


def version(request: Message) -> str:
    """The version of A2A that a request's head declares, "" when it declares none."""
    found = request.http.request_header(VERSION_HEADER) if request.http is not None else None
    return found[:WORD] if found is not None else ""


def named(request: Message) -> str:
    """The task that a request names, "" when it names none."""
    if request.method in SENDS:
        message = request.params.get("message")
        return _name(message.get("taskId")) if type(message) is dict else ""
    return _name(request.params.get("id")) if request.method in (GET, FOLLOW, CANCEL) else ""


def told(result: dict[str, Any]) -> tuple[str, str] | None:
    """(task, state) that an answer shows; the state is "" where it tells of the task but not of its state."""
    for member, name in (("statusUpdate", "taskId"), ("artifactUpdate", "taskId"), ("task", "id")):
        value = result.get(member)
        if type(value) is dict:
            return _told(value, name)
    return _told(result, "id") if "status" in result else None


def context(result: dict[str, Any]) -> str:
    """The context that an answer names."""
    for value in (*(result.get(m) for m in ("task", "statusUpdate", "artifactUpdate", "message")), result):
        if type(value) is dict and "contextId" in value:
            return _name(value["contextId"])
    return ""


def _told(value: dict[str, Any], name: str) -> tuple[str, str] | None:
    task, status = _name(value.get(name)), value.get("status")
    state = status.get("state") if type(status) is dict else ""
    return (task, word(state) if type(state) is str else "") if task else None


def word(state: str) -> str:
    """A state in our spelling: "input_required" for `input-required` and `TASK_STATE_INPUT_REQUIRED` alike."""
    text = state[:WORD].lower().removeprefix("task_state_").replace("-", "_")
    return "cancelled" if text == "canceled" else text


def _name(value: Any) -> str:
    return value if type(value) is str and len(value) <= NAME else ""
