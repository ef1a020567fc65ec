"""Sessions of earlier revisions: their handshake, what came before it, how they end. Streams: see `link.streams`.

`Channel.facts`:

sessions   name -> `Session`, the last `KEPT`. A session of stdio has the `Peer.id` for its name, one of HTTP a digest
           of its id, one of 2024-11-05 a digest of its stream; "" stands for all clients of an HTTP server that hands
           out no ids
gapped     something that came by HTTP is missing in the recording
peers      `Peer.id` of a TCP connection -> name of the session that was begun on it, or `Mark` of a request before any
elicited   name of a session of stdio or 2024-11-05 -> elicitationIds that its server sent, the last few
accepted   revision -> [key of the handshake in which the server agreed to it when asked for it, `Peer.id`, `Run.info`];
           forgotten when a server calls itself otherwise
handed_out [handshakes over HTTP with a session id, without]; `last_id`: `counter` of the id handed out last

Remarks: `second`, an initialize: key of the handshake before it in this session. `premature`, an initialize (its answer
over HTTP): the `Mark` of a request before it. `hasty`, a request while initialize waits: key of that. `reused`: key of
an older request of this session with the same id. `HttpExchange.facts`: `session`, the `Session` that its head names;
`sessionless`, key of a handshake: it should name a session; `dead`, how many requests named the session since its 404.
"""

from __future__ import annotations

import re
from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN, UNKNOWN, Exchange
from mrtrscope.link.marks import Mark, mark
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.servers import note_handshake
from mrtrscope.link.session import Channel, is_modern, session_digest, session_id
from mrtrscope.link.streams import Streams
from mrtrscope.wire.events import (
    HTTP_END,
    HTTP_REQUEST,
    HTTP_RESPONSE,
    Event,
    HttpExchange,
    Message,
    Signal,
    session_token,
)

_NUMBER = re.compile(r"(.*?)(\d{1,18})(\D*)")

KEPT, PEERS, VERSIONS, OPEN, IDS = 256, 256, 16, 256, 256
URL_REQUIRED = -32042
INITIALIZE, INITIALIZED, PING = "initialize", "notifications/initialized", "ping"
DELETED, GONE = "deleted", "404"


class Session:
    """One session, from its first request on.

    name       as in `facts`                          begun    `Mark` of the result of initialize, None before it
    asking     key of an initialize that waits        info     clientInfo as canonical JSON
    wanted, version   the revision that the client asked for, and the one agreed on
    initialized  the client said so; `skipped`: it went on without
    premature  `Mark` of the first request before initialize (stdio)
    end        "", `DELETED` or `GONE`; `end_key` of what it was, `end_t` when; `after`: requests that named it since
    named      its id stands in heads (HTTP)          last     when its client was heard last
    open       key of a client's request that waits -> its method
    streams    see `link.streams`
    """

    __slots__ = (
        "after", "asking", "begun", "end", "end_key", "end_t", "info", "initialized", "last", "name", "named",
        "open", "premature", "skipped", "streams", "version", "wanted",
    )  # fmt: skip

    def __init__(self, name: str, streams: Streams) -> None:
        self.name = name
        self.begun: Mark | None = None
        self.asking = self.info = self.wanted = self.version = self.end = self.end_key = ""
        self.initialized = self.skipped = self.named = False
        self.premature: Mark | None = None
        self.end_t = self.after = self.last = 0
        self.open: dict[str, str] = {}
        self.streams = streams


