"""Messages as the report shows them: their text as it was sent, and the HTTP heads around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mrtrscope import model
from mrtrscope.store.bodies import fetch
from mrtrscope.store.reader import Store
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.spelled import rewritten
from mrtrscope.views.words import clock, size
from mrtrscope.wire.events import Event, HttpExchange, Message, NonMessage

MOST: Final = 200_000  # characters of one message; what is behind them is counted
HEADERS: Final = 100


def texts(rows: Mapping[str, model.Message], events: Mapping[str, Event], redact: Redactor) -> dict[str, str]:
    """The text of each message. What one of them gives away as a secret is hidden in all of them."""
    raw = {m: _text(event) for m in rows if (event := events.get(m)) is not None}
    before = redact.known_values
    made = {m: rewritten(text, redact) for m, text in raw.items()}
    if redact.known_values > before:
        made = {m: rewritten(text, redact) for m, text in raw.items()}
    return {m: visible(text, "\n\t") for m, text in made.items()}


def _text(event: Event) -> str:
    raw = event.raw if isinstance(event, Message | NonMessage) else b""
    return raw.decode("utf-8", "backslashreplace")


def shown(row: model.Message, text: str | None, event: Event | None, redact: Redactor) -> dict[str, Any]:
    """One message: t time, d direction, w what, s status, z size, o oddities, x text, more characters left out."""
    out: dict[str, Any] = {
        "t": clock(row.t), "d": row.dir, "w": visible(redact.text(words(row))), "z": size(row.size),
    }  # fmt: skip
    if row.status is not None:
        out["s"] = row.status
    if row.oddities:
        out["o"] = visible(", ".join(row.oddities))
    if text is not None:
        out["x"] = text[:MOST]
        if len(text) > MOST:
            out["more"] = len(text) - MOST
    if event is not None and event.http is not None:
        out["h"] = _heads(event.http, row.dir, redact)
    return out


def words(row: model.Message) -> str:
    """What a message is, in a few words."""
    if row.kind in ("response", "error"):
        return f"{'answer' if row.kind == 'response' else 'error'} to {row.id_text or 'nothing'}"
    return " ".join(filter(None, [row.kind, row.id_text, row.method, row.target]))


def _heads(http: HttpExchange, dir: str, redact: Redactor) -> list[Any]:
    """First line, then [name, value]: of the request for what the client sent, else of the answer."""
    if dir == "c2s":
        first, headers = f"{http.method} {redact.text(http.url)} {http.http}", http.request_headers
    else:
        first, headers = f"{http.response_http} {http.status} {http.reason}", http.response_headers
    return [
        visible(first.strip()[:2000]),
        *(
            [visible(name[:200]), visible(str(redact.named(name, value))[:4000])]
            for name, value in headers[:HEADERS]
        ),
    ]


def loose(store: Store, redact: Redactor, most: int) -> Iterator[dict[str, str]]:
    """What belongs to no operation: answers to nothing, notifications outside a stream, texts that are no message."""
    found = store.db.conn.execute(
        "select t, 'm' || m from messages where operation is null"
        " union all select t, 'f' || f from events where counts order by 1 limit ?", (most,),
    ).fetchall()  # fmt: skip
    events = fetch(store, (name for _, name in found))
    for t, name in found:
        event = events.get(name)
        text = rewritten(_text(event), redact) if event is not None else ""
        where = event.channel if event is not None else ""
        yield {
            "name": name, "t": clock(t / 1e6), "words": visible(redact.text(store.about(name))),
            "channel": visible(where), "text": visible(text[:MOST], "\n\t"),
        }  # fmt: skip
