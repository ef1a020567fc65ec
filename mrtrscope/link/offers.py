"""What a server offers and who took it up: tool definitions, lists, addresses; what clients declare from call to call.

The linker calls the three methods of `Offers`; what they find stands in `Exchange.tool`, in remarks, in `Memory` and
in `Channel.facts`:

handshakes     digest of the session, connection or process -> capabilities that initialize answered, the last few
declared       client's peer -> [what it declared last as bits, changes of each bit, clientInfo]
empty_cursor   see `listings`
modes          client's peer -> {"form", "absent": [forms asked for in words or without a mode, answered], "at": the
               latest result that asked without}
completing     client's peer and what it completes -> times of the last requests

Remarks: those of `listings`; `special`, a call of a tool that wants headers or refers to the network; `flips`, the
capabilities that a client now declared on and off for the second time; `burst`, how many completions of one argument
were asked for within two seconds.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.addresses import ELICITATION, Addresses
from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import LEGACY, MODERN, MRTR_METHODS, Ask, Exchange
from mrtrscope.link.listings import LISTS, Listings
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import run_of
from mrtrscope.link.servers import advertised
from mrtrscope.link.session import Channel, handshake_key, session_key
from mrtrscope.link.tools import CALL, LIST, Tools
from mrtrscope.wire.events import HTTP_REQUEST, Event, Message, Signal

SESSIONS, CLIENTS = 64, 256
DECLARED = ("elicitation", "sampling", "roots")
COMPLETE = "completion/complete"
BURST, BURST_WITHIN = 21, 2_000_000
CHANGES = {announcement for _, _, announcement in LISTS.values()}


class Offers:
    """Tools, lists and addresses of all channels."""

    def __init__(self, memory: Memory) -> None:
        self._tools = Tools(memory)
        self._listings = Listings(memory)
        self._addresses = Addresses(memory)

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A request of either side was linked."""
        method = exchange.method
        if exchange.dir == "s2c":
            if method == ELICITATION:
                self._addresses.asked(exchange, exchange.request, exchange.request.params)
        elif method in MRTR_METHODS:
            if method == CALL:
                tool = self._tools.called(exchange)
                if tool is not None and tool.t < run_of(channel, exchange).since:
                    tool = None  # of the server that was here before
                exchange.tool = tool
                if tool is not None and (tool.definition.annotations or tool.definition.refs):
                    remark(exchange, "special")
            if exchange.era == MODERN:
                _note_declared(channel, exchange)
            ask = exchange.link.ask if exchange.link is not None else None
            if ask is not None and type(exchange.answers) is dict:
                _note_modes(channel, exchange, ask, exchange.answers)
                for key, question in ask.questions.items():
                    if type(question) is dict and key in exchange.answers:
                        self._addresses.answered(question.get("params"), exchange.answers[key])
        elif method in LISTS:
            self._listings.requested(exchange)
        elif method == COMPLETE:
            _note_completing(channel, exchange)

    def answered(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        """The first final answer to a request of either side."""
        if answer.kind != "response":
            return
        method = exchange.method
        if exchange.dir == "s2c":
            if method == ELICITATION:
                self._addresses.answered(exchange.request.params, answer.result)
        elif exchange.ask is not None:
            _note_modes(channel, exchange, exchange.ask, None)
            for question in exchange.ask.questions.values():
                if type(question) is dict and question.get("method") == ELICITATION:
                    self._addresses.asked(exchange, answer, question.get("params"))
        elif method in LISTS:
            self._listings.answered(exchange, answer, channel.facts)
            if method == LIST:
                refs = self._tools.listed(exchange, answer)
                self._addresses.referred(exchange, answer, refs)
        elif method == "initialize":
            _note_handshake(channel, exchange, answer)

    def heard(self, event: Event) -> None:
        """A notification or a signal."""
        if type(event) is Signal:
            if event.what == HTTP_REQUEST and event.http is not None:
                self._addresses.fetched(event.http)
        elif type(event) is Message and event.method in CHANGES:
            self._listings.announced(event)


def offered(channel: Channel, exchange: Exchange) -> dict[str, Any] | None:
    """The capabilities that the server advertised last to whoever sent this request; None when that was not seen."""
    if exchange.era == MODERN:
        return advertised(channel, exchange)
    sessions = channel.facts.get("handshakes")
    if exchange.era != LEGACY or sessions is None:
        return None
    found: dict[str, Any] | None = sessions.get(session_key(exchange.request).hex())
    return found


def _note_handshake(channel: Channel, exchange: Exchange, answer: Message) -> None:
    capabilities, key = answer.result.get("capabilities"), handshake_key(exchange)
    if type(capabilities) is not dict:
        return
    sessions = channel.facts.setdefault("handshakes", {})
    sessions.pop(key.hex(), None)
    sessions[key.hex()] = capabilities
    if len(sessions) > SESSIONS:
        del sessions[next(iter(sessions))]


def _note_modes(channel: Channel, exchange: Exchange, ask: Ask, answers: dict[str, Any] | None) -> None:
    """Count forms that say their mode, and those that do not: asked (no answers yet), or answered."""
    for key, question in ask.questions.items():
        params = (
            question.get("params")
            if type(question) is dict and question.get("method") == ELICITATION
            else None
        )
        if type(params) is not dict or params.get("mode", "form") != "form":
            continue
        clients = channel.facts.setdefault("modes", {})
        row = clients.setdefault(exchange.client.peer, {"form": [0, 0], "absent": [0, 0], "at": None})
        counts = row["form" if "mode" in params else "absent"]
        if answers is None:
            counts[0] += 1
            row["at"] = exchange.answer if "mode" not in params else row["at"]
        elif key in answers:
            counts[1] += 1
        if len(clients) > CLIENTS:
            del clients[next(iter(clients))]


def _note_completing(channel: Channel, exchange: Exchange) -> None:
    """Count requests for completions of one argument; a burst is remarked once and then counted anew."""
    params = exchange.request.params
    argument = params.get("argument")
    name = argument.get("name") if type(argument) is dict else None
    what = digest(exchange.client.peer, canonical([params.get("ref"), name])).hex()
    asked = channel.facts.setdefault("completing", {})
    times = [*asked.pop(what, []), exchange.t][-BURST:]
    if len(times) == BURST and times[-1] - times[0] <= BURST_WITHIN:
        remark(exchange, "burst", BURST)
        times = []
    asked[what] = times
    if len(asked) > SESSIONS:
        del asked[next(iter(asked))]


def _note_declared(channel: Channel, exchange: Exchange) -> None:
    """Count how often a client, certainly one and the same, declares a capability and then does not."""
    capabilities = exchange.capabilities
    if capabilities is None:
        return
    now = ("elicitation" in capabilities) + 2 * ("sampling" in capabilities) + 4 * ("roots" in capabilities)
    clients = channel.facts.get("declared")
    if clients is None:
        clients = channel.facts["declared"] = {}
    client = exchange.client
    row = clients.get(client.peer)
    if row is None or row[4] != client.info:
        clients[client.peer] = [now, 0, 0, 0, client.info]
        if len(clients) > CLIENTS:
            del clients[next(iter(clients))]
    elif row[0] != now:
        changed, row[0] = row[0] ^ now, now
        for bit, name in enumerate(DECLARED):
            if changed >> bit & 1:
                row[bit + 1] += 1
                if row[bit + 1] == 2:
                    flips = exchange.remarks.get("flips", []) if exchange.remarks is not None else []
                    remark(exchange, "flips", [*flips, name])
