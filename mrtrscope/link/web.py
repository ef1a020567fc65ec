"""What HTTP says around the messages: heads, answers, requests that are sent again. The linker calls it for each.

    heads, replies   `HttpExchange.facts`, see those modules; also `auth`, `caching` and `icons`, which belong to it

Remarks of exchanges (`link.remarks`):

    unchanged   a tools/call: key of the -32020 about Mcp-Param headers after which it comes again as it was, for the
                second time
    again       a request: {"key", "why", "sure"} of the lost one that it repeats under the same id
    elsewhere   an answer: [channel, key] of another path of this origin where the same server answered

`Channel.facts`: `opened`, True once a remote server served somebody without credentials, False when it is not remote;
`whereabouts`, True once it was looked where else the server is; `minted`, True once it handed out a session id to a
modern request; `streamed`, its first event stream.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any
from urllib.parse import urljoin

from mrtrscope.link import replies
from mrtrscope.link.auth import Auth
from mrtrscope.link.caching import Caching, cacheable
from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import META_SERVER_INFO, MODERN, Client, Exchange
from mrtrscope.link.heads import PARAMS, PREFIX, head_of, look
from mrtrscope.link.icons import Icons
from mrtrscope.link.listings import LISTS
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.origins import loopback, split
from mrtrscope.link.pairing import CUT, end_of
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.remarks import remark
from mrtrscope.link.session import Channel, Sessions
from mrtrscope.link.tools import CALL, LIST
from mrtrscope.wire.events import (
    FRAMING,
    HTTP_END,
    HTTP_REQUEST,
    HTTP_RESPONSE,
    SSE_EVENT,
    HttpExchange,
    Message,
    NonMessage,
    Signal,
)

KEPT = 1024
OFFER_ICONS = frozenset({"initialize", "server/discover", *LISTS})
CHANGES = frozenset({"notifications/resources/updated", *(entry[2] for entry in LISTS.values())})
FORGOTTEN = 600_000_000  # microseconds after which nobody sends a lost request again
MISMATCH = -32020
GATEWAYS = (502, 504)


class Web:
    """State of it: bounded, or in `Memory`.

    old       channels of the transport before streamable HTTP, whose answers come elsewhere
    refused   client -> {"call": digest, "key", "times"}: its tools/call that was refused over Mcp-Param headers
    lost      digest of a request -> [id, key, client, why, t]: its answer was lost on the way
    """

    def __init__(self, memory: Memory, sessions: Sessions) -> None:
        self._memory = memory
        self._sessions = sessions
        self.caching = Caching(memory)
        self.icons = Icons(memory)
        self.auth = Auth(memory, sessions)
        self.old: OrderedDict[str, bool] = OrderedDict()
        self.refused: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.lost: OrderedDict[str, list[Any]] = OrderedDict()

    def posted(self, message: Message) -> None:
        """A client's message came by HTTP; requests come again as `requested`."""
        http = message.http
        assert http is not None
        http.facts["posted"] = message.kind if message.batch is None else "batch"
        if http.channel in self.old or _looks_old(http):
            http.facts["old"] = True
        if message.kind != "request" and "old" not in http.facts:
            look(message, None)
            self.auth.posted(message)

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A client's request was linked."""
        http = exchange.http
        if cacheable(exchange) and exchange.method != CALL:
            self.caching.requested(exchange)
        if '"icons"' in exchange.client.info:
            self.icons.offered(exchange.request, exchange.method, "")
        if http is None:
            return
        http.facts["method"] = exchange.method
        if "old" in http.facts:
            return
        remote = False
        if "opened" not in channel.facts:
            remote = _remote(channel.name)
            if not remote:
                channel.facts["opened"] = False
        look(exchange.request, exchange, remote)
        self.auth.requested(exchange)
        if self.refused and exchange.method in (CALL, LIST):
            self._after_refusal(exchange)
        if self.lost:
            self._after_loss(exchange)

    def answered(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        """The first final answer to it."""
        http = exchange.http
        if exchange.dir == "c2s":
            if cacheable(exchange):
                self.caching.answered(exchange, answer)
            if exchange.method in OFFER_ICONS and b'"icons"' in answer.raw:
                self.icons.offered(answer, exchange.method, exchange.client.host)
        if http is None:
            return
        if answer.sse is not None and answer.sse.id is not None:
            http.facts.setdefault("head", {})["event-id"] = []
        if answer.kind != "response":
            if answer.error.get("code") == MISMATCH and exchange.method == CALL:
                self._refuse(exchange, answer)
            return
        self.auth.served(exchange)
        if "head" in http.facts and "open" in http.facts["head"]:
            channel.facts["opened"] = True
        if exchange.era == MODERN and "whereabouts" not in channel.facts:
            self._whereabouts(channel, exchange, answer)

    def notified(self, message: Message, exchange: Exchange | None) -> None:
        """A notification; `exchange` is the request on whose stream it came, or the subscription."""
        if message.method in CHANGES:
            self.caching.announced(message, exchange)

    def heard(self, event: Signal | NonMessage, exchange: Exchange | None) -> None:
        """A signal or text of HTTP."""
        http = event.http
        assert http is not None
        if type(event) is NonMessage:
            if event.dir == "c2s":
                http.facts["posted"] = "unreadable" if event.why != FRAMING else "misframed"
            else:
                http.facts["text"] = True
            self.auth.text(event)
        elif type(event) is Signal:
            if event.what == HTTP_REQUEST:
                if http.method != "POST":
                    self._asked(event, http)
            elif event.what == HTTP_RESPONSE:
                self._headed(http, exchange)
                self.auth.headed(event, exchange)
            elif event.what == HTTP_END:
                replies.ended(http, exchange)
                self.auth.ended(event)
                if exchange is not None and exchange.answer is None:
                    self._lose(http, exchange)
            elif event.what == SSE_EVENT and event.detail.get("event") == "endpoint":
                self._endpoint(http, event.detail.get("data"))

    def _asked(self, event: Signal, http: HttpExchange) -> None:
        if self.icons.named:
            self.icons.requested(http)
        channel = self._sessions.channels.get(http.channel)
        self.auth.asks(event, channel is not None and channel.modern + channel.legacy > 0)

    def _headed(self, http: HttpExchange, exchange: Exchange | None) -> None:
        channel = self._sessions.channels.get(http.channel)
        known = channel is not None and channel.modern + channel.legacy > 0
        replies.headed(http, exchange, known)
        if "icon" in http.facts:
            self.icons.redirected(http)
            http.facts.setdefault("reply", {})["icon"] = True
        reply = http.facts.get("reply")
        if reply is not None and channel is not None:
            if "session" in reply:
                channel.facts["minted"] = True
            if "stream" in reply and channel.facts.setdefault("streamed", http.key) != http.key:
                del reply["stream"]
                if not reply:
                    del http.facts["reply"]

    # -- the older transport

    def _endpoint(self, http: HttpExchange, where: Any) -> None:
        try:
            address = split(urljoin(http.url, where)) if type(where) is str and len(where) < 4096 else None
        except ValueError:
            address = None
        if address is not None:
            _keep(self.old, f"{address.origin}{address.path}", True)

    # -- after a refusal

    def _refuse(self, exchange: Exchange, answer: Message) -> None:
        head = head_of(exchange.request)
        about = str(answer.error.get("message"))[:4096].lower()
        if not any(kind in head for kind in PARAMS) and PREFIX not in about:
            return
        call = _call(exchange)
        for name in names(exchange.request.channel, exchange.client):
            before = self.refused.get(name)
            times = before["times"] if before is not None and before["call"] == call else 0
            _keep(self.refused, name, {"call": call, "key": answer.key, "times": times})

    def _after_refusal(self, exchange: Exchange) -> None:
        for name in names(exchange.request.channel, exchange.client):
            record = self.refused.get(name)
            if record is None:
                continue
            if exchange.method == LIST:
                del self.refused[name]
            elif record["call"] == _call(exchange):
                record["times"] += 1
                if record["times"] >= 2:
                    remark(exchange, "unchanged", record["key"])

    # -- after a loss

    def _lose(self, http: HttpExchange, exchange: Exchange) -> None:
        if exchange.era != MODERN or exchange.method == LISTEN or replies.unseen(http):
            return
        if http.status in GATEWAYS:
            why = f"status {http.status}"
        elif end_of(http) == CUT:
            why = "the stream broke"
        else:
            return
        client = exchange.client
        row = [exchange.request.id_text, exchange.key, _row(client), why, exchange.t]
        _keep(self.lost, _as_sent(exchange), row)

    def _after_loss(self, exchange: Exchange) -> None:
        while self.lost and exchange.t - next(iter(self.lost.values()))[4] > FORGOTTEN:
            self.lost.popitem(last=False)
        found = self.lost.get(_as_sent(exchange)) if exchange.era == MODERN else None
        if found is None:
            return
        id, key, row, why, _ = found
        client = _client(row)
        mine = exchange.client
        if mine.surely_other(client) or (client.host, client.info) != (mine.host, mine.info):
            return
        del self.lost[_as_sent(exchange)]
        if id == exchange.request.id_text:
            remark(exchange, "again", {"key": key, "why": why, "sure": mine.surely_same(client)})

    # -- where a server is

    def _whereabouts(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        meta = answer.result.get("_meta")
        info = meta.get(META_SERVER_INFO) if type(meta) is dict else None
        address = split(channel.name)
        if type(info) is not dict or address is None or type(info.get("name")) is not str:
            return
        channel.facts["whereabouts"] = True
        key = digest("server-at", address.origin, canonical([info["name"], info.get("version")]))
        text = self._memory.get("server-at", key)
        if text is None:
            self._memory.set("server-at", key, json.dumps([channel.name, answer.key]))
            return
        name, at = json.loads(text)
        if name.rstrip("/") != channel.name.rstrip("/"):
            remark(exchange, "elsewhere", [name, at])


def names(channel: str, client: Client) -> tuple[str, ...]:
    """What certainly names a client on a channel: its connection, or credential, address and clientInfo together."""
    if client.credential and client.info and client.host:
        known = "\0".join((channel, client.credential.hex(), client.host, client.info))
        return f"{channel}\0{client.peer}", known
    return (f"{channel}\0{client.peer}",)


def _row(client: Client) -> list[str]:
    return [client.peer, client.credential.hex(), client.info, client.host]


def _client(row: list[str]) -> Client:
    return Client(row[0], bytes.fromhex(row[1]), row[2], row[3])


def _call(exchange: Exchange) -> str:
    """Stands for a tools/call with its Mcp-Param headers."""
    assert exchange.http is not None
    sent = sorted([k.lower(), v] for k, v in exchange.http.request_headers if k.lower().startswith(PREFIX))
    return digest(exchange.target, canonical(exchange.arguments), canonical(sent)).hex()


def _as_sent(exchange: Exchange) -> str:
    params = {name: value for name, value in exchange.request.params.items() if name != "_meta"}
    return digest(exchange.request.channel, exchange.method, canonical(params)).hex()


def _looks_old(http: HttpExchange) -> bool:
    """Posts of the older transport name their session in the query."""
    query = http.url.partition("?")[2]
    return bool(query) and "session" in query.lower() and http.request_header("mcp-protocol-version") is None


def _remote(channel: str) -> bool:
    address = split(channel)
    return address is not None and not loopback(address.host)


def _keep(table: OrderedDict[str, Any], key: str, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > KEPT:
        table.popitem(last=False)
