"""Takes the events of the wire in order of time and says what each one is to what went before.

For every event `feed` calls the sink it was given::

    sink.message(message, role, exchange, operation key)    role: see `rules.registry`, "" where no rule applies
    sink.event(event, exchange)                             non-messages and signals
    sink.line(event)                                        a line of stdio that is no message, once it can be judged
    sink.changed(exchange)                                  new or changed; with it its operation
    sink.settled(operation)                                 came to its end, or will no longer be looked at
"""

from __future__ import annotations

from mrtrscope.link import listens, notices, pairing, servers, tried
from mrtrscope.link.exchanges import asked_by_server, begin
from mrtrscope.link.facts import A2A, LEGACY, MODERN, Exchange, Operation
from mrtrscope.link.hops import Hops
from mrtrscope.link.memory import Memory
from mrtrscope.link.nested import Nested
from mrtrscope.link.operations import Operations
from mrtrscope.link.pairing import ASKED, CANCEL, CUT, ERROR, INPUT_REQUIRED, NEXT, RESULT, WAITING, Pending
from mrtrscope.link.progress import follow
from mrtrscope.link.remarks import remark, undeclared
from mrtrscope.link.retries import Retries
from mrtrscope.link.session import Channel, Sessions, scope_of
from mrtrscope.link.shapes import note_shape
from mrtrscope.link.sink import Sink
from mrtrscope.link.statuses import related
from mrtrscope.link.stdio import Stdio
from mrtrscope.link.strangers import Strangers
from mrtrscope.link.untyped import note_poll, note_untyped
from mrtrscope.link.versions import Versions
from mrtrscope.link.watchers import Watchers
from mrtrscope.link.willingness import note_answered, note_asked
from mrtrscope.wire import events as ev
from mrtrscope.wire.events import Event, HttpExchange, Message, NonMessage, Signal
from mrtrscope.wire.jsonrpc import id_text

NOTES = 256  # messages on the stream of one exchange that are kept with it
EXTRAS = 16

REQUEST_ROLE, RESULT_ROLE, FAULT_ROLE, EXTRA_ROLE = "request", "result", "fault", "extra"
STRAY_ROLE, NOTIFICATION_ROLE, INVALID_ROLE = "stray", "notification", "invalid"