class Legacy:
    """Keeps the sessions, in `Channel.facts`."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    # -- requests and answers

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A request of either side was linked."""
        if exchange.era == MODERN:
            return
        if exchange.era == LEGACY:
            self._reused(exchange)
        if exchange.dir == "s2c":
            _elicited(channel, exchange.request, [exchange.request.params])
            return
        own, http = own_name(exchange.request), exchange.http
        if own or http is None:
            self._of_one_client(channel, exchange, own)
        elif exchange.method == INITIALIZE:
            session = http.facts.get("session")
            if session is not None and not session.end and session.begun is not None:
                remark(exchange, "second", session.begun.key)
        else:
            session = http.facts.get("session")
            if session is not None:
                self._goes_on(session, exchange)
            elif exchange.era == LEGACY and "sessionless" not in http.facts:
                _keep(_table(channel, "peers"), exchange.peer.id, mark(exchange.request), PEERS, anew=False)

    def _reused(self, exchange: Exchange) -> None:
        http = exchange.http
        if (
            http is not None
            and "pair" not in http.facts
            and (exchange.method == INITIALIZE or _resumed(http))
        ):
            return
        key = _used(exchange.request, exchange.dir)
        before = self._memory.get("legacy-id", key)
        if before:
            remark(exchange, "reused", before)
        self._memory.set("legacy-id", key, exchange.key)

    def _of_one_client(self, channel: Channel, exchange: Exchange, name: str) -> None:
        session = self._session(channel, name)
        session.last = exchange.t
        if exchange.method == INITIALIZE:
            if session.begun is not None or session.asking:
                remark(exchange, "second", session.begun.key if session.begun is not None else session.asking)
                return
            session.asking = exchange.key
            if session.premature is not None:
                remark(exchange, "premature", session.premature)
        elif exchange.method != PING:
            if session.begun is not None:
                self._goes_on(session, exchange)
            elif session.asking:
                remark(exchange, "hasty", session.asking)
            elif exchange.era == UNKNOWN and session.premature is None:
                session.premature = mark(exchange.request)

    def _goes_on(self, session: Session, exchange: Exchange) -> None:
        if not session.initialized and exchange.method != PING:
            session.skipped = True
        if len(session.open) < OPEN:
            session.open[exchange.key] = exchange.method

    def answered(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        """The first final answer to a client's request."""
        if answer.kind == "error" and answer.error.get("code") == URL_REQUIRED:
            data = answer.error.get("data")
            listed = data.get("elicitations") if type(data) is dict else None
            _elicited(channel, answer, listed[:IDS] if type(listed) is list else [])
        if exchange.method != INITIALIZE:
            return
        own = own_name(exchange.request)
        http = exchange.http if not own else None
        if answer.kind != "response" or "protocolVersion" not in answer.result:
            if answer.kind == "response":
                note_handshake(channel, exchange, answer)
            if own:
                self._session(channel, own).asking = ""
            return
        wanted, agreed = exchange.request.params.get("protocolVersion"), answer.result["protocolVersion"]
        self._accepted(channel, exchange, answer, note_handshake(channel, exchange, answer).info)
        if exchange.remarks is not None and "second" in exchange.remarks:
            return
        id = http.response_header("mcp-session-id") if http is not None else None
        name = own or (name_of(answer.channel, id) if id else "")
        session = self._session(channel, name, anew=http is not None and bool(id))
        session.begun, session.asking, session.named = mark(answer), "", id is not None
        session.wanted = wanted if type(wanted) is str else ""
        session.version = agreed if type(agreed) is str else ""
        session.info, session.last = exchange.client.info, answer.t
        if http is not None:
            self._over_http(channel, exchange, answer, id, name)

    def _accepted(
        self, channel: Channel, exchange: Exchange, answer: Message, info: list[str] | None
    ) -> None:
        table = _table(channel, "accepted")
        for version in [v for v, row in table.items() if row[2] != info]:
            del table[version]
        wanted = exchange.request.params.get("protocolVersion")
        if type(wanted) is str and wanted == answer.result["protocolVersion"]:
            _keep(table, wanted, [answer.key, answer.peer.id, info], VERSIONS)

    def _over_http(
        self, channel: Channel, exchange: Exchange, answer: Message, id: str | None, name: str
    ) -> None:
        handed = channel.facts.setdefault("handed_out", [0, 0])
        handed[id is None] += 1
        peers = _table(channel, "peers")
        before = peers.get(exchange.peer.id)
        if type(before) is Mark and id:
            remark(exchange, "premature", before)
        _keep(peers, exchange.peer.id, name, PEERS)
        if id is not None:
            key = digest(f"{answer.channel}\0{session_token(id)}", "c2s", exchange.request.id_text or "")
            self._memory.set("legacy-id", key, exchange.key)
            remark(exchange, "before", channel.facts.get("last_id", []))
            channel.facts["last_id"] = counter(id)

    def ended(self, channel: Channel, exchange: Exchange) -> None:
        """A request of either side came to its end. What HTTP refused was not read: it may come again under its id."""
        if exchange.era == MODERN:
            return
        session = session_of(channel, exchange.request)
        if session is not None:
            session.open.pop(exchange.key, None)
        http = exchange.http
        if (
            http is not None
            and exchange.era == LEGACY
            and exchange.answer is None
            and (http.status or 0) >= 400
        ):
            self._memory.set("legacy-id", _used(exchange.request, exchange.dir), "")

    def told(self, channel: Channel, message: Message) -> None:
        """A notification of the client."""
        if message.method == INITIALIZED:
            session = session_of(channel, message)
            if session is not None:
                session.initialized = True

    def _session(self, channel: Channel, name: str, anew: bool = False) -> Session:
        table = _table(channel, "sessions")
        found: Session | None = table.get(name)
        if found is None or anew:
            found = Session(name, Streams(self._memory, f"{channel.name}\0{name}"))
            _keep(table, name, found, KEPT)
        return found

    # -- heads and streams

    def heard(self, channel: Channel, signal: Signal, http: HttpExchange, exchange: Exchange | None) -> None:
        """A signal of HTTP, on a channel that had handshakes."""
        if signal.what == HTTP_REQUEST:
            self._head(channel, http, signal.t)
        elif signal.what == HTTP_RESPONSE:
            self._reply(channel, signal, http, exchange)
        elif "stream" in http.facts:
            stream = http.facts["stream"]
            if signal.what == HTTP_END:
                stream.ends(http, signal.t)
            else:
                stream.event(signal)

    def _head(self, channel: Channel, http: HttpExchange, t: int) -> None:
        if is_modern(http.request_header("mcp-protocol-version")) or "pair" in http.facts:
            return
        id = http.request_header("mcp-session-id")
        session = sessions(channel).get(name_of(http.channel, id) if id else "")
        if id is None:
            _sessionless(channel, http)
        elif session is not None:
            http.facts["session"] = session
            session.last = t
            if http.method == "DELETE":
                session.streams.over = True
            if session.end:
                session.after += 1
                http.facts["dead"] = session.after
        last = http.request_header("last-event-id")
        if session is not None and last is not None:
            session.streams.resumes(http, last, t)

    def _reply(self, channel: Channel, signal: Signal, http: HttpExchange, exchange: Exchange | None) -> None:
        session = http.facts.get("session")
        status = http.status or 0
        if session is not None and not session.end:
            if http.method == "DELETE" and status >= 400:
                session.streams.over = False
            if http.method == "DELETE" and 200 <= status < 300:
                session.end, session.end_key, session.end_t = DELETED, signal.key, signal.t
            elif status == 404 and not http.ours:
                session.end, session.end_key, session.end_t = GONE, signal.key, signal.t
        if status == 200 and "event-stream" in (http.response_header("content-type") or "").lower():
            if (exchange is not None and exchange.era == MODERN) or is_modern(
                http.request_header("mcp-protocol-version")
            ):
                return
            if session is None:
                session = sessions(channel).get("")
            streams = session.streams if session is not None else Streams(self._memory, http.key)
            streams.opened(http, session is not None and session.named)

    def streamed(self, message: Message) -> None:
        """A message of the server came on a stream."""
        assert message.http is not None
        stream = message.http.facts.get("stream")
        if stream is not None:
            stream.message(message)


def sessions(channel: Channel) -> dict[str, Session]:
    """The sessions of a channel by name."""
    found: dict[str, Session] = channel.facts.get("sessions", {})
    return found


def session_of(channel: Channel, event: Event) -> Session | None:
    """The session of earlier revisions that something belongs to, when its handshake was seen; not for HTTP servers
    that hand out no ids, where nobody can tell their clients apart."""
    own = own_name(event)
    if own or event.http is None:
        return sessions(channel).get(own)
    found: Session | None = event.http.facts.get("session")
    return found


def own_name(event: Event) -> str:
    """The name of the session of a process, or of a stream of 2024-11-05: all on it is of one client. "" for others."""
    if event.http is None:
        return event.peer.id
    pair = event.http.facts.get("pair")
    return name_of(event.channel, pair) if pair else ""


def all_known(channel: Channel, event: Event) -> bool:
    """Whether all that this client and its server said to each other is in the recording: a process from its start, a
    session of 2024-11-05, whose stream begins with the address to post to."""
    if event.http is None:
        process = channel.processes.get(event.peer.id)
        return process is not None and process.known
    session = session_of(channel, event) if "pair" in event.http.facts else None
    return session is not None and session.begun is not None and "gapped" not in channel.facts


def counter(id: str) -> list[Any]:
    """What tells whether another session id counts on from this one: a digest of all but its number, and that number;
    empty when it has none, or several."""
    found = _NUMBER.fullmatch(id[:256][::-1])
    return [] if found is None else [digest(found[1], found[3]).hex(), int(found[2][::-1])]


def name_of(channel: str, id: str) -> str:
    """The name of an HTTP session: nothing in the database shall lead to its id."""
    return session_digest(channel, id).hex()


def _elicited(channel: Channel, message: Message, asked: list[Any]) -> None:
    """Ids of elicitations that a process sent, or a server on a stream of 2024-11-05."""
    own = own_name(message)
    if not own:
        return
    ids = [a["elicitationId"] for a in asked if type(a) is dict and type(a.get("elicitationId")) is str]
    if ids:
        table = _table(channel, "elicited")
        before = table.get(own, [])
        _keep(table, own, [*before, *(id[:1024] for id in ids)][-IDS:], PEERS)


def _sessionless(channel: Channel, http: HttpExchange) -> None:
    """Whether a head without a session id should have one: somebody certainly, or everybody, was given one."""
    if not channel.facts.get("handed_out", [0])[0]:
        return
    known = sessions(channel)
    begun_here = channel.facts.get("peers", {}).get(http.peer.id)
    session = known.get(begun_here) if type(begun_here) is str and begun_here else None
    if session is None and not channel.facts["handed_out"][1]:
        living = [one for one in known.values() if one.named and not one.end]
        session = living[-1] if living else None
    if session is not None and session.begun is not None and not session.end:
        http.facts["sessionless"] = session.begun.key


def _used(request: Message, dir: str) -> bytes:
    id = session_id(request.http)
    return digest(
        f"{request.channel}\0{session_token(id)}" if id else request.peer.id, dir, request.id_text or ""
    )


def _resumed(http: HttpExchange) -> bool:
    return "resume" in http.facts


def _table(channel: Channel, name: str) -> dict[str, Any]:
    found: dict[str, Any] = channel.facts.setdefault(name, {})
    return found


def _keep(table: dict[str, Any], key: str, value: Any, limit: int, anew: bool = True) -> None:
    if not anew and key in table:
        return
    table.pop(key, None)
    table[key] = value
    if len(table) > limit:
        del table[next(iter(table))]
