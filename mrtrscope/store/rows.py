"""What becomes a row: messages, events, exchanges, operations and findings as tuples in the order of the columns."""

from __future__ import annotations

from typing import Any

from mrtrscope.frames import ENDED
from mrtrscope.link.facts import Exchange, Link, Operation
from mrtrscope.rules.context import Finding
from mrtrscope.store.names import MessageIds
from mrtrscope.store.text import plain, to_json
from mrtrscope.wire import events as wire
from mrtrscope.wire.events import Event, Message, NonMessage, Signal

Row = tuple[Any, ...]
Where = tuple[int, int, int]  # journal, channel, client

PREVIEW = 200  # characters of other people's text that an event row keeps

# Among the oddities of a message that was changed on its way, by a person at the proxy.
EDITED_MARK = '["edited",""]'

# Members of a signal's detail that a row keeps; the rest is read back from the journal when somebody looks.
KEPT = {
    wire.HTTP_UNREADABLE: ("bytes",),
    wire.SSE_EVENT: ("event", "retry"),
    wire.SSE_UNDELIVERED: ("size",),
    wire.LANE_END: ("lane", "by", "error"),
    wire.EDITED: ("keys",),
    wire.EXIT: ENDED,
    wire.GAP: ("bytes", "frames", "why"),
    wire.HTTP_REQUEST_END: ("size",),
}


def place_of(place: dict[str, int] | None) -> tuple[int | None, int | None, int | None]:
    """Line, flow and event of a place in a transcript."""
    if place is None:
        return (None, None, None)
    return (place.get("line"), place.get("flow"), place.get("event"))


def message_row(
    message: Message, id: int, rank: int, exchange: int | None, operation: int | None, where: Where
) -> Row:
    journal, channel, client = where
    http, method, id_text, frames = message.http, message.method, message.id_text, message.frames
    line, flow, event = (None, None, None) if message.place is None else place_of(message.place)
    return (
        id, rank, journal, message.offset, message.part, message.t, channel, client,
        message.dir, message.lane, message.kind,
        id_text if id_text is None or (len(id_text) < 40 and id_text.isascii()) else plain(id_text),
        method if method is None or (len(method) < 40 and method.isascii()) else plain(method),
        exchange, operation,
        int(frames[0].rpartition(":")[2]) if len(frames) == 1 else " ".join(f.rpartition(":")[2] for f in frames),
        len(message.raw), to_json(message.oddities) if message.oddities else None, line, flow, event,
        None if http is None else http.number,
        None if http is None or message.dir == "c2s" else http.status,
    )  # fmt: skip


def event_row(event: Event, id: int, rank: int, where: Where) -> Row:
    journal, channel, client = where
    line, flow, number = place_of(event.place)
    what, detail, counts, size = "non-message", None, 0, 0
    if isinstance(event, NonMessage):
        detail, counts, size = to_json({"why": event.why}), int(event.counts), event.size
    elif isinstance(event, Signal):
        what = event.what
        kept = _detail(event)
        detail = to_json(kept) if kept else None
        if what == wire.STDERR:
            size = len(str(event.detail.get("text", "")))
    return (
        id, rank, journal, event.offset, event.part, event.t, channel, client, event.dir, event.lane, what, detail,
        counts, size, line, flow, number, None if event.http is None else event.http.number,
    )  # fmt: skip


def _detail(signal: Signal) -> dict[str, Any]:
    """What a row says of a signal: no header values, no query, no text of the peers beyond a few words."""
    http = signal.http
    if signal.what == wire.HTTP_REQUEST and http is not None:
        return {"method": plain(http.method, PREVIEW), "url": plain(http.url.partition("?")[0], PREVIEW)}
    if signal.what == wire.HTTP_RESPONSE and http is not None:
        return {"status": http.status, "type": plain(http.response_header("content-type") or "", PREVIEW)}
    if signal.what == wire.HTTP_END and http is not None:
        end = {"by": http.closed_by, "error": plain(http.error, PREVIEW), "ours": http.ours}
        return {key: value for key, value in end.items() if value}
    kept = KEPT.get(signal.what, ())
    return {key: _short(value) for key, value in signal.detail.items() if key in kept}


def _short(value: Any) -> Any:
    return plain(value, PREVIEW) if isinstance(value, str) else value


def exchange_row(exchange: Exchange, request: int, ids: MessageIds) -> Row:
    answer, cancel, link, ask, get = exchange.answer, exchange.cancel, exchange.link, exchange.ask, ids.get
    target = exchange.target
    return (
        request, get(exchange.operation.key),
        None if answer is None else get(answer.key),
        None if cancel is None else get(cancel.key),
        exchange.state, exchange.request.t, exchange.t_end, exchange.dir, plain(exchange.method),
        target if len(target) < 200 and target.isascii() else plain(target),
        exchange.era, plain(exchange.version),
        None if ask is None else to_json([plain(name, PREVIEW) for name in ask.questions][:256]),
        *((None,) * 6 if link is None else link_columns(link, ids)), exchange.part or None,
        None if answer is None else _tool_error(answer),
    )  # fmt: skip


def _tool_error(answer: Message) -> int | None:
    """1 for a result that says isError, also for that of a task, which stands one deeper."""
    result = answer.result
    inner = result.get("result")
    return (
        1 if result.get("isError") is True or (type(inner) is dict and inner.get("isError") is True) else None
    )


def link_columns(link: Link, ids: MessageIds) -> Row:
    differences = [[d.what, plain(d.text)] for d in link.differences]
    return (
        link.grade,
        None if link.to is None else ids.get(link.to),
        " ".join(link.evidence),
        ids.places(link.candidates),
        link.total,
        to_json(differences) if differences else None,
    )


def operation_row(operation: Operation, id: int, rank: int, channel: int, ids: MessageIds) -> Row:
    more = operation.more
    inside = [more[name]["in"] if more is not None and name in more else "" for name in ("within", "hop")]
    return (
        id, rank, channel, operation.kind, plain(operation.method), plain(operation.target), operation.outcome,
        operation.t, operation.t_end, operation.server, operation.waiting, operation.count,
        *map(ids.get, inside), None if more is None else to_json(more),
    )  # fmt: skip


def finding_row(finding: Finding, at: tuple[int, int, int], operation: int | None, channel: int) -> Row:
    return (
        finding.id, finding.rule, finding.level, finding.keyword, finding.party, finding.at, *at,
        to_json(list(finding.also)), operation, channel, finding.t, _json(finding.saw), _json(finding.expected),
        plain(finding.text), plain(finding.path), finding.because, int(finding.provisional), *place_of(finding.place),
    )  # fmt: skip


def _json(value: Any) -> str | None:
    return None if value is None else to_json(value)
