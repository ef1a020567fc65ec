"""What the mitmproxy addon keeps of HTTP exchanges: each hook is one guarded call into here. Standard library only.

Forward first: a hook looks at heads alone, decides whether mitmproxy may hold the body back, and appends. An
exchange whose bodies mitmproxy holds anyway costs one append per direction, when the body is complete; a
streamed one an append for its head, one for each chunk and one for its end. Nothing here decodes, waits, raises.

What mitmproxy says by itself (400, 502, a killed flow, a 1xx that it took for the answer) is marked
``"ours": true`` in the head and ``"by": "us"`` or ``"upstream"`` at the end: neither peer said it, neither is
blamed for it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from mrtrscope.frames import DATA, END, GAP, HEAD, NOTE, OPEN, SENT
from mrtrscope.recorder import Journal
from mrtrscope.tap_records import (
    BY_CLIENT,
    BY_SERVER,
    BY_US,
    KILLED,
    TOOK_1XX,
    Fields,
    FlowIds,
    Record,
    Recorder,
    address,
    end_payload,
    ended_by,
    field_value,
    guarded,
    held_back,
    is_event_stream,
    may_be_held,
    pairs,
    payload,
    request_head,
    upstream_of,
    without_expect,
)


class Tee:
    """The stream callback: one append, then the very object it was given.

    mitmproxy does not catch what a stream callback raises, so this one raises nothing.
    """

    __slots__ = ("append", "called", "inner", "lane")

    def __init__(self, append: Callable[[str, str, int, bytes], object], lane: str, inner: Any) -> None:
        self.append = append
        self.lane = lane
        self.called = False
        self.inner = (
            inner if callable(inner) else None
        )  # another addon's callback; it gets what the peer sent

    def __call__(self, chunk: bytes) -> Any:
        try:
            self.called = True
            if chunk:  # an empty one only says that the body is complete
                self.append(self.lane, DATA, monotonic_ns(), chunk)
        except Exception:
            pass  # the journal counts what it cannot write; what else may happen here must not cut the stream
        return chunk if self.inner is None else self.inner(chunk)


class Exchange:
    """One HTTP request and its answer while they are under way."""

    __slots__ = (
        "a", "answer_done", "answer_head", "answer_tee", "body", "connection", "fields", "flow", "line",
        "ours", "pending", "q", "request_done", "request_tee", "status",
    )  # fmt: skip

    def __init__(self, number: int, flow: Any, connection: Connection) -> None:
        self.q, self.a = f"{number}q", f"{number}a"
        self.flow = flow
        self.connection = connection
        self.pending: tuple[bytes, bytes] | None = (
            None  # open and head of the request, until they are written
        )
        self.line: tuple[Any, ...] = ()  # method and path as the client sent them
        self.fields: Fields = ()
        self.body: bytes | None = None  # as the client sent it, until it is certain what was passed on
        self.request_tee: Tee | None = None
        self.request_done = False
        self.answer_head: bytes | None = None  # until it is written
        self.answer_tee: Tee | None = None
        self.answer_done = False
        self.status = 0  # of the answer, 0 until its head came
        self.ours = False  # the answer is mitmproxy's own


class Connection:
    """One client connection: its number, and the exchanges on it that are under way."""

    __slots__ = ("number", "open")

    def __init__(self, number: int) -> None:
        self.number = number
        self.open: dict[str, Exchange] = {}


class HttpTap(Recorder):
    """Keeps HTTP exchanges: the hooks of mitmproxy's HTTP flows, by their names.

    host_rewritten   mitmproxy puts the upstream's name into the Host header before any hook sees it (reverse
                     mode without keep_host_header); noted with each exchange, so that no rule reads it
    """

    def __init__(self, journal: Journal, numbers: Callable[[], int], ids: FlowIds) -> None:
        super().__init__(journal, numbers, ids)
        self.host_rewritten = True
        self._open: dict[str, Exchange] = {}
        self._connections: dict[str, Connection] = {}

    # the request

    @guarded
    def requestheaders(self, flow: Any) -> None:
        """A head came. Bodies of unknown length, or longer than `HELD`, are streamed from here on."""
        request = flow.request
        data = request.data
        fields: Fields = data.headers.fields
        exchange = self._begin(flow)
        exchange.fields = fields
        exchange.line = (data.method, data.path)
        exchange.pending = (self._opened(flow, exchange), payload(request_head(flow)))
        length = field_value(fields, b"content-length")
        if length is None:
            http2 = data.http_version >= b"HTTP/2"
            stream = field_value(fields, b"transfer-encoding") is not None or (
                http2 and data.method == b"POST"
            )
        else:
            stream = not may_be_held(length)
        if (stream or request.stream) and flow.error is None and flow.response is None:
            exchange.request_tee = request.stream = Tee(self.journal.append, exchange.q, request.stream)
            self.journal.append_many(self._pending(exchange, monotonic_ns()))

    @guarded
    def request(self, flow: Any) -> None:
        """The request is complete."""
        now = monotonic_ns()
        exchange = self._open.get(flow.id)
        if exchange is None:  # read from a file, or begun before we did
            return
        records = self._pending(exchange, now)
        content = flow.request.data.content
        if exchange.request_tee is None or not exchange.request_tee.called:
            exchange.body = content
            records += _held(exchange.q, now, content)
        records.append((exchange.q, END, now, end_payload(BY_CLIENT, "client", flow.request.data.trailers)))
        exchange.request_done = True
        self.journal.append_many(records)
        if exchange.answer_done:
            self._forget(exchange)

    @guarded
    def settle_request(self, flow: Any) -> None:
        """Keep what was passed on, where a person or another addon changed a request after we had kept it."""
        exchange = self._open.get(flow.id)
        if exchange is not None:
            self._settle_request(exchange)

    def _settle_request(self, exchange: Exchange) -> None:
        data = exchange.flow.request.data
        body, exchange.body = exchange.body, None
        now = monotonic_ns()
        if body is not None and data.content is not body and data.content != body:
            self.journal.append(exchange.q, SENT, now, data.content or b"")
        fields, line = data.headers.fields, (data.method, data.path)
        if (fields is not exchange.fields and without_expect(fields) != without_expect(exchange.fields)) or (
            line != exchange.line
        ):
            self.journal.append(exchange.q, NOTE, now, payload({"edited": request_head(exchange.flow)}))
        exchange.fields, exchange.line = fields, line

    def _begin(self, flow: Any) -> Exchange:
        client = flow.client_conn
        connection = self._connections.get(client.id)
        if connection is None:
            connection = Connection(self._next())
            if not flow.is_replay:  # a replayed flow's connection never ends
                self._connections[client.id] = connection
        number = self._next()
        exchange = Exchange(number, flow, connection)
        self._ids.add(number, flow.id)
        self._open[flow.id] = connection.open[flow.id] = exchange
        return exchange

    def _opened(self, flow: Any, exchange: Exchange) -> bytes:
        client = flow.client_conn
        mode = getattr(client.proxy_mode, "type_name", "")
        opened = {
            "conn": exchange.connection.number,
            "client": address(client.peername),
            "flow": flow.id,
            "upstream": upstream_of(flow.request.data),
            "mode": mode,
        }
        if mode == "reverse" and self.host_rewritten:
            opened["host"] = "rewritten"
        if flow.server_conn.via:
            scheme, where = flow.server_conn.via
            opened["via"] = f"{scheme}://{address(where)}"
        if flow.is_replay:
            opened["replay"] = flow.is_replay
        return payload(opened)

    def _pending(self, exchange: Exchange, now: int) -> list[Record]:
        """Open and head of the request, when they are not written yet."""
        if exchange.pending is None:
            return []
        opened, head = exchange.pending
        exchange.pending = None
        return [(exchange.q, OPEN, now, opened), (exchange.q, HEAD, now, head)]

    # the answer

    @guarded
    def responseheaders(self, flow: Any) -> None:
        """The head of the answer came. Event streams and bodies of unknown or great length are streamed."""
        exchange = self._open.get(flow.id)
        if exchange is None:
            return
        self._settle_request(exchange)
        response = flow.response
        data = response.data
        fields: Fields = data.headers.fields
        exchange.status = status = data.status_code
        head = {
            "status": status,
            "reason": data.reason.decode("latin-1"),
            "http": data.http_version.decode("latin-1"),
            "headers": pairs(fields),
        }
        made_here = data.content is not None  # what comes from a server has its body still to come
        exchange.ours = made_here or (100 <= status < 200 and status != 101)
        if exchange.ours:
            head["ours"] = True
        exchange.answer_head = payload(head)
        length = field_value(fields, b"content-length")
        streams = length is None or not may_be_held(length) or is_event_stream(fields) or response.stream
        if streams and not made_here:
            exchange.answer_tee = response.stream = Tee(self.journal.append, exchange.a, response.stream)
            self.journal.append_many(self._answer_head(exchange, monotonic_ns()))

    @guarded
    def response(self, flow: Any) -> None:
        """The answer is complete."""
        now = monotonic_ns()
        exchange = self._open.get(flow.id)
        if exchange is None:
            return
        data = flow.response.data
        records = self._answer_head(exchange, now)
        tee = exchange.answer_tee
        if tee is None or not tee.called:
            records += _held(exchange.a, now, data.content)
        if not exchange.ours:
            end = end_payload(BY_SERVER, "server", data.trailers)
        elif exchange.status < 200:
            end = payload({"by": "us", "error": TOOK_1XX})
        else:
            end = BY_US
        records.append((exchange.a, END, now, end))
        exchange.answer_done = True
        self.journal.append_many(records)
        if exchange.request_done:
            self._forget(exchange)

    def settle_response(self, flow: Any, lane: str, body: bytes | None) -> None:
        """Keep what the client got, where a person changed an answer after we had kept it (`body`)."""
        try:
            killed = flow.error is not None and flow.error.msg == KILLED
            content = b"" if killed else flow.response.data.content
            if content is not body and content != body:
                self.journal.append(lane, SENT, monotonic_ns(), content or b"")
        except Exception as e:
            self.failed("settle_response", e)

    def answer_lane(self, flow: Any) -> str:
        """The lane of the answer to a flow that is under way, "" for any other flow."""
        exchange = self._open.get(flow.id)
        return "" if exchange is None else exchange.a

    def _answer_head(self, exchange: Exchange, now: int) -> list[Record]:
        head, exchange.answer_head = exchange.answer_head, None
        return [] if head is None else [(exchange.a, HEAD, now, head)]

    # what goes wrong

    @guarded
    def error(self, flow: Any) -> None:
        """The exchange ended before it was complete, or mitmproxy refused it."""
        exchange = self._open.get(flow.id)
        if exchange is not None:
            self._settle_request(exchange)
            self._cut(exchange, ended_by(flow, exchange.status > 0), str(flow.error.msg))

    @guarded
    def client_disconnected(self, client: Any) -> None:
        """A client's connection is gone, and with it what was under way on it."""
        connection = self._connections.pop(client.id, None)
        for exchange in list(connection.open.values()) if connection else []:
            self._cut(exchange, "client", "connection closed")

    def close(self) -> None:
        """mitmproxy ends: so does whatever is under way."""
        for exchange in list(self._open.values()):
            self._cut(exchange, "us", "mitmproxy was stopped")

    def _cut(self, exchange: Exchange, by: str, error: str) -> None:
        now = monotonic_ns()
        records = self._pending(exchange, now)
        end: dict[str, Any] = {"by": by, "error": error[:500]}
        if not exchange.request_done:
            if (
                exchange.request_tee is None
                and (field_value(exchange.fields, b"content-length") or b"0") != b"0"
            ):
                records.append((exchange.q, GAP, now, held_back("request")))
            records.append((exchange.q, END, now, payload(end)))
        if not exchange.answer_done:
            own = _own_status(exchange, by, error)
            if exchange.status:
                records += self._answer_head(exchange, now)
                if exchange.answer_tee is None:
                    records.append((exchange.a, GAP, now, held_back("answer")))
                    end["answered"] = own  # the client got this in the place of the server's head
            elif own:
                head = {"status": own, "reason": "", "http": "", "headers": [], "ours": True}
                records.append((exchange.a, HEAD, now, payload(head)))
            records.append((exchange.a, END, now, payload(end)))
        self.journal.append_many(records)
        self._forget(exchange)

    def _forget(self, exchange: Exchange) -> None:
        self._open.pop(exchange.flow.id, None)
        exchange.connection.open.pop(exchange.flow.id, None)


def _held(lane: str, now: int, content: bytes | None) -> list[Record]:
    """A body that mitmproxy held; None when it streamed it after all, past us."""
    if content is None:
        why = "another addon put its stream callback in the place of ours"
        return [(lane, GAP, now, payload({"bytes": 0, "frames": 1, "why": why}))]
    return [(lane, DATA, now, content)] if content else []


def _own_status(exchange: Exchange, by: str, error: str) -> int:
    """The status that mitmproxy answered with by itself, 0 when it just closed the connection."""
    if by == "client" or error == KILLED:
        return 0
    if error.startswith("HTTP/1 protocol error") and not exchange.request_done:
        return 0
    if "exceeds mitmproxy's" in error:
        return 413 if error.startswith("Request") else 502
    return 502 if exchange.request_done or exchange.request_tee is not None else 400
