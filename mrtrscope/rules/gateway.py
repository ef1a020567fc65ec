"""Notes on gateways, ours: what host and server cannot see of each other, where one capture holds both sides.

Those that need both sides read what `link.gateways` remarked; the others are about calls of a host through what is
known to be a gateway (remark `fronts`), so that nothing is said here of an ordinary server.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from mrtrscope.link.facts import EXACT, INFERRED, Exchange, Operation
from mrtrscope.link.legacy import name_of
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    CLIENT,
    EITHER,
    NON_MESSAGE,
    PRESENT,
    REMARKED,
    SERVER,
    rule,
)
from mrtrscope.wire.events import Message, NonMessage

SOURCE = "ours: gateways"
GRACE = 5_000_000  # as in `link.gateways`

_HEADER = re.compile(r"\b(?:mcp|x)(?:-[a-z0-9]+)+\b|\blast-event-id\b", re.I)
_WANTED = re.compile(
    r"missing|require|absent|must|expected|without|not (?:found|present|set|provided|given)|no ", re.I
)
_KNOWN = frozenset({"mcp-protocol-version", "mcp-method", "mcp-name"})  # and Mcp-Param-…
_SESSION = re.compile(r"session", re.I)
_PARTS = re.compile(r"[.:~|]")
STATE_LIMIT, ID_AT_LEAST = (
    65536,
    8,
)  # characters of a state that are read; shorter ids may stand there by chance


@rule("gateway/question-reached-nobody", level=ADVISORY, fault=EITHER, on=REMARKED, eras=BOTH, source=SOURCE)
def question_reached_nobody(message: Message, ctx: Context) -> Iterator[Finding]:
    """A gateway asks nobody what its server asked.

    Why it matters: the server takes a word for its user's that no user gave, or the call fails for want of an answer
    that somebody could have given; the host never learns of the question.
    Cannot tell: unless the call is certainly made for one of a host whose traffic is in the same capture.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None:
        return
    host, question = exchange.remarks.get("unasked"), exchange.remarks.get("unpassed")
    if host is not None and message.dir == "c2s":
        ctx.tested()
        yield ctx.finding(
            message, also=(host,), saw="an answer", expected="the host is asked first", fault=CLIENT,
            text="the server's question is answered, and nobody downstream was asked",
        )  # fmt: skip
    if question is not None and message is exchange.answer:
        ctx.tested()
        yield ctx.finding(
            message, also=(question, exchange.request), saw="the end of the call", expected="the host is asked",
            fault=SERVER, path="end", text="the call ends while the server behind waits for an answer to its question",
        )  # fmt: skip


@rule("gateway/rounds-answered-at-once", level=ADVISORY, fault=SERVER, on=REMARKED, dirs=("s2c",), eras=BOTH,
      source=SOURCE)  # fmt: skip
