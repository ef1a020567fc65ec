"""A2A over JSON-RPC: told by what is in a request, so that nothing needs configuring; where it names tasks and states.

Two forms are read, that of 1.x and that of the releases before it (0.2, 0.3):

    method of a request     `METHODS`, names of 1.x beside those before it
    an answer, or an        1.x: {"task": …}, {"statusUpdate": …}, {"artifactUpdate": …} or {"message": …}; a bare task
    event of its stream     where one was asked for. Before: the thing itself, and its `kind` says which it is
    states and roles        TASK_STATE_INPUT_REQUIRED, ROLE_USER; before: input-required, user
    the last event          1.x: that of a state that ends the task; before: one with `final`
    version                 1.x: the header A2A-Version; before: none, or 0.3 in it

MCP has tasks/get and tasks/cancel too, with `taskId` where A2A has `id`. A request with a mark of MCP (a revision, a
session, a method in its head; `_meta`) is none of A2A, whatever its method.

A message that names a task goes on with it: a round of the operation that the first message began. An answer is one
event of a stream or the only one, and says a task, a change of its state, a piece of its work, or just a message.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.wire.events import Message

SEND, STREAM, GET, FOLLOW, CANCEL, OTHER = "send", "stream", "get", "follow", "cancel", "other"
LATER = {
    "SendMessage": SEND, "SendStreamingMessage": STREAM, "GetTask": GET, "SubscribeToTask": FOLLOW,
    "CancelTask": CANCEL, "ListTasks": OTHER, "GetExtendedAgentCard": OTHER,
    "CreateTaskPushNotificationConfig": OTHER, "GetTaskPushNotificationConfig": OTHER,
    "ListTaskPushNotificationConfigs": OTHER, "DeleteTaskPushNotificationConfig": OTHER,
}  # fmt: skip
EARLIER = {
    "message/send": SEND, "message/stream": STREAM, "tasks/get": GET, "tasks/resubscribe": FOLLOW,
    "tasks/cancel": CANCEL, "agent/getAuthenticatedExtendedCard": OTHER,
    "tasks/pushNotificationConfig/set": OTHER, "tasks/pushNotificationConfig/get": OTHER,
    "tasks/pushNotificationConfig/list": OTHER, "tasks/pushNotificationConfig/delete": OTHER,
}  # fmt: skip
METHODS = LATER | EARLIER
SHARED = frozenset({"tasks/get", "tasks/cancel"})  # MCP has them too
SENDS = frozenset(name for name, what in METHODS.items() if what in (SEND, STREAM))
POLLS = frozenset(name for name, what in METHODS.items() if what in (GET, FOLLOW))
CANCELS = frozenset(name for name, what in METHODS.items() if what == CANCEL)
ABOUT = POLLS | CANCELS

VERSION_HEADER = "a2a-version"
OF_MCP = ("mcp-protocol-version", "mcp-session-id", "mcp-method")

# What an answer or an event is, by its member (1.x) or its `kind` (before), and where it names its task.
TASK, STATUS, ARTIFACT, MESSAGE = "task", "status", "artifact", "message"
MEMBERS = {"statusUpdate": STATUS, "artifactUpdate": ARTIFACT, "task": TASK, "message": MESSAGE}
KINDS = {"status-update": STATUS, "artifact-update": ARTIFACT, "task": TASK, "message": MESSAGE}
NAMES = {TASK: "id", STATUS: "taskId", ARTIFACT: "taskId", MESSAGE: "taskId"}

WORD = 64  # characters of a state that are kept
NAME = 512  # a longer name of a task is no name


def speaks(request: Message) -> bool:
    """Whether a request is one of A2A."""
    if request.method not in METHODS or request.http is None:
        return False
    params = request.params
    if "_meta" in params or any(request.http.request_header(name) is not None for name in OF_MCP):
        return False
    return request.method not in SHARED or (type(params.get("id")) is str and "taskId" not in params)


def later(method: str) -> bool:
    """Whether a method is one of 1.x, not of a release before it."""
    return method in LATER


def version(request: Message) -> str:
    """The version of A2A that a request's head declares, else the generation that its method is of."""
    found = request.http.request_header(VERSION_HEADER) if request.http is not None else None
    return found[:WORD] if found else ("1.x" if later(request.method or "") else "0.x")


def spoken(request: Message) -> dict[str, Any]:
    """The message that a request sends, {} when it sends none."""
    message = request.params.get("message") if request.method in SENDS else None
    return message if type(message) is dict else {}


def named(request: Message) -> str:
    """The task that a request names, "" when it names none."""
    if request.method in SENDS:
        return name_of(spoken(request).get("taskId"))
    return name_of(request.params.get("id")) if request.method in ABOUT else ""


def said(result: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """(what it is, the thing itself) of an answer or event; None when it is none of the four."""
    kind = result.get("kind")
    if type(kind) is str and kind in KINDS:
        return KINDS[kind], result
    for member, what in MEMBERS.items():
        value = result.get(member)
        if type(value) is dict:
            return what, value
    return (TASK, result) if "status" in result else None


def told(result: dict[str, Any]) -> tuple[str, str] | None:
    """(task, state) that an answer shows; the state is "" where it tells of the task but not of its state."""
    found = said(result)
    if found is None or found[0] == MESSAGE:
        return None
    what, value = found
    task = name_of(value.get(NAMES[what]))
    return (task, word(raw_state(value))) if task else None


def context(result: dict[str, Any]) -> str:
    """The context that an answer names."""
    found = said(result)
    return name_of(found[1].get("contextId")) if found is not None else ""


def raw_state(value: dict[str, Any]) -> str:
    """The state of a task or a change of it, as it is spelled; "" when there is none."""
    status = value.get("status")
    state = status.get("state") if type(status) is dict else None
    return state[:WORD] if type(state) is str else ""


def word(state: str) -> str:
    """A state in our spelling: "input_required" for `input-required` and `TASK_STATE_INPUT_REQUIRED` alike."""
    text = state[:WORD].lower().removeprefix("task_state_").replace("-", "_")
    return "cancelled" if text == "canceled" else text


def name_of(value: Any) -> str:
    """A name of a task or context, "" for what is none."""
    return value if type(value) is str and len(value) <= NAME else ""
