"""What to send in the place of a recorded request: a new id and token, edits, headers, the fresh state. Pure."""

from __future__ import annotations

import copy
import json
from typing import Any
from urllib.parse import urlsplit

from mrtrscope.link.canonical import canonical
from mrtrscope.replay.recording import Recording, Step
from mrtrscope.replay.served import header_value
from mrtrscope.wire.events import ABSENT

CREDENTIALS = frozenset(
    {"authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "x-auth-token"}
)
# Headers that a connection makes itself, or that belong to the connection that was recorded.
OWN = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
    "forwarded", "host", "keep-alive", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version",
    "mcp-session-id", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-forwarded-for",
    "x-forwarded-host", "x-forwarded-proto",
})  # fmt: skip
PARAM = "mcp-param-"


class Edit:
    """`--set /params/arguments/env=prod`: a JSON pointer into the request, and a value (JSON, else text)."""

    def __init__(self, text: str) -> None:
        path, equals, value = text.partition("=")
        if not equals or not path.startswith("/params/"):
            raise ValueError(f"{text}: /params/PATH=VALUE is wanted, say /params/arguments/env=prod")
        self.steps = [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")[1:]]
        try:
            self.value = json.loads(value)
        except ValueError:
            self.value = value

    def apply(self, message: dict[str, Any]) -> None:
        """Set the value; ValueError when there is nothing to set it in."""
        place: Any = message
        for step in self.steps[:-1]:
            if type(place) is dict:
                place = place.setdefault(step, {})
            elif type(place) is list and step.isdecimal() and int(step) < len(place):
                place = place[int(step)]
            else:
                raise ValueError(f"/{'/'.join(self.steps)}: there is nothing to set in {step!r}")
        last = self.steps[-1]
        if type(place) is dict:
            place[last] = self.value
        elif type(place) is list and last.isdecimal() and int(last) < len(place):
            place[int(last)] = self.value
        else:
            raise ValueError(f"/{'/'.join(self.steps)}: there is no such place")


def request_of(step: Step, id: int, edits: tuple[Edit, ...] | list[Edit] = ()) -> dict[str, Any]:
    """The recorded request under a new id, with a new progress token where it had one."""
    body: dict[str, Any] = copy.deepcopy(step.exchange.request.body)
    body["id"] = id
    params = body.get("params")
    meta = params.get("_meta") if type(params) is dict else None
    if type(meta) is dict and "progressToken" in meta:
        meta["progressToken"] = f"replay-{id}"
    for edit in edits:
        edit.apply(body)
    return body


def headers_of(step: Step, body: dict[str, Any], credentials: bool) -> dict[str, str]:
    """What the recorded client sent of its own accord, and the arguments that the tool wants in headers."""
    http = step.exchange.http
    found = {}
    tool = step.exchange.tool
    for name, value in http.request_headers if http is not None else ():
        lower = name.lower()
        if (
            lower in OWN
            or (lower in CREDENTIALS and not credentials)
            or (tool is not None and lower.startswith(PARAM))
        ):
            continue
        found[name] = value
    if tool is not None:
        params = body.get("params")
        arguments = params.get("arguments") if type(params) is dict else None
        for name, path, _ in tool.definition.headers:
            if (text := _spelled(_at(arguments, path))) is not None:
                found[f"Mcp-Param-{name}"] = header_value(text)
    return found


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value.get(step) if type(value) is dict else None
    return value


def _spelled(value: Any) -> str | None:
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) in (str, int, float) else None


def origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


class States:
    """Which state of today stands for which recorded one, so that a client's mistakes with it are made again."""

    def __init__(self) -> None:
        self._fresh: dict[str, Any] = {}

    def issued(self, recorded: Any, fresh: Any) -> None:
        """The answer that had the recorded state in the recording had this one today."""
        if recorded is not ABSENT and fresh is not ABSENT:
            self._fresh[canonical(recorded)] = fresh

    def for_retry(self, brought: Any, issued: Any, fresh: Any) -> Any:
        """What to bring: `brought` and `issued` are of the recording, `fresh` is what the server issued just now."""
        if brought is ABSENT and issued is not ABSENT:
            return ABSENT  # it was dropped
        if brought is ABSENT or (issued is not ABSENT and canonical(brought) == canonical(issued)):
            return fresh
        if canonical(brought) in self._fresh:
            return self._fresh[canonical(brought)]  # that of another request, or of an earlier round
        return altered(fresh) if type(fresh) is str and fresh else brought


def altered(state: str) -> str:
    """A state with one character changed in its middle, of the same alphabet; only "A" becomes "B"."""
    at = len(state) // 2
    return state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :]


def operations(recording: Recording) -> dict[str, list[Step]]:
    """ "op7" -> its steps, both in order of time."""
    found: dict[str, list[Step]] = {}
    for step in recording.steps:
        found.setdefault(step.op, []).append(step)
    return found
