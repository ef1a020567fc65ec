"""The content view "MCP": JSON-RPC messages, one after the other, out of JSON bodies, event streams and stdio."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from mitmproxy import http
from mitmproxy.contentviews import Contentview, Metadata, SyntaxHighlight

LIMIT = 1 << 20
"""Bytes of a body that are shown; the rest is in the capture."""

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\r\n\n|\n\r\n")
_LINE_END = re.compile(r"\r\n|\n|\r")


class McpContentview(Contentview):
    """Shows what was kept in the flow; for streams that were not, it says where they are.

    Names every message with its kind, method or id, then its JSON, indented. Text that is no JSON stays as it is.
    """

    def __init__(self, capture: Callable[[], str]) -> None:
        self._capture = capture

    @property
    def name(self) -> str:
        return "MCP"

    @property
    def syntax_highlight(self) -> SyntaxHighlight:
        return "yaml"

    def render_priority(self, data: bytes, metadata: Metadata) -> float:
        """Above JSON for what says that it is JSON-RPC or an event stream with JSON in it."""
        kind = (metadata.content_type or "").lower()
        start = data[:4096]
        if metadata.tcp_message is not None:
            return 2 if b'"jsonrpc"' in start else -1
        if kind.startswith("text/event-stream"):
            return 2
        if "json" in kind and b'"jsonrpc"' in start:
            return 2
        return -1

    def prettify(self, data: bytes, metadata: Metadata) -> str:
        """The messages in the order in which they came."""
        kind = (metadata.content_type or "").lower()
        shown = data[:LIMIT]
        if kind.startswith("text/event-stream"):
            parts = list(_events(shown))
        elif metadata.tcp_message is not None:
            parts = [_message(line) for line in shown.split(b"\n") if line.strip()]
        else:
            parts = [_message(shown)]
        if len(data) > LIMIT:
            parts.append(f"# {len(data) - LIMIT:,} more bytes: {self._where(metadata)}")
        if self._streamed(metadata):
            parts.append(f"# The answer was streamed and not kept here: {self._where(metadata)}")
        return "\n\n".join(parts)

    def _where(self, metadata: Metadata) -> str:
        capture = self._capture() or "CAPTURE"
        known = re.match(r"operation (\d+),", metadata.flow.comment if metadata.flow else "")
        return f"mrtrscope show {capture} op{known[1]}" if known else f"mrtrscope messages {capture}"

    def _streamed(self, metadata: Metadata) -> bool:
        """Whether this is the request of an exchange whose answer mitmproxy passed on without keeping it."""
        flow = metadata.flow
        return (
            isinstance(flow, http.HTTPFlow)
            and metadata.http_message is flow.request
            and flow.response is not None
            and flow.response.raw_content is None
        )


def _events(data: bytes) -> Iterator[str]:
    for number, block in enumerate(filter(None, _EVENT_END.split(data)), 1):
        fields, text = [], []
        for line in _LINE_END.split(block.decode("utf-8", "backslashreplace")):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                text.append(value)
            elif line:
                fields.append(f"# {line}" if name else f"# comment: {value}")
        head = f"# event {number}"
        body = _message("\n".join(text).encode("utf-8", "surrogateescape")) if text else ""
        yield "\n".join(filter(None, [head, *fields, body]))


def _message(text: bytes) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "backslashreplace")
    label = _label(value)
    pretty = json.dumps(value, indent=2, ensure_ascii=False)
    return f"# {label}\n{pretty}" if label else pretty


def _label(value: object) -> str:
    if isinstance(value, list):
        return f"batch of {len(value)}"
    if not isinstance(value, dict):
        return ""
    ident = json.dumps(value.get("id"))
    if "method" in value:
        return f"request {ident} {value['method']}" if "id" in value else f"notification {value['method']}"
    if "error" in value:
        return f"error, answer to {ident}"
    result = value.get("result")
    asked = isinstance(result, dict) and result.get("resultType") == "input_required"
    return f"input_required, answer to {ident}" if asked else f"answer to {ident}"