def rounds_answered_at_once(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A gateway answers its server's rounds by itself until it gives up.

    Why it matters: the user is never asked, the server is asked over and over, and the call fails all the same.
    Cannot tell: unless the calls are certainly joined. At once means within 0.2 s of the question, each time.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or answer is not exchange.answer:
        return
    found = exchange.remarks.get("gave_up")
    if found is None:
        return
    ctx.tested()
    rounds, call = found
    yield ctx.finding(
        answer, also=(call, exchange.request), saw=f"{rounds} rounds", expected="the host is asked",
        text=f"{rounds} rounds of the server behind were answered at once, nobody was asked, and then it gave up",
    )  # fmt: skip


@rule(
    "gateway/question-timed-out",
    level=ADVISORY,
    fault=EITHER,
    on=REMARKED,
    dirs=("s2c",),
    eras=BOTH,
    source=SOURCE,
)
def question_timed_out(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server stops waiting for an answer, and the host hears nothing of it.

    Why it matters: the user was never asked, or answers in good faith what nobody waits for any more.
    Cannot tell: why the server went on; that its question stood open for a second or more and the call is over.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or answer is not exchange.answer:
        return
    question, late = exchange.remarks.get("timed_out"), exchange.remarks.get("too_late")
    if question is not None:
        ctx.tested()
        yield ctx.finding(
            answer, also=(question, exchange.request), saw="no answer", expected="the host is asked", fault=CLIENT,
            text="the server went on without an answer to its question, of which nobody downstream was told",
        )  # fmt: skip
    if late is not None:
        ctx.tested()
        yield ctx.finding(
            answer, also=(late, exchange.request), saw="a result", expected="word that the answer came too late",
            fault=SERVER, path="late",
            text="the server behind had stopped waiting for the answer, and the host is told nothing of it",
        )  # fmt: skip


@rule(
    "gateway/upstream-left-open",
    level=ADVISORY,
    fault=CLIENT,
    on=(REMARKED, PRESENT),
    eras=BOTH,
    source=SOURCE,
)
def upstream_left_open(subject: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """A gateway's call goes on after its host's has ended.

    Why it matters: the server works on for nobody, and what it does then is done.
    Cannot tell: unless the call is certainly made for one of a host whose traffic is in the same capture.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    if isinstance(subject, Operation):
        hop = (subject.more or {}).get("hop") or {}
        left = hop.get("left")
        if left is not None and exchange.state == "waiting" and ctx.channel.last - left > GRACE:
            ctx.tested()
            text = "the call that this was made for has ended, and this one is still under way"
            yield _open(exchange.request, ctx, ctx.channel.last - left, text, hop["in"])
        return
    outlived = exchange.remarks.get("outlived") if exchange.remarks is not None else None
    if outlived is None or subject is not exchange.answer:
        return
    ctx.tested()
    yield _open(subject, ctx, outlived, "had ended long before", exchange.request.key)


def _open(message: Message, ctx: Context, for_so_long: int, how: str, also: str) -> Finding:
    text = f"the call that this was made for {how}"
    if how != "had ended long before":
        text = "the call that this was made for has ended, and this is still under way"
    return ctx.finding(
        message,
        also=(also,),
        saw=f"{for_so_long / 1e6:.1f} s longer",
        expected="cancelled with it",
        text=text,
    )


@rule(
    "gateway/state-accepted-elsewhere",
    level=ADVISORY,
    fault=SERVER,
    on=REMARKED,
    dirs=("s2c",),
    source=SOURCE,
)
def state_accepted_elsewhere(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A gateway accepts the state of one call on another.

    Why it matters: what the user agreed to for one call opens another, at whatever server stands behind.
    Cannot tell: unless the call went through what is known to be a gateway; and whether the server behind, which
    never saw the state that the gateway made, would have minded.
    """
    exchange, link = ctx.exchange, ctx.link
    if exchange is None or not _fronts(exchange) or answer is not exchange.answer or link is None:
        return
    if link.ask is None or "requestState" not in exchange.request.params:
        return
    ctx.tested()
    found = [d for d in link.differences if d.what in ("state-moved", "arguments-changed")]
    if not found or not said.complete(answer):
        return
    moved = found[0].what == "state-moved"
    yield ctx.finding(
        answer, also=(exchange.request, link.ask.key), saw=f"{exchange.method} {exchange.target}".strip(),
        expected=f"{link.ask.method} {link.ask.target}".strip(), path=found[0].what,
        text="carried out with the state of another call" if moved else "carried out with the state of a call with "
        "other arguments",
    )  # fmt: skip


@rule("gateway/retry-wants-header", level=ADVISORY, fault=SERVER, on=(REMARKED, NON_MESSAGE), dirs=("s2c",),
      transports=frozenset({"http"}), source=SOURCE)  # fmt: skip
def retry_wants_header(refusal: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """A gateway refuses a retry for want of a header that this revision does not have.

    Why it matters: no client sends the header, so whatever asks through this gateway cannot be answered.
    Cannot tell: a refusal that names no header.
    """
    exchange = _refused_retry(refusal, ctx)
    if exchange is None or exchange.http is None:
        return
    ctx.tested()
    header = _demanded(_words(refusal), exchange)
    if header is not None:
        yield ctx.finding(
            refusal, also=(exchange.request,), saw=_words(refusal)[:300],
            expected="the retry judged by what it carries", path=header.lower(),
            text=f"the retry is refused for want of {header}, which this revision does not have",
        )  # fmt: skip


@rule("gateway/state-bound-to-session", level=ADVISORY, fault=SERVER, on=(REMARKED, NON_MESSAGE), dirs=("s2c",),
      transports=frozenset({"http"}), source=SOURCE)  # fmt: skip
def state_bound_to_session(answer: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """A gateway binds its state to a session id that the client need not keep.

    Why it matters: this revision has no sessions; a client that sends the retry without the id has lost what was asked.
    Cannot tell: unless the id can be read in the state, or a sound retry without the id is refused in words of a
    session, or by 404.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.http is None or not _fronts(exchange):
        return
    session = exchange.http.response_header("mcp-session-id")
    if isinstance(answer, Message) and answer is exchange.answer and exchange.state == "asked":
        if session is None:
            return
        ctx.tested()
        if len(session) >= ID_AT_LEAST and _holds(answer.result.get("requestState"), session):
            yield ctx.finding(
                answer, also=(exchange.request,), saw="the session id is in the state",
                expected="a state that needs none", path="/result/requestState",
                text="the state holds the session id that came with it",
            )  # fmt: skip
        return
    bound = (exchange.operation.more or {}).get("session")
    retry = _refused_retry(answer, ctx)
    if bound is None or retry is None:
        return
    mine = exchange.http.request_header("mcp-session-id")
    if mine is not None and name_of(exchange.request.channel, mine) == bound:
        return
    ctx.tested()
    words = _words(answer)
    if _demanded(words, exchange) is None and (exchange.http.status == 404 or _SESSION.search(words)):
        yield ctx.finding(
            answer, also=(exchange.request, ctx.link.to if ctx.link is not None else None),
            saw=words[:300] or f"HTTP {exchange.http.status}", expected="the retry judged by what it carries",
            path="retry", text="the retry is refused without the session id that came with the question",
        )  # fmt: skip


def _fronts(exchange: Exchange) -> bool:
    return exchange.remarks is not None and "fronts" in exchange.remarks


def _refused_retry(refusal: Message | NonMessage, ctx: Context) -> Exchange | None:
    """The sound retry that this refuses, in JSON-RPC or by HTTP alone; None when it is none."""
    exchange, link = ctx.exchange, ctx.link
    if exchange is None or not _fronts(exchange) or link is None or link.grade not in (EXACT, INFERRED):
        return None
    if link.differences or exchange.request.edited:
        return None
    if isinstance(refusal, Message):
        return exchange if refusal is exchange.answer and refusal.kind == "error" else None
    status = exchange.http.status if exchange.http is not None else None
    return exchange if status is not None and status in (400, 404, 409, 410, 412, 422, 428) else None


def _words(refusal: Message | NonMessage) -> str:
    if isinstance(refusal, Message):
        return said.words(refusal)
    return refusal.raw.decode("utf-8", "replace")[: said.LIMIT]


def _demanded(words: str, exchange: Exchange) -> str | None:
    """The header that a refusal names as missing, when the revision has none of that name and none was sent."""
    if not _WANTED.search(words) or exchange.http is None:
        return None
    for name in _HEADER.findall(words)[:16]:
        low = name.lower()
        if (
            low not in _KNOWN
            and not low.startswith("mcp-param-")
            and exchange.http.request_header(low) is None
        ):
            return str(name)
    return None


def _holds(state: object, session: str) -> bool:
    """Whether a session id can be read in a state: as it stands, or in one of its parts in base64."""
    if type(state) is not str or len(state) > STATE_LIMIT:
        return False
    wanted = session.encode("latin-1", "replace")
    return session in state or any(wanted in _plain(part) for part in _PARTS.split(state)[:16])


def _plain(part: str) -> bytes:
    try:
        text = part.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
