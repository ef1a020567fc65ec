"""What waits for an answer, and what an answer does to it.

The life of an exchange is the table `NEXT`; the picture of it in the documentation is drawn from the same table.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from itertools import islice

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import MRTR_METHODS, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.wire.events import HttpExchange, Message

WAITING, ANSWERED, ASKED, FAILED, CANCELLED, LOST = (
    "waiting", "answered", "asked", "failed", "cancelled", "lost",
)  # fmt: skip

# What happens to an exchange: a result or an error arrives, a result that asks for input, it is cancelled (by
# notification, or by its client closing the stream), its stream or process ends.
RESULT, INPUT_REQUIRED, ERROR, CANCEL, CUT = "result", "input_required", "error", "cancel", "cut"

NEXT = {
    (WAITING, RESULT): ANSWERED,
    (WAITING, INPUT_REQUIRED): ASKED,  # the retry is another exchange
    (WAITING, ERROR): FAILED,
    (WAITING, CANCEL): CANCELLED,
    (WAITING, CUT): LOST,
    (LOST, RESULT): ANSWERED,  # a 2025-11-25 stream that was resumed
    (LOST, INPUT_REQUIRED): ASKED,
    (LOST, ERROR): FAILED,
    (CANCELLED, RESULT): CANCELLED,  # too late; races are allowed
    (CANCELLED, INPUT_REQUIRED): CANCELLED,
    (CANCELLED, ERROR): CANCELLED,
    (CANCELLED, CUT): CANCELLED,
}

RECENT = 256  # finished exchanges kept as objects, for what comes late
PARALLEL = 1_000_000  # microseconds: equal calls that lie closer together are meant to run side by side
DIGITS = 18  # of an id that fits into eight bytes
LOOKED_AT = 32  # waiting requests that a new one is compared with


def past_key(where: str, id_text: str) -> bytes:
    """What names a finished request in `Memory` ("past"); `where`: its scope and direction.

    Ids that are counted up lie beside each other, which spares a table of millions of them a page for each.
    """
    if not id_text.isdigit() or len(id_text) > DIGITS:
        return digest(where, id_text)
    return _scope(where) + int(id_text).to_bytes(8, "big")


@lru_cache(maxsize=256)
def _scope(where: str) -> bytes:
    return digest(where)


class Pending:
    """Exchanges by what names them later: their id, their progress token, their HTTP exchange."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        # scope + direction -> id_text, and -> token -> those that wait, oldest first
        self.by_id: dict[str, dict[str, list[Exchange]]] = {}
        self.by_token: dict[str, dict[str, list[Exchange]]] = {}
        self.by_http: dict[str, list[Exchange]] = {}  # key of an HTTP exchange -> requests posted on it
        self.recent: OrderedDict[str, Exchange] = OrderedDict()

    def add(self, scope: str, exchange: Exchange) -> None:
        """A request was seen."""
        http = exchange.http
        if http is not None and exchange.dir == "c2s":
            self.by_http.setdefault(http.key, []).append(exchange)
        where = scope + exchange.dir
        id_text = exchange.request.id_text
        assert id_text is not None
        same = self.by_id.setdefault(where, {}).setdefault(id_text, [])
        for older in same[-LOOKED_AT:]:
            if older.client.surely_same(exchange.client):
                remark(exchange, "clash", older.key)
        same.append(exchange)
        token = exchange.request.meta.get("progressToken")
        if token is not None:
            text = canonical(token)
            active = self.by_token.setdefault(where, {}).setdefault(text, [])
            for older in active[-LOOKED_AT:]:
                if older.client.surely_same(exchange.client):
                    remark(exchange, "token", older.key)
            active.append(exchange)
            self._memory.set("token", digest(where, text), f"{exchange.key}\n{exchange.operation.key}")

    def repeats(self, scope: str, exchange: Exchange) -> str:
        """Key of a call that asks the same thing and still waits, among the latest of this direction; else ""."""
        waiting = self.by_id.get(scope + exchange.dir, {})
        if len(waiting) < 2 or exchange.method not in MRTR_METHODS:
            return ""
        oldest = next(iter(waiting.values()))[0]
        if exchange.t - oldest.t < PARALLEL:
            return ""
        for same in islice(reversed(waiting.values()), LOOKED_AT):
            other = same[-1]
            if (
                exchange.t - other.t >= PARALLEL
                and other is not exchange
                and other.method == exchange.method
                and other.target == exchange.target
                and other.arguments == exchange.arguments
                and other.link is None
            ):
                return other.key
        return ""

    def waiting(self, scope: str, dir: str, id_text: str | None) -> Exchange | None:
        """The oldest request with this id that waits in this direction."""
        found = self.by_id.get(scope + dir, {}).get(id_text or "")
        return found[0] if found else None

    def several(self, scope: str, dir: str, id_text: str | None) -> bool:
        """Whether more than one request with this id waits in this direction."""
        return len(self.by_id.get(scope + dir, {}).get(id_text or "", ())) > 1

    def posted(self, http_key: str, id_text: str | None) -> tuple[Exchange | None, Exchange | None]:
        """The request with this id on an HTTP exchange: (still without answer, already answered)."""
        done = None
        for exchange in self.by_http.get(http_key, ()):
            if exchange.request.id_text == id_text:
                if exchange.answer is None:
                    return exchange, None
                done = exchange
        return None, done

    def finished(self, scope: str, exchange: Exchange) -> None:
        """The exchange got its end: it no longer waits, but can still be named."""
        where = scope + exchange.dir
        id_text = exchange.request.id_text or ""
        waiting = self.by_id.get(where)
        if waiting is not None and exchange in (same := waiting.get(id_text, [])):
            same.remove(exchange)
            if not same:
                del waiting[id_text]
                if not waiting:
                    del self.by_id[where]
        tokens = self.by_token.get(where)
        if tokens is not None and "progressToken" in exchange.request.meta:
            text = canonical(exchange.request.meta["progressToken"])
            if exchange in (active := tokens.get(text, [])):
                active.remove(exchange)
                if not active:
                    del tokens[text]
                    if not tokens:
                        del self.by_token[where]
        if exchange.http is None or exchange.era != "modern":
            self._memory.set("past", past_key(where, id_text), f"{exchange.key}\n{exchange.operation.key}")
        self.recent[exchange.key] = exchange
        if len(self.recent) > RECENT:
            self.recent.popitem(last=False)

    def on_stream(self, message: Message) -> Exchange | None:
        """Of the requests posted together on this HTTP exchange, the one that gave the token of a notification."""
        posted = self.by_http.get(message.http.key, []) if message.http is not None else []
        token = message.params.get("progressToken")
        if len(posted) < 2 or token is None:
            return None
        text = canonical(token)
        for exchange in posted:
            if canonical(exchange.request.meta.get("progressToken")) == text:
                return exchange
        return None

    def past(self, scope: str, dir: str, id_text: str | None) -> tuple[Exchange | None, str]:
        """The last finished request with this id: (the exchange when still at hand, key of its operation or "")."""
        return self._recall("past", past_key(scope + dir, id_text or ""))

    def with_token(self, scope: str, dir: str, message: Message) -> tuple[Exchange | None, str]:
        """The request that gave the progressToken a notification carries: (exchange or None, operation or "")."""
        token = message.params.get("progressToken")
        if token is None:
            return None, ""
        text = canonical(token)
        active = self.by_token.get(scope + dir, {}).get(text)
        if active:
            return active[-1], active[-1].operation.key
        return self._recall("token", digest(scope + dir, text))

    def _recall(self, space: str, key: bytes) -> tuple[Exchange | None, str]:
        text = self._memory.get(space, key)
        if text is None:
            return None, ""
        exchange, _, operation = text.rpartition("\n")
        return self.recent.get(exchange), operation


def end_of(http: HttpExchange) -> str:
    """What the end of an HTTP exchange is to a request on it that got no message for an answer.

    `facts["left"]`: the client had closed its side of the connection before the server did.
    """
    if http.status is not None and http.status >= 400:
        return ERROR
    if http.cut:
        return CUT  # the answer may be in what is missing
    if http.closed_by == "client" or "left" in http.facts:
        return CANCEL
    kind = (http.response_header("content-type") or "").lower()
    whole = http.status is not None and not http.error and http.closed_by != "upstream"
    return ERROR if whole and kind and "event-stream" not in kind and "json" not in kind else CUT
