"""2025-11-25, basic/transports: session ids and version headers over HTTP; ids of requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, UNKNOWN
from mrtrscope.link.legacy import DELETED, GONE, INITIALIZE, Session, counter, session_of, sessions
from mrtrscope.link.session import Channel, is_modern
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.legacy_handshake import FROM_CLIENT, FROM_SERVER, KNOWN
from mrtrscope.rules.registry import (
    CHANNEL_PRESENT,
    CLIENT,
    EITHER,
    FAULT,
    LEGACY_ONLY,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import HTTP_REQUEST, HTTP_RESPONSE, Event, Message, Signal

TRANSPORT = "2025-11-25/basic/transports"
SESSIONS = TRANSPORT + "#session-management"
HEADER = TRANSPORT + "#protocol-version-header"
HTTP = frozenset({"http"})
UNTOLD = frozenset({LEGACY, UNKNOWN})
SAID = (REQUEST, NOTIFICATION, RESULT, FAULT)  # what a client may post
OTHERS = ("GET", "DELETE")
HEADER_SINCE = "2025-06-18"
SECOND = 1_000_000
GRACE = SECOND
SHORT = 16
VERSION, ID = "MCP-Protocol-Version", "MCP-Session-Id"
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_ALLOWED = (401, 403, 429, 502, 503, 504)  # answers that come before any session is looked at


def _posted(event: Event) -> bool:
    """A message of the client, or the head of a GET or DELETE, which carries none."""
    return isinstance(event, Message) or (event.http is not None and event.http.method in OTHERS)


@rule("legacy/protocol-version-header", level=MUST, fault=CLIENT, on=(*SAID, SIGNAL), signals=(HTTP_REQUEST,),
      dirs=FROM_CLIENT, eras=LEGACY_ONLY, transports=HTTP, source=HEADER)  # fmt: skip
def no_version_in_the_head(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A request after the handshake does not name the version agreed on in MCP-Protocol-Version.

    Why it matters: without it a server has to assume 2025-03-26.
    Cannot tell: versions before 2025-06-18 do not know the header. Another version than the one agreed on is a should.
    """
    session, http = session_of(ctx.channel, event), event.http
    if session is None or http is None or session.begun is None or not _posted(event) or session.end:
        return
    if "pair" in http.facts:
        return  # the transport of 2024-11-05
    if session.version < HEADER_SINCE or (ctx.exchange is not None and ctx.exchange.method == INITIALIZE):
        return
    ctx.tested()
    header = http.request_header("mcp-protocol-version")
    if header is None:
        yield ctx.finding(
            event, saw="no header", expected=session.version, also=[session.begun], path=VERSION
        )
    elif header != session.version and header != session.wanted:
        yield ctx.finding(event, saw=header, expected=session.version, also=[session.begun], level="should",
                          path=VERSION, text="the header names another version than was agreed on")  # fmt: skip


@rule("legacy/invalid-version-header-400", level=MUST, fault=SERVER, on=SIGNAL, signals=(HTTP_RESPONSE,), eras=UNTOLD,
      transports=HTTP, source=HEADER)  # fmt: skip
