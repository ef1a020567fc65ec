"""What the heads of HTTP messages say that the body says too, or should not be there at all.

Nearly every head is in order, so one look at it decides whether any rule needs to see it. What is out of the ordinary
stands in `HttpExchange.facts["head"]` (the request, with its message) and `["reply"]` (the answer): a dict, kind of
oddity -> rows (header, what it says, what the body says, where in the body). Kinds of the request:

    verb       a message in another method than POST        accept, type   Accept, Content-Type
    version-absent, version-many, version-differs, method-absent, method-differs
    name-absent, name-differs, name-plain (unsafe, not encoded), name-form (a sentinel that is none), name-elsewhere
    param-absent, param-extra, param-differs, param-plain, param-form, param-unknown, param-range, param-exponent:
    the same of Mcp-Param-* headers; params: no oddity, the tool that is called asks for such headers
    event-id   the event that brought the answer has an id
    bytes      characters that no header value may have       session, resume   Mcp-Session-Id, Last-Event-ID
    origin     a web page of somewhere else                   open   no credential of any kind, to a remote server

For the answer see `link.replies`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from mrtrscope.link.facts import META_VERSION, MODERN, Exchange
from mrtrscope.link.origins import loopback, split
from mrtrscope.wire.events import HttpExchange, Message

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
TASKS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})  # their Mcp-Name is the extension's
STANDARD = (
    "version-absent", "version-many", "version-differs", "method-absent", "method-differs",
    "name-absent", "name-differs", "name-form", "bytes",
)  # fmt: skip
PARAMS = ("param-absent", "param-differs", "param-form", "param-plain")
PREFIX = "mcp-param-"
SAFE = (1 << 53) - 1
_INF = float("inf")  # what a number beyond doubles is read as
BOTH_TYPES = ("application/json", "text/event-stream")

_SENTINEL = re.compile(r"=\?base64\?(.*)\?=", re.S)
_ANY_CASE = re.compile(r"=\?base64\?(.*)\?=", re.S | re.I)
_LEGAL = re.compile(r"[\t\x20-\x7e]*")
_SAFE_TEXT = re.compile(r"(?![ \t])[\t\x20-\x7e]*(?<![ \t])|")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_INTEGER = re.compile(r"-?\d{1,400}")
_KEYS = frozenset({"authorization", "proxy-authorization", "cookie", "dpop"})
_KEY_LIKE = re.compile(r"api-?key|token|secret|authori[sz]|authenticat|credential|signature")
_accepted: dict[str, tuple[str, ...]] = {}  # value of Accept -> types it does not list

Head = dict[str, list[tuple[str, Any, Any, str]]]


def head_of(message: Message) -> Head:
    """What is odd about the request head of a message's exchange; {} when nothing is."""
    head: Head = message.http.facts.get("head", {}) if message.http is not None else {}
    return head


def look(message: Message, exchange: Exchange | None, remote: bool = False) -> None:
    """A client's message came in an HTTP request; `exchange` when it is a request.

    remote   the server is another machine, and nobody was yet seen to be served without credentials
    """
    http = message.http
    assert http is not None
    fields: dict[str, str] = {}
    twice: list[str] = []
    params: list[tuple[str, str]] = []
    for name, value in http.request_headers:
        key = name.lower()
        if key in fields:
            twice.append(key)
        else:
            fields[key] = value
        if key.startswith(PREFIX):
            params.append((name, value))
    head: Head = {}
    _general(http, fields, twice, head)
    if exchange is not None and exchange.era == MODERN and message.batch is None:
        _mirrored(message, exchange, fields, head)
        if twice:
            _repeated(http, twice, head)
        if params or exchange.tool is not None:
            _params(exchange, params, head)
    if remote and not credentials(fields):
        _put(head, "open", "Authorization", None)
    if head:
        http.facts["head"] = head


def _put(head: Head, kind: str, header: str, saw: Any, expected: Any = None, path: str = "") -> None:
    head.setdefault(kind, []).append((header, saw, expected, path))


def _general(http: HttpExchange, fields: dict[str, str], twice: list[str], head: Head) -> None:
    accept = fields.get("accept")
    if accept is not None and "accept" in twice:
        accept = ",".join(http.request_header_all("accept"))
    if http.method != "POST":
        _put(head, "verb", "", http.method, "POST")
    elif missing := unlisted(accept):
        _put(head, "accept", "Accept", accept, list(missing))
    kind = fields.get("content-type")
    if kind != "application/json" and (kind is None or essence(kind) != "application/json"):
        _put(head, "type", "Content-Type", kind, "application/json")
    origin = fields.get("origin")
    if origin is not None and foreign(origin, fields.get("host", ""), http.channel):
        _put(head, "origin", "Origin", origin, fields.get("host"))


