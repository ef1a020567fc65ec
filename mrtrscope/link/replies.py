"""What is odd about the answer to a POST, by what was posted; `HttpExchange.facts["reply"]`, kind -> what was seen.

When the head of the answer is there (`headed`):

    type        a request got a 2xx that is neither JSON nor an event stream
    stream      no oddity: the first event stream of this channel
    buffering   a stream without X-Accel-Buffering: no
    session     an Mcp-Session-Id for a modern request
    status      a notification or response got a 2xx or 3xx but no 202
    icon        no oddity: the request was for an icon; see `link.icons`
    verb        another method than POST was used on an MCP endpoint

and when the exchange ended (`ended`):

    unanswered   the stream of a request ended from the server's side, and no response was on it
    lingering    microseconds for which a stream stayed open after the response
    empty        a JSON answer of no bytes            body   bytes behind a 202
    bare         a request with odd headers was refused without a JSON-RPC error

`http.facts["text"]`: there was text in it that is no message; `["hit"]`: it says that it comes out of a cache.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN, Exchange
from mrtrscope.link.heads import essence
from mrtrscope.link.processes import LISTEN
from mrtrscope.wire.events import HttpExchange

LINGER = 5_000_000
ANSWERS = ("response", "error")


def headed(http: HttpExchange, exchange: Exchange | None, known: bool) -> None:
    """The head of the final answer came. `known`: MCP was spoken on this channel before."""
    posted = http.facts.get("posted")
    if http.method != "POST":
        if known and http.method != "OPTIONS" and http.method != "HEAD":
            _put(http, "verb", http.method)
        return
    if posted is None or http.facts.get("old"):
        return
    status = http.status or 0
    kind, session, buffering = None, False, ""
    for name, value in http.response_headers:
        key = name.lower()
        if key == "content-type":
            kind = value if kind is None else kind
        elif key == "mcp-session-id":
            session = True
        elif key == "x-accel-buffering":
            buffering = value
        elif key == "age" or (key in ("x-cache", "cache-status") and "hit" in value.lower()):
            http.facts["hit"] = True
    if posted == "request":
        if 200 <= status < 300:
            base = kind if kind == "application/json" else essence(kind or "")
            if status == 202 or base not in ("application/json", "text/event-stream"):
                _put(http, "type", kind)
            elif base == "text/event-stream":
                _put(http, "stream", True)
                if buffering.strip().lower() != "no":
                    _put(http, "buffering", buffering)
        if session and exchange is not None and exchange.era == MODERN:
            _put(http, "session", True)
    elif (posted == "notification" or posted in ANSWERS) and status != 202 and 200 <= status < 400:
        _put(http, "status", status)


def ended(http: HttpExchange, exchange: Exchange | None) -> None:
    """The exchange is over; `exchange` is that of the first request posted."""
    posted = http.facts.get("posted")
    if posted is None or http.facts.get("old") or http.cut:
        return
    if posted == "request" and exchange is not None:
        _request_ended(http, exchange)
    elif (posted == "notification" or posted in ANSWERS) and http.status == 202 and http.response_size:
        _put(http, "body", http.response_size)


def _request_ended(http: HttpExchange, exchange: Exchange) -> None:
    answer, status = exchange.answer, http.status or 0
    if answer is not None:
        if answer.sse is not None and http.t_end is not None and http.t_end - answer.t > LINGER:
            _put(http, "lingering", http.t_end - answer.t)
        return
    if unseen(http):
        return
    streams = essence(http.response_header("content-type") or "")
    if 200 <= status < 300:
        by_server = http.closed_by in ("server", "upstream")
        if streams == "text/event-stream":
            if (
                by_server
                and "left" not in http.facts
                and exchange.method != LISTEN
                and exchange.era != LEGACY
            ):
                _put(http, "unanswered", http.closed_by)
        elif (
            streams == "application/json"
            and not http.response_size
            and status != 202
            and http.closed_by == "server"
            and not http.error
        ):
            _put(http, "empty", 0)
    elif 400 <= status < 500 and "head" in http.facts:
        _put(http, "bare", status)


def unseen(http: HttpExchange) -> bool:
    """Flow files keep no body of what was streamed: that there is none proves nothing, unless its length says so."""
    return bool(http.flow) and not http.response_size and http.response_header("content-length") != "0"


def _put(http: HttpExchange, kind: str, seen: Any) -> None:
    http.facts.setdefault("reply", {})[kind] = seen