def takes_any_version(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A request whose head names a version that is none is served.

    Why it matters: the client believes that the server speaks that version.
    Cannot tell: for a revision that exists, whether the server knows it.
    """
    http = event.http
    header = http.request_header("mcp-protocol-version") if http is not None else None
    if (
        http is None
        or header is None
        or header in KNOWN
        or is_modern(header)
        or http.ours
        or http.method == "OPTIONS"
    ):
        return
    if not ctx.channel.legacy and not ctx.channel.initialized:
        return
    ctx.tested()
    status = http.status or 0
    if 200 <= status < 300:
        yield ctx.finding(event, saw=f"{header[:64]}: {status}", expected=400)


@rule("legacy/session-id-charset", level=MUST, fault=SERVER, on=RESULT, methods=(INITIALIZE,), dirs=FROM_SERVER,
      eras=LEGACY_ONLY, transports=HTTP, source=SESSIONS)  # fmt: skip
def session_id_of_other_characters(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A session id has characters other than visible ASCII, or is easily guessed.

    Why it matters: it comes back in a header of every request; gateways change or refuse what does not belong there.
    Cannot tell: how random it is. Short ones, and ones that count on, are noted.
    """
    id = answer.http.response_header("mcp-session-id") if answer.http is not None else None
    if id is None:
        return
    ctx.tested()
    before = (ctx.exchange.remarks or {}).get("before", []) if ctx.exchange is not None else []
    if not _VISIBLE.fullmatch(id):
        yield ctx.finding(answer, saw=f"{len(id)} characters", expected="0x21 to 0x7E", path=ID,
                          text="the session id is empty" if not id else None)  # fmt: skip
    elif len(id) < SHORT:
        yield ctx.finding(
            answer, saw=f"{len(id)} characters", level="info", path=ID, text="the session id is short"
        )
    elif _counts_on(before, id):
        yield ctx.finding(answer, saw="the number after the one before", level="info", path=ID,
                          text="session ids count on")  # fmt: skip


def _counts_on(before: list[Any], id: str) -> bool:
    now = counter(id)
    return bool(before and now) and before[0] == now[0] and 0 < now[1] - before[1] <= 16


@rule("legacy/session-id-sent", level=MUST, fault=CLIENT, on=(*SAID, SIGNAL), signals=(HTTP_REQUEST,), dirs=FROM_CLIENT,
      eras=LEGACY_ONLY, transports=HTTP, source=SESSIONS)  # fmt: skip
def session_id_left_out(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A request does not carry the session id that the server handed out, or a new handshake carries an old one.

    Why it matters: the server cannot find the session, and refuses the request or starts anew.
    Cannot tell: who sent it, unless it comes on the connection of the handshake, or the server hands out an id in every
    handshake. A modern request must not carry one.
    """
    http, exchange = event.http, ctx.exchange
    if http is None or not _posted(event):
        return
    if http.method == "GET" and "event-stream" not in (http.request_header("accept") or ""):
        return  # somebody looks at the address
    starts = exchange is not None and exchange.method == INITIALIZE
    session = session_of(ctx.channel, event)
    if starts:
        if session is not None and session.end == DELETED:
            ctx.tested()
            yield ctx.finding(event, saw="the id of a session that was deleted", expected="no header", path=ID,
                              also=[session.begun],
                              text="a new handshake carries the id of an old session")  # fmt: skip
        return
    if session is not None and "pair" not in http.facts:
        ctx.tested()
    elif "sessionless" in http.facts:
        ctx.tested()
        yield ctx.finding(event, saw="no header", expected="the id of the session", path=ID,
                          also=[http.facts["sessionless"]])  # fmt: skip


@rule("legacy/session-missing-400", level=SHOULD, fault=SERVER, on=SIGNAL, signals=(HTTP_RESPONSE,), eras=LEGACY_ONLY,
      transports=HTTP, source=SESSIONS)  # fmt: skip
def other_status_without_session(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A request without the session id that it needs is refused with another status than 400.

    Why it matters: 400 tells the client that it forgot the header; 404 that its session is gone.
    Cannot tell: whether the server needs it at all. Where it serves the request it does not: noted.
    """
    http, exchange = event.http, ctx.exchange
    if http is None or "sessionless" not in http.facts or http.ours or http.method not in ("POST", "DELETE"):
        return
    status = http.status or 0
    if (exchange is not None and exchange.method == INITIALIZE) or status in _ALLOWED:
        return
    ctx.tested()
    if 200 <= status < 300:
        yield ctx.finding(
            event, saw=status, level="info", text="the server does not need the session id it handed out"
        )
    elif status != 400:
        yield ctx.finding(event, saw=status, expected=400)


@rule("legacy/session-terminated-404", level=MUST, fault=SERVER, on=SIGNAL, signals=(HTTP_RESPONSE,), eras=LEGACY_ONLY,
      transports=HTTP, source=SESSIONS)  # fmt: skip
def serves_a_deleted_session(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A request of a session that was deleted is not answered with 404.

    Why it matters: the client does not learn that it has to begin anew, and others may use a session that is over.
    Cannot tell: what something in front of the server answers: 401, 403, 429, 502 to 504.
    """
    http, session = event.http, session_of(ctx.channel, event)
    if http is None or session is None or session.end != DELETED or session.end_key == event.key or http.ours:
        return
    if http.status in _ALLOWED or http.t <= session.end_t:
        return
    ctx.tested()
    if http.status != 404:
        yield ctx.finding(event, saw=http.status, expected=404, also=[session.end_key])


@rule("legacy/reinitialize-on-404", level=MUST, fault=CLIENT, on=REQUEST, dirs=FROM_CLIENT, eras=LEGACY_ONLY,
      transports=HTTP, source=SESSIONS)  # fmt: skip
def goes_on_after_404(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client goes on in a session that the server said is gone.

    Why it matters: every request fails, until it begins anew.
    Cannot tell: one retry, and what comes within a second; a client that gives up.
    """
    session, http = session_of(ctx.channel, request), request.http
    if session is None or http is None or session.end != GONE:
        return
    ctx.tested()
    starts = request.method == INITIALIZE
    if starts or (http.facts.get("dead", 0) > 1 and request.t - session.end_t > GRACE):
        yield ctx.finding(
            request, saw=request.method, expected="initialize without a session id", also=[session.end_key],
            text="a new handshake carries the id of a session that is gone" if starts else None,
        )  # fmt: skip


@rule("legacy/session-delete", level=SHOULD, fault=CLIENT, on=CHANNEL_PRESENT, eras=UNTOLD, transports=HTTP,
      source=SESSIONS)  # fmt: skip
def session_left_open(channel: Channel, ctx: Context) -> Iterator[Finding]:
    """A client leaves its session open.

    Why it matters: the server keeps what belongs to it, until some timeout.
    Cannot tell: whether the client still needs it, or what comes after the recording; noted once a client.
    """
    told: set[str] = set()
    for session in sessions(channel).values():
        if session.named and session.begun is not None and not _ended(session):
            ctx.tested()
            if session.info not in told:
                told.add(session.info)
                yield ctx.finding(
                    session.begun, saw="no DELETE", expected="DELETE with the session id", level="info"
                )


def _ended(session: Session) -> bool:
    return bool(session.end)


@rule("legacy/id-unique-in-session", level=MUST_NOT, fault=EITHER, on=REMARKED, exercised=REQUEST, eras=LEGACY_ONLY,
      source="2025-11-25/basic/index#requests")  # fmt: skip
def id_used_again(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request has the id of an earlier one of its session.

    Why it matters: an answer that is late, or told again on a stream that is taken up, is taken for the new one's.
    Cannot tell: on HTTP without session ids, beyond one connection. What HTTP refused, and streams that are taken up
    again, do not count.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or request is not exchange.request:
        return
    before = exchange.remarks.get("reused")
    if before is None or "second" in exchange.remarks:
        return
    ctx.tested()
    yield ctx.finding(request, saw=request.id, expected="an id of its own", also=[before],
                      fault="client" if request.dir == "c2s" else "server")  # fmt: skip
