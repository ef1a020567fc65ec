"""HAR files, as browsers and other proxies write them: bodies are decoded, chunks and their times are lost."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from mrtrscope.frames import Frame
from mrtrscope.sources import rows
from mrtrscope.sources.base import SourceError
from mrtrscope.sources.rows import Headers, Row
from mrtrscope.sources.transcript import Transcript, whole_json

EVENTS = "text/event-stream"


class Har(Transcript):
    """A HAR file (an `http archive`, version 1.1 or 1.2)."""

    kind = "HAR"

    def frames(self) -> Iterator[Frame]:
        return rows.frames(self._exchanges(), self.name)

    def _exchanges(self) -> Iterator[Row]:
        top = whole_json(self)
        log = top.get("log") if type(top) is dict else None
        entries = log.get("entries") if type(log) is dict else None
        if type(entries) is not list:
            raise SourceError(f"{self.path}: JSON, but no HAR: log.entries is missing")
        connections: dict[str, int] = {}
        for n, entry in enumerate(entries):
            if type(entry) is not dict or type(entry.get("request")) is not dict:
                self.trouble.append(f"{self.path}: entry {n} has no request; passed over")
                continue
            row = _row(entry, n + 1)
            connection = entry.get("connection")
            if type(connection) is str and connection:
                row.conn = connections.setdefault(connection, len(connections) + 1)
            yield row


def _row(entry: dict[str, Any], number: int) -> Row:
    started = _started(entry.get("startedDateTime"))
    row = Row(number, number, started)
    row.decoded = True
    timings = entry.get("timings")
    spent: dict[str, Any] = timings if type(timings) is dict else {}
    row.t_sent = started + sum(map(_millis, map(spent.get, ("blocked", "dns", "connect", "send"))))
    row.t_end = max(started + _millis(entry.get("time")), row.t_sent)
    request = entry["request"]
    row.method, row.url, row.http = (_text(request.get(name)) for name in ("method", "url", "httpVersion"))
    row.headers = _headers(request.get("headers"))
    post = request.get("postData")
    if type(post) is dict:
        row.body = _body(post)
    response = entry.get("response")
    if type(response) is not dict or not response.get("status"):  # browsers write status 0 when nothing came
        row.error = _text((response or {}).get("_error")) if type(response) is dict else ""
        row.error = row.error or "no answer"
        return row
    status = response["status"]
    row.answer = (
        status if type(status) is int else 0, _text(response.get("statusText")), _text(response.get("httpVersion")),
        _headers(response.get("headers")),
    )  # fmt: skip
    row.t_answer = min(row.t_sent + _millis(spent.get("wait")), row.t_end)
    content = response.get("content")
    data = _body(content) if type(content) is dict else b""
    if data:
        row.chunks = [(row.t_end, data)]
    else:  # what was streamed is seldom kept; an event stream that was empty indeed looks the same
        row.lost = EVENTS in _text(content.get("mimeType") if type(content) is dict else "").lower()
    return row


def _started(value: Any) -> int:
    try:
        return round(datetime.fromisoformat(str(value)).timestamp() * 1e6)
    except (ValueError, OverflowError, OSError):
        return 0


def _millis(value: Any) -> int:
    return round(value * 1000) if type(value) in (int, float) and 0 < value < 1e12 else 0


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _headers(value: Any) -> Headers:
    if type(value) is not list:
        return []
    return [
        (h["name"], h["value"])
        for h in value
        if type(h) is dict and type(h.get("name")) is str and type(h.get("value")) is str
    ]


def _body(value: dict[str, Any]) -> bytes:
    text = _text(value.get("text"))
    if value.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            return b""
    return text.encode("utf-8", "surrogatepass")