def _mirrored(message: Message, exchange: Exchange, fields: dict[str, str], head: Head) -> None:
    """The headers that repeat what the body says."""
    version, declared = fields.get("mcp-protocol-version"), message.meta.get(META_VERSION)
    if not version:
        if type(declared) is str:
            _put(head, "version-absent", "MCP-Protocol-Version", version, declared)
    elif version != declared and type(declared) is str and version.strip(" \t") != declared:
        _put(head, "version-differs", "MCP-Protocol-Version", version, declared, "/params/_meta")
    method, said = exchange.method, fields.get("mcp-method")
    if said != method and method:
        if said is None:
            _put(head, "method-absent", "Mcp-Method", None, method)
        elif said.strip(" \t") != method:
            _put(head, "method-differs", "Mcp-Method", said, method, "/method")
    name = fields.get("mcp-name")
    if method in NAMED:
        member = NAMED[method]
        value = message.params.get(member)
        if name is None:
            if type(value) is str:
                _put(head, "name-absent", "Mcp-Name", None, value)
        elif type(value) is str and (name != value or not safe(value)):
            _text(head, "name", "Mcp-Name", name, value, f"/params/{member}")
    elif name is not None and method not in TASKS:
        _put(head, "name-elsewhere", "Mcp-Name", name)
    for header in ("Mcp-Method", "Mcp-Name"):
        text = fields.get(header.lower())
        if text is not None and not _LEGAL.fullmatch(text):
            _put(head, "bytes", header, printable(text))
    if "mcp-session-id" in fields:
        _put(head, "session", "Mcp-Session-Id", "present")
    if "last-event-id" in fields:
        _put(head, "resume", "Last-Event-ID", fields["last-event-id"])


def _repeated(http: HttpExchange, twice: list[str], head: Head) -> None:
    for key, kind, header in (
        ("mcp-protocol-version", "version-many", "MCP-Protocol-Version"),
        ("mcp-method", "method-differs", "Mcp-Method"),
        ("mcp-name", "name-differs", "Mcp-Name"),
    ):
        if key in twice and kind not in head:
            values = [value.strip(" \t") for value in http.request_header_all(key)]
            if len(set(values)) > 1:
                _put(head, kind, header, values[:8], "one value")


def _params(exchange: Exchange, sent: list[tuple[str, str]], head: Head) -> None:
    """Mcp-Param-* headers against the definition of the tool that is called."""
    tool = exchange.tool
    asked = tool.definition.headers if tool is not None else []
    by_name = {name.lower().removeprefix(PREFIX): (name, value) for name, value in sent}
    for name, value in sent:
        if not _LEGAL.fullmatch(value):
            _put(head, "param-plain", name, printable(value))
    if tool is None or not tool.definition.sound or not tool.definition.text:
        return
    known = set()
    if asked:
        head["params"] = []
    for name, path, _ in asked:
        known.add(name.lower())
        header, text = by_name.get(name.lower(), (f"Mcp-Param-{name}", None))
        _param(exchange, head, header, text, path)
    for header, value in sent:
        if header.lower().removeprefix(PREFIX) not in known:
            _put(head, "param-unknown", header, printable(value))


def _beyond(value: Any) -> bool:
    """An integer, however it is written, that not every reader of JSON keeps."""
    whole = type(value) is int or (type(value) is float and (value.is_integer() or value in (_INF, -_INF)))
    return whole and abs(value) > SAFE


def _param(
    exchange: Exchange, head: Head, header: str, text: str | None, path: tuple[str | int, ...]
) -> None:
    value = argument(exchange.arguments, path)
    where = pointer(path)
    if value is None:
        if text is not None:
            _put(head, "param-extra", header, printable(text), "no header", where)
        return
    if _beyond(value):
        _put(head, "param-range", header, str(value)[:64], f"-{SAFE} to {SAFE}", where)
    if text is None:
        if type(value) in (str, int, bool, float):
            _put(head, "param-absent", header, None, _spelled(value), where)
    elif type(value) is str:
        if (text != value or not safe(value)) and _LEGAL.fullmatch(text):
            _text(head, "param", header, text, value, where)
    elif type(value) in (int, bool, float):
        meant = decoded(text.strip(" \t"))[0]
        if not _same(meant, value):
            _put(head, "param-differs", header, printable(text), _spelled(value), where)
        elif type(value) is not bool and "e" in meant.lower():
            _put(head, "param-exponent", header, meant, _spelled(value), where)