class Linker:
    """Pairing, eras, sessions and retries, joined."""

    def __init__(self, memory: Memory, salt: bytes, sink: Sink) -> None:
        self._sink = sink
        self.sessions = Sessions(memory, salt)
        self.pending = Pending(memory)
        self.retries = Retries(memory)
        self.strangers = Strangers(memory, self.retries)
        self.operations = Operations(memory, self.retries)
        self.nested = Nested(self.pending)
        self.hops = Hops()
        self.versions = Versions()
        self.watchers = Watchers(memory, self.sessions)
        self.stdio = Stdio(self.sessions, sink)
        self._memory = memory
        self._gapped: dict[str, bool] = {}  # peers, channels: something is missing there
        self.now = 0

    def feed(self, event: Event) -> None:
        """Take one event, in order of time."""
        if event.t > self.now:
            self.now = event.t
        if type(event) is Message:
            self._message(event)
        elif type(event) is Signal:
            self._signal(event)
        elif type(event) is NonMessage:
            if event.http is not None:
                self.watchers.heard(event, None)
            if event.why in notices.UNREAD:
                self._gapped[event.peer.id] = self._gapped[event.channel] = True
            self._sink.event(event, self._of_stream(event))
            if event.http is None:
                self.stdio.text(event)
        if due := self.operations.overdue(self.now):
            self._given_up(due)

    def channel(self, event: Event) -> Channel:
        """The facts of the channel that an event belongs to."""
        return self.sessions.of(event)

    # -- messages

    def _message(self, message: Message) -> None:
        kind = message.kind
        if message.http is None:
            self.stdio.message(message)
        elif message.dir == "c2s":
            self.watchers.posted(message)
        else:
            self.watchers.streamed(message)
        if kind == ev.REQUEST:
            self._request(message)
        elif kind in (ev.RESPONSE, ev.ERROR):
            if message.dir == "c2s":
                self._answer_to_server(message)
            else:
                self._answer(message)
        elif kind == ev.NOTIFICATION:
            self._notification(message)
        else:
            self._attach(message, INVALID_ROLE, self._of_stream(message))

    def _request(self, message: Message) -> None:
        if message.id_text is None or message.id is None:
            # Nothing can answer a null id, so there is no exchange; the rule about the id sees the message itself.
            self._sink.message(message, "", None, "")
            return
        exchange, channel = begin(message), self.channel(message)
        if message.dir == "c2s":
            declared = self.sessions.declared(message)
            exchange.era, exchange.version = declared.era, declared.version
            exchange.capabilities = declared.capabilities
            exchange.client = self.sessions.client(message, declared)
            if not exchange.method.startswith("tasks/"):
                exchange.link = self.retries.link(message.channel, exchange)
                exchange.stranger = self.strangers.of(message.channel, exchange)
                exchange.twin = self.strangers.twin(exchange)
            else:
                note_poll(self._memory, exchange)
        else:
            asked_by_server(exchange, self._of_stream(message), self.sessions, channel)
        scope = scope_of(message.peer, message.channel, message.http)
        twin = self.pending.waiting(scope, exchange.dir, message.id_text) if message.http is None else None
        self.operations.join(exchange, twin)
        self.pending.add(scope, exchange)
        if message.dir == "s2c":
            task = self.operations.longs.of(message, "c2s", related(message))
            call = self.nested.asked(exchange, scope, self._of_stream(message), task)
            self._tell(call, *self.hops.asked(exchange, call))
        else:
            self._tell(*self.hops.requested(exchange))
            tried.requested(channel, exchange)
            undeclared(exchange)
            if exchange.link is not None:
                note_answered(channel, exchange)
            self.versions.requested(exchange)
            if message.http is None:
                self.stdio.requested(exchange, self.pending.repeats(scope, exchange))
        self.watchers.requested(channel, exchange)
        self._sink.changed(exchange)
        self._sink.message(message, REQUEST_ROLE, exchange, exchange.operation.key)

    def _answer(self, message: Message) -> None:
        """A response or error from the server."""
        http, id_text = message.http, message.id_text
        scope = scope_of(message.peer, message.channel, http)
        exchange: Exchange | None
        if http is not None and http.key in self.pending.by_http:
            exchange, done = self.pending.posted(http.key, id_text)
            if exchange is None and done is None:
                if message.kind == ev.ERROR and (id_text is None or message.id is None):
                    self._refused(message, http)
                    return
                exchange = notices.elsewhere(self.pending, scope, message)
            if exchange is None:
                self._late(message, done, done.operation.key if done else "", scope)
                return
        elif http is not None:
            exchange = notices.elsewhere(self.pending, scope, message)
        else:
            exchange = self.pending.waiting(scope, "c2s", id_text)
        if exchange is None:
            past, operation = self.pending.past(scope, "c2s", id_text) if id_text is not None else (None, "")
            self._late(message, past, operation, scope)
            return
        self._settle_with(message, exchange, scope)

    def _refused(self, message: Message, http: HttpExchange) -> None:
        """An error without an id: nothing of what was posted was read, so it answers all of it."""
        waiting = [e for e in self.pending.by_http[http.key] if e.answer is None]
        if not waiting:
            self._late(message, None, "", "")
            return
        for exchange in waiting[1:]:
            self._end(exchange, ERROR, message)
        self._settle_with(message, waiting[0], "")

    def _settle_with(self, message: Message, exchange: Exchange, scope: str) -> None:
        """The first final answer of an exchange."""
        if message.kind == ev.ERROR:
            what, role = ERROR, FAULT_ROLE
        else:
            asks = exchange.era != A2A and message.result.get("resultType") == "input_required"
            what, role = (INPUT_REQUIRED if asks else RESULT), RESULT_ROLE
        channel = self.channel(message)
        settled = self._end(exchange, what, message, scope)
        if exchange.dir == "c2s" and exchange.state not in ("lost", "cancelled"):
            channel.modern += exchange.era == MODERN
            channel.legacy += exchange.era == LEGACY
            note_shape(channel, exchange)
            if exchange.era == MODERN:
                servers.note_answer(channel, exchange, message)
                self.versions.answered(exchange, message)
                if what == RESULT:
                    note_untyped(self._memory, exchange, message)
            if exchange.method == "initialize" and what == RESULT:
                channel.initialized += 1
                self.sessions.initialized(exchange)
        if exchange.state == ASKED and exchange.dir == "c2s":
            exchange.ask = self.operations.asks(exchange)
            self.strangers.file(message.channel, exchange.ask)
            note_asked(channel, exchange)
        if exchange.state not in ("lost", "cancelled"):
            self.watchers.answered(channel, exchange, message)
        self._sink.message(message, role, exchange, exchange.operation.key)
        if settled:
            self._sink.settled(exchange.operation)

    def _end(self, exchange: Exchange, what: str, answer: Message | None, scope: str = "") -> bool:
        """Move an exchange on as `NEXT` says; True when its operation is settled by that."""
        before, lost = exchange.state, exchange.t_end or 0
        exchange.state = NEXT.get((before, what), before)
        t = answer.t if answer is not None else self.now
        if answer is not None:
            exchange.answer = answer
        exchange.t_end = t
        if exchange.http is None and what != CUT:
            self.stdio.over(exchange)
        scope = scope or scope_of(exchange.peer, exchange.request.channel, exchange.http)
        if before == WAITING:
            # Lost, a 2025-11-25 stream may be resumed: it stays where an answer can find it.
            if exchange.state != "lost" or exchange.era != LEGACY or exchange.http is None:
                self.pending.finished(scope, exchange)
            settled = self.operations.ended(exchange, t)
        elif before == "lost" and answer is not None:
            self.pending.finished(scope, exchange)
            settled = self.operations.answered_after_all(exchange, lost, t)
        else:
            settled = False
        channel = self.channel(exchange.request)
        if exchange.dir == "s2c":
            self._tell(self.hops.answered(exchange, self.nested.ended(exchange, t)))
        else:
            self._tell(*self.hops.ended(exchange))
            tried.ended(channel, exchange)
        self.watchers.ended(channel, exchange)
        self._sink.changed(exchange)
        return settled

    def _tell(self, *others: Exchange | None) -> None:
        """Other exchanges than the one at hand are no longer what they were."""
        for other in filter(None, others):
            self._sink.changed(other)

    def _late(self, message: Message, exchange: Exchange | None, operation: str, scope: str) -> None:
        """A response to something that was answered before, or that nobody asked."""
        if exchange is not None:
            if exchange.state == "cancelled" and exchange.answer is None:
                exchange.answer = message  # too late to count, but it is the answer
            elif len(exchange.extra) < EXTRAS:
                exchange.extra.append(message)
            self._sink.changed(exchange)
            first = FAULT_ROLE if message.kind == ev.ERROR else RESULT_ROLE
            role = EXTRA_ROLE if exchange.answer is not message else first
            settled = self.operations.longs.followed(exchange, message)
            self.watchers.followed(exchange, message)
            self._sink.message(message, role, exchange, exchange.operation.key)
            if settled:
                self._sink.settled(exchange.operation)
        elif operation:
            self._sink.message(message, EXTRA_ROLE, None, operation)
        else:
            about = notices.posted(self.pending, message)
            if message.http is None and message.dir == "s2c" and message.id_text in (None, "null"):
                self.stdio.process(message).answered_without_id()
            self._sink.message(
                message, "" if notices.may_be_missing(message, self._gapped) else STRAY_ROLE, about, ""
            )

    def _answer_to_server(self, message: Message) -> None:
        """A response or error from the client: the old way of answering a server's question."""
        scope = scope_of(message.peer, message.channel, message.http)
        exchange = self.pending.waiting(scope, "s2c", message.id_text)
        if exchange is not None:
            settled = self._end(exchange, ERROR if message.kind == ev.ERROR else RESULT, message, scope)
            self.watchers.answered(self.channel(message), exchange, message)
            role = FAULT_ROLE if message.kind == ev.ERROR else RESULT_ROLE
            self._sink.message(message, role, exchange, exchange.operation.key)
            if settled:
                self._sink.settled(exchange.operation)
            return
        past, operation = self.pending.past(scope, "s2c", message.id_text)
        self._late(message, past, operation, scope)

    # -- notifications

    def _notification(self, message: Message) -> None:
        scope = scope_of(message.peer, message.channel, message.http)
        if message.method == "notifications/cancelled":
            self._cancelled(message, scope)
            return
        exchange, operation = notices.owner(self.pending, scope, message, self._of_stream(message))
        if exchange is not None and message.method == "notifications/progress":
            follow(exchange, message)
        self.watchers.told(self.channel(message), message, exchange)
        if listens.told(message, exchange):
            self._tell(exchange)
        about = self.operations.longs.told(message)
        if about is None:
            self._attach(message, NOTIFICATION_ROLE, exchange, operation)
            return
        task, settled = about
        self._tell(task.last)
        self._attach(message, NOTIFICATION_ROLE, exchange, task.key)
        if settled:
            self._sink.settled(task)

    def _cancelled(self, message: Message, scope: str) -> None:
        """notifications/cancelled names a request of its own sender; a server's may also name a subscription."""
        exchange = notices.named(self.pending, scope, message, self._of_stream(message))
        if exchange is not None and not notices.cancels(message, exchange):
            self._attach(message, NOTIFICATION_ROLE, exchange)
            return
        if exchange is None:
            named = id_text(message.params.get("requestId"))
            past, operation = self.pending.past(scope, message.dir, named)
            if message.http is None and message.dir == "c2s":
                self.stdio.process(message).cancelled_in_vain(message, named)
            self._attach(message, NOTIFICATION_ROLE, past, operation)
            return
        exchange.cancel = message
        if message.http is None or exchange.era == LEGACY:
            remark(exchange, "cancelled")
        settled = self._end(exchange, CANCEL, None, scope)
        self._attach(message, NOTIFICATION_ROLE, exchange)
        if settled:
            self._sink.settled(exchange.operation)

    def _attach(self, message: Message, role: str, exchange: Exchange | None, operation: str = "") -> None:
        if exchange is not None:
            exchange.noted += 1
            if len(exchange.notes) < NOTES:
                exchange.notes.append(message)
            operation = operation or exchange.operation.key
        self._sink.message(message, role, exchange, operation)

    def _of_stream(self, event: Event) -> Exchange | None:
        """The request on whose HTTP answer stream something came."""
        if event.http is None or event.dir != "s2c":
            return None
        posted = self.pending.by_http.get(event.http.key)
        return posted[0] if posted else None

    # -- signals

    def _signal(self, signal: Signal) -> None:
        http = signal.http
        posted = self.pending.by_http.get(http.key) if http is not None else None
        exchange = posted[0] if posted else None
        self.watchers.heard(signal, exchange)
        if signal.peer.transport == "stdio":
            self.stdio.signal(signal)
        self._sink.event(signal, exchange)
        if signal.what == ev.HTTP_END and http is not None:
            self._http_ended(http)
        elif signal.what == ev.EXIT or (signal.what == ev.LANE_END and signal.detail.get("lane") == "o"):
            self._all_ended(signal.peer.id)
            self._given_up(self.operations.peer_ended(signal.peer.id))
        elif signal.what == ev.LANE_END and signal.detail.get("lane") == "i":
            self._given_up(self.operations.peer_ended(signal.peer.id))
        elif signal.what == ev.GAP:
            self._gapped[signal.peer.id] = self._gapped[signal.channel] = True

    def _http_ended(self, http: HttpExchange) -> None:
        if (pair := http.facts.get("pair")) == http.key:
            self._all_ended(scope_of(http.peer, http.channel, http))
        elif pair is not None and (http.status or 0) in range(200, 300):
            self.pending.by_http.pop(http.key, None)  # the answer comes on the stream of the session
        for exchange in self.pending.by_http.pop(http.key, ()):
            settled = exchange.state == WAITING and self._end(exchange, pairing.end_of(http), None)
            if exchange.era == MODERN and exchange.state == "failed" and exchange.answer is None:
                servers.note_refusal(self.sessions.channel(http.channel, "http"), exchange)
                self.versions.failed(exchange)
            self.operations.refused(exchange)
            if settled:
                self._sink.settled(exchange.operation)

    def _all_ended(self, scope: str) -> None:
        """Nobody is left who would answer what waits in a scope."""
        waiting = [self.pending.by_id.get(scope + dir, {}) for dir in ("c2s", "s2c")]
        for exchange in [one for ids in waiting for same in ids.values() for one in same]:
            if self._end(exchange, self.stdio.cut_off(exchange), None):
                self._sink.settled(exchange.operation)

    def _given_up(self, operations: list[Operation]) -> None:
        """Nobody goes on with these."""
        for operation in operations:
            self._tell(*self.hops.given_up(operation, self.now))
            self._sink.settled(operation)
