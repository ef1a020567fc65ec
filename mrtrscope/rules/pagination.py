"""server/utilities/pagination: cursors are strings that the server made and the client does not touch."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import MODERN, Exchange
from mrtrscope.link.listings import LISTS, issued
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import Channel
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.listings import EXPLAINED
from mrtrscope.rules.registry import (
    BOTH,
    CHANNEL_PRESENT,
    CLIENT,
    EITHER,
    FAULT,
    MUST,
    MUST_NOT,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/utilities/pagination"
ITEM = PAGE + "#implementation-guidelines item "
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
FRESH = 300_000_000  # µs within which an issued cursor ought to work
GRACE = 1_000_000


@rule("pagination/cursor-opaque", level=MUST, fault=CLIENT, on=REMARKED, exercised=REQUEST, methods=LISTS,
      dirs=FROM_CLIENT, eras=BOTH, source=ITEM + "3")  # fmt: skip
def cursor_was_made_up(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client sends a cursor that the server did not issue for this list.

    Why it matters: only the server knows what a cursor means; a changed one leads anywhere.
    Cannot tell: a cursor from before the capture. So the client must have begun this list here, and over HTTP the
    cursor must be one that was issued for another list, or be plainly made from one that was issued.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    found = remarks.get("cursor") if remarks is not None and request.kind == "request" else None
    if found is None:
        return
    like, cursor = found["like"], request.params.get("cursor")
    if like is not None:
        text = f"probably an issued cursor came back changed: {like[1]}"
    elif found["of"]:
        text = f"the cursor was issued for {found['of']}"
    else:
        text = "the cursor was never issued"
    yield ctx.finding(
        request, saw=cursor, also=[like[0] if like is not None else None], path="/params/cursor", text=text
    )


@rule("pagination/cursor-type", level=MUST, fault=EITHER, on=(REQUEST, RESULT), methods=LISTS, eras=BOTH,
      source="schema/2026-07-28/schema.ts Cursor, PaginatedResult")  # fmt: skip
def cursor_is_no_string(message: Message, ctx: Context) -> Iterator[Finding]:
    """cursor or nextCursor is no string.

    Why it matters: a client that looks whether the member is there goes on with null for a cursor, for ever.
    Cannot tell: the page speaks of a value that is not null; the schema knows strings alone, and that decides.
    """
    asks = message.kind == "request"
    name = "cursor" if asks else "nextCursor"
    value = (message.params if asks else message.result).get(name, ABSENT)
    if value is ABSENT:
        return
    ctx.tested()
    if type(value) is not str:
        end = "; the end of a list is said by leaving it out" if value is None and not asks else ""
        yield ctx.finding(message, saw=value, expected="a string", path=f"/{'params' if asks else 'result'}/{name}",
                          text=f"{name} is {'null' if value is None else 'no string'}{end}",
                          fault="client" if message.dir == "c2s" else "server")  # fmt: skip


@rule("pagination/empty-cursor-not-end", level=MUST_NOT, fault=CLIENT, on=CHANNEL_PRESENT, eras=BOTH,
      source=ITEM + "3")  # fmt: skip
def stops_at_an_empty_cursor(channel: Channel, ctx: Context) -> Iterator[Finding]:
    """A client stops at a nextCursor that is an empty string.

    Why it matters: an empty string is a cursor like any other, and the rest of the list is never read.
    Cannot tell: why a client stops; one that had followed every other cursor of this list probably took it for the end.
    Before 2026-07-28 it is only said that the end is a missing nextCursor, which clients should know.
    """
    for stand in channel.facts.get("empty_cursor", {}).values():
        at: Message = stand["at"]
        ctx.tested()
        if channel.last - at.t > GRACE:
            yield ctx.finding(at, saw="", also=stand["pages"][:-1], path="/result/nextCursor",
                              text="probably the client took an empty nextCursor for the end of the list",
                              level=None if ctx.era == MODERN else "should")  # fmt: skip


@rule("pagination/invalid-cursor-code", level=SHOULD, fault=SERVER, on=(FAULT, RESULT), methods=LISTS, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#error-handling")  # fmt: skip
def unknown_cursor_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A cursor that was never issued is refused with another code than -32602, or gets the first page.

    Why it matters: a client that sees -32602 begins the list anew; a first page in place of an error goes unnoticed.
    Cannot tell: a cursor from before the capture (see pagination/cursor-opaque); a first page is only noted.
    """
    exchange = ctx.exchange
    remarks = exchange.remarks if exchange is not None else None
    if exchange is None or remarks is None or "cursor" not in remarks:
        return
    ctx.tested()
    code = said.code(answer)
    if answer.kind == "error":
        if code != -32602 and code not in EXPLAINED:
            yield ctx.finding(answer, saw=code, expected=-32602, also=[exchange.request], path="/error/code",
                              text=f"a cursor that was never issued is refused with {code}")  # fmt: skip
    elif remarks.get("first_page"):
        yield ctx.finding(answer, saw="the first page", expected=-32602, level="info",
                          also=[exchange.request, remarks["first_page"]],
                          text="a cursor that was never issued is answered with the first page")  # fmt: skip


@rule("pagination/stable-cursor", level=SHOULD, fault=SERVER, on=(FAULT, RESULT), methods=LISTS, dirs=FROM_SERVER,
      eras=BOTH, source=ITEM + "1")  # fmt: skip
def cursor_does_not_last(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A cursor is refused soon after it was issued, or leads to itself.

    Why it matters: the list cannot be read to its end, or is read for ever.
    Cannot tell: within five minutes only, and only when the refusal says -32602; a list that changed may explain it.
    """
    exchange = ctx.exchange
    cursor = exchange.request.params.get("cursor") if exchange is not None else None
    if exchange is None or type(cursor) is not str:
        return
    if answer.kind == "response":
        following = answer.result.get("nextCursor")
        if type(following) is str:
            ctx.tested()
            if following == cursor:
                yield ctx.finding(answer, saw=following, also=[exchange.request], path="/result/nextCursor",
                                  text="nextCursor is the cursor of the request")  # fmt: skip
        return
    found = issued(ctx.memory, exchange, cursor)
    if found is None or not found["client"].surely_same(exchange.client):
        return
    if found["t"] < run_of(ctx.channel, answer).since:
        return  # another server issued it
    ctx.tested()
    age = exchange.t - found["t"]
    if said.code(answer) == -32602 and age < FRESH and _about_cursor(answer, exchange):
        yield ctx.finding(answer, saw=said.words(answer), also=[found["key"], exchange.request], path="/error/code",
                          text=f"a cursor is refused {age / 1e6:.1f} s after it was issued")  # fmt: skip


def _about_cursor(answer: Message, exchange: Exchange) -> bool:
    """Other parameters of the request could be wrong too; a list request has hardly any."""
    return exchange.request.params.keys() <= {"cursor", "_meta"} or "cursor" in said.words(answer).lower()