def _text(head: Head, kind: str, header: str, sent: str, value: str, path: str) -> None:
    """One header against the string that it repeats."""
    text = sent.strip(" \t")
    meant, form = decoded(text)
    if form == "broken" or (form == "miscased" and meant == value):
        _put(head, f"{kind}-form", header, text, value, path)
    elif form == "encoded":
        if meant != value:
            _put(head, f"{kind}-differs", header, text, value, path)
    elif not safe(value):
        _put(head, f"{kind}-plain", header, printable(text), value, path)
        if _as_text(text) not in (value, value.strip()):
            _put(head, f"{kind}-differs", header, printable(text), value, path)
    elif text != value:
        _put(head, f"{kind}-differs", header, printable(text), value, path)


# -- single values


def decoded(text: str) -> tuple[str, str]:
    """(what a header value stands for, how it says so): "plain", "encoded", "miscased", "broken" (no sound Base64)."""
    match = _SENTINEL.fullmatch(text)
    exact = match is not None
    match = match or _ANY_CASE.fullmatch(text)
    if match is None:
        return text, "plain"
    meant = None
    if _BASE64.fullmatch(match[1]):
        try:
            raw = base64.b64decode(match[1], validate=True)
            if base64.b64encode(raw).decode() == match[1]:
                meant = raw.decode()
        except (binascii.Error, ValueError):
            pass
    if meant is None:
        return text, "broken" if exact else "plain"
    return meant, "encoded" if exact else "miscased"


def safe(value: str) -> bool:
    """Whether a string may stand in a header as it is. An interior tab is accepted either way."""
    return _SAFE_TEXT.fullmatch(value) is not None and not _SENTINEL.fullmatch(value)


def argument(arguments: Any, path: tuple[str | int, ...]) -> Any:
    """The value at a path of property names, None when there is none."""
    for step in path:
        if type(arguments) is not dict:
            return None
        arguments = arguments.get(step)
    return arguments


def pointer(path: tuple[str | int, ...]) -> str:
    steps = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
    return f"/params/arguments{steps}"


def _spelled(value: Any) -> str:
    return str(value).lower() if type(value) is bool else str(value)[:256]


def _same(text: str, value: bool | int | float) -> bool:
    if type(value) is bool:
        return text == ("true" if value else "false")
    if type(value) is int and _INTEGER.fullmatch(text):
        return int(text) == value
    try:
        return len(text) <= 400 and Decimal(text) == Decimal(value)
    except (InvalidOperation, ValueError, OverflowError):
        return False


def _as_text(text: str) -> str:
    """What the bytes of a header are as UTF-8, where they are."""
    try:
        return text.encode("latin-1").decode()
    except ValueError:
        return text


def printable(text: str) -> str:
    """A header value for people: bytes read as UTF-8 where they are that."""
    return _as_text(text)


def essence(value: str) -> str:
    return value.partition(";")[0].strip().lower()


def unlisted(accept: str | None) -> tuple[str, ...]:
    """Which of the two media types an Accept header does not list by name."""
    found = _accepted.get(accept or "")
    if found is None:
        if len(_accepted) > 256:
            _accepted.clear()
        found = _accepted[accept or ""] = tuple(
            kind for kind in BOTH_TYPES if kind not in _listed(accept or "")
        )
    return found


def _listed(accept: str) -> set[str]:
    found = set()
    for part in accept.split(","):
        kind, *rest = (piece.strip().lower() for piece in part.split(";"))
        weight = next((p.partition("=")[2].strip() for p in rest if p.partition("=")[0].strip() == "q"), "1")
        if not re.fullmatch(r"0(?:\.0*)?", weight):
            found.add(kind)
    return found


def foreign(origin: str, host: str, channel: str) -> bool:
    """A web origin elsewhere, in a request that reached a server on this machine."""
    page, server = split(origin), split(channel)
    if page is None or server is None or page.scheme not in ("http", "https") or not loopback(server.host):
        return False
    meant = split(f"http://{host}")
    return not loopback(page.host) and (meant is None or meant.host != page.host)


def credentials(fields: Iterable[str]) -> bool:
    """Whether among header names, in lower case, is one that may say who sends the request."""
    return any(name in _KEYS or _KEY_LIKE.search(name) for name in fields)
