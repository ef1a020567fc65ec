"""What the mitmproxy addon keeps of stdio sessions that `wrap --via` sends through it. Standard library."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Any
from urllib.parse import unquote

from mrtrscope.frames import DATA, END, OPEN, SENT
from mrtrscope.recorder import Journal
from mrtrscope.tap_records import FlowIds, Recorder, guarded, payload

VIA_SUFFIX = ".wrap.mrtrscope.invalid"
"""What `wrap --via` (see `via`) asks to be connected with ends so; the channel's name stands before it."""


def channel_of(host: str) -> str | None:
    """The channel's name out of a host name that `wrap --via` made; None for any other host name."""
    if not host.endswith(VIA_SUFFIX):
        return None
    return unquote(host.removesuffix(VIA_SUFFIX), errors="backslashreplace")


class StdioTap(Recorder):
    """Keeps stdio sessions that `wrap --via` sends through: the hooks of mitmproxy's TCP flows.

    Both sides of an edit are kept: ``data`` as it came, then ``sent`` with what was passed on in its place.
    """

    def __init__(self, journal: Journal, numbers: Callable[[], int], ids: FlowIds) -> None:
        super().__init__(journal, numbers, ids)
        self._sessions: dict[str, _Session] = {}
        self._names: dict[str, str] = {}  # client connection -> channel, until its flow begins

    @guarded
    def resolve(self, connection: Any) -> None:
        """Where `wrap` gave the channel's name, put in the address that it means.

        `connection` has the `client` and the `server` that mitmproxy will connect to: a moment before it does, or,
        with connection_strategy=lazy, when the first bytes came.
        """
        if connection.server.address is None:
            return
        host, port, *_ = connection.server.address
        name = channel_of(host)
        if name is not None:
            self._names[connection.client.id] = name
            connection.server.address = ("127.0.0.1", port)

    def knows(self, client: Any) -> bool:
        """Whether this connection is one that `wrap` announced."""
        return client.id in self._names

    @guarded
    def client_disconnected(self, client: Any) -> None:
        """The connection is gone; perhaps it never became a session."""
        self._names.pop(client.id, None)

    @guarded
    def tcp_start(self, flow: Any) -> None:
        """A session begins."""
        number = self._next()
        session = self._sessions[flow.id] = _Session(number)
        self._ids.add(number, flow.id)
        opened = {"flow": flow.id, "channel": self._names.get(flow.client_conn.id) or "stdio"}
        self.journal.append(session.i, OPEN, monotonic_ns(), payload(opened))

    @guarded
    def tcp_message(self, flow: Any) -> None:
        """A read brought bytes."""
        now = monotonic_ns()
        session = self._sessions.get(flow.id)
        if session is None:
            return
        self._settle(session)
        message = flow.messages[-1]
        content = message.content
        lane = session.i if message.from_client else session.o
        self.journal.append(lane, DATA, now, content)
        session.last, session.content, session.lane = message, content, lane

    @guarded
    def settle(self, flow: Any) -> None:
        """Keep what was passed on, where a person changed the latest message after we had kept it."""
        session = self._sessions.get(flow.id)
        if session is not None:
            self._settle(session)

    @guarded
    def tcp_end(self, flow: Any) -> None:
        """Both directions ended."""
        self._over(flow.id, "client", "server", "")

    @guarded
    def tcp_error(self, flow: Any) -> None:
        """The session was cut."""
        self._over(flow.id, "us", "us", str(flow.error.msg))

    def close(self) -> None:
        """mitmproxy ends: so do the sessions."""
        for flow_id in list(self._sessions):
            self._over(flow_id, "us", "us", "mitmproxy was stopped")

    def _settle(self, session: _Session) -> None:
        message, session.last = session.last, None
        if (
            message is not None
            and message.content is not session.content
            and message.content != session.content
        ):
            self.journal.append(session.lane, SENT, monotonic_ns(), message.content)

    def _over(self, flow_id: str, c2s: str, s2c: str, error: str) -> None:
        session = self._sessions.pop(flow_id, None)
        if session is None:
            return
        self._settle(session)
        now = monotonic_ns()
        more = {"error": error[:500]} if error else {}
        ends = ((session.i, c2s), (session.o, s2c))
        self.journal.append_many([(lane, END, now, payload({"by": by, **more})) for lane, by in ends])


class _Session:
    __slots__ = ("content", "i", "lane", "last", "o")

    def __init__(self, number: int) -> None:
        self.i, self.o = f"{number}i", f"{number}o"
        self.last: Any = None  # the latest message while it is uncertain whether it was passed on as it came
        self.content = b""
        self.lane = ""
