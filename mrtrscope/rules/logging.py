"""server/utilities/logging: levels, and which log messages may be sent to whom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN, Exchange
from mrtrscope.link.logs import (
    LEVELS,
    LOG_LEVEL,
    MESSAGE,
    SET_LEVEL,
    levels_asked,
    rank,
    seconds_of_flood,
)
from mrtrscope.link.processes import DISCOVER, LISTEN
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import session_key
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ANY_ERA,
    BOTH,
    EITHER,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    RESULT,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.rules.secrets import credentials_in, secret_kind
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/utilities/logging"
PER_REQUEST = PAGE + "#per-request-log-level"
MESSAGES, FROM_SERVER = (MESSAGE,), ("s2c",)
FLOOD = 3  # seconds in a row with more than 100 messages
INVALID = -32602
STRINGS, LIMIT = 200, 4096

_PASSWORD = re.compile(
    r"\b(?:password|passwd|pwd|passphrase|secret|api[_-]?key|(?:access|refresh|auth)[_-]?token)[\"']?\s*[=:]\s*"
    r"[\"']?(?![\"'*<\[{x•]|null\b|none\b|true\b|false\b|undefined\b|redacted|hidden|\s)([^\s\"',;&]{4,})",
    re.I,
)
_PERSONAL = (
    ("an e-mail address", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b")),
    ("a home directory", re.compile(r"(?:/home/|/Users/|[A-Z]:\\Users\\)[^/\\\s\"']+")),
    (
        "a stack trace",
        re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$<>]+ ?\(.*:\d+(?::\d+)?\)", re.M),
    ),
    (
        "a private address",
        re.compile(
            r"(?<![\d.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\d.])"
        ),
    ),
)


@rule("logging/no-message-without-level", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, methods=MESSAGES,
      dirs=FROM_SERVER, source=PER_REQUEST)  # fmt: skip
def logs_unasked(message: Message, ctx: Context) -> Iterator[Finding]:
    """A log message comes for a request that did not ask for any.

    Why it matters: log messages are opt-in for each request; this client does not expect one, or pays for it.
    Cannot tell: on stdio, while any request that named a level is open, or was a second before; in a session of an
    earlier revision.
    """
    exchange = ctx.exchange
    if message.http is not None:
        if exchange is None or exchange.method == LISTEN:
            return  # subscriptions/no-request-scoped-notifications
        ctx.tested()
        if LOG_LEVEL not in exchange.request.meta:
            yield ctx.finding(
                message,
                saw=message.params.get("level"),
                expected=f"{LOG_LEVEL} in the request",
                also=[exchange.request],
            )
        return
    process = ctx.channel.processes.get(message.peer.id)
    if process is None or not process.known or process.handshake:
        return
    ctx.tested()
    if not levels_asked(ctx.channel, message):
        yield ctx.finding(
            message, saw=message.params.get("level"), expected=f"{LOG_LEVEL} in a request that is open"
        )


@rule("logging/level-threshold", level=SHOULD_NOT, fault=SERVER, on=NOTIFICATION, methods=MESSAGES, dirs=FROM_SERVER,
      source=PER_REQUEST)  # fmt: skip
def logs_below_the_level(message: Message, ctx: Context) -> Iterator[Finding]:
    """A log message is less severe than what the request asked for.

    Why it matters: the client asked to be spared it.
    Cannot tell: on stdio, which request it belongs to; the lowest level of those that are open counts.
    """
    got = rank(message.params.get("level"))
    if message.http is not None:
        exchange = ctx.exchange
        asked = [rank(exchange.request.meta.get(LOG_LEVEL))] if exchange is not None else []
    else:
        asked = levels_asked(ctx.channel, message)
    if got < 0 or not asked or min(asked) < 0:
        return
    ctx.tested()
    if got < min(asked):
        yield ctx.finding(
            message, saw=LEVELS[got], expected=f"{LEVELS[min(asked)]} or above", path="/params/level"
        )


@rule("logging/right-stream", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, methods=MESSAGES, dirs=FROM_SERVER,
      transports=frozenset({"http"}), source=PER_REQUEST)  # fmt: skip
def logs_after_the_answer(message: Message, ctx: Context) -> Iterator[Finding]:
    """A log message comes on the stream of a request after its final response.

    Why it matters: clients stop reading there.
    Cannot tell: one on the stream of a subscription is subscriptions/no-request-scoped-notifications.
    """
    exchange = ctx.exchange
    if exchange is None or message.http is None or exchange.method == LISTEN:
        return
    ctx.tested()
    answer = exchange.answer
    if answer is not None and answer.http is message.http:
        yield ctx.finding(message, saw="after the final response", expected="before it", also=[answer])


@rule("logging/level-valid", level=MUST, fault=EITHER, on=(NOTIFICATION, REMARKED), eras=ANY_ERA,
      source=PAGE + "#log-levels")  # fmt: skip
def unknown_level(message: Message, ctx: Context) -> Iterator[Finding]:
    """A log level is none of the eight names, or a log message has no data.

    Why it matters: levels are compared by their order; whoever does not know the name can neither filter nor show it.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    if message.kind == "notification":
        if message.method != MESSAGE or message.dir != "s2c":
            return
        ctx.tested()
        level = message.params.get("level", ABSENT)
        if rank(level) < 0:
            yield _unknown(ctx, message, level, "/params/level", "server")
        if "data" not in message.params:
            yield ctx.finding(message, saw=sorted(message.params), expected="data", path="/params/data", fault="server",
                              text="a log message has no data")  # fmt: skip
        return
    found = _level_of(ctx.exchange, message)
    if found is None:
        return
    ctx.tested()
    level, path = found
    if rank(level) < 0:
        yield _unknown(ctx, message, level, path, "client")


def _level_of(exchange: Exchange | None, message: Message) -> tuple[Any, str] | None:
    """(what the request names as its level, where) of the request itself."""
    if exchange is None or exchange.remarks is None or "level" not in exchange.remarks:
        return None
    if message is not exchange.request:
        return None
    modern = exchange.era != LEGACY and LOG_LEVEL in message.meta
    return exchange.remarks["level"], pointer("params", "_meta", LOG_LEVEL) if modern else "/params/level"


def _unknown(ctx: Context, message: Message, level: Any, path: str, fault: str) -> Finding:
    saw = "absent" if level is ABSENT else level
    return ctx.finding(message, saw=saw, expected=list(LEVELS), path=path, fault=fault,
                       text=f"{'no' if level is ABSENT else 'unknown'} log level")  # fmt: skip


@rule("logging/invalid-level-rejected", level=SHOULD, fault=SERVER, on=REMARKED, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#error-handling")  # fmt: skip
def takes_an_unknown_level(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request with an unknown log level is not refused with -32602.

    Why it matters: the client believes that it will get log messages, or learns of its mistake from the wrong code.
    Cannot tell: refusals that a header, a version or a capability explains.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or "level" not in exchange.remarks:
        return
    if answer is not exchange.answer or rank(exchange.remarks["level"]) >= 0:
        return
    code = said.code(answer)
    if code in said.EXPLAINED_CODES or (exchange.method == SET_LEVEL and code == -32601):
        return
    ctx.tested()
    if code != INVALID:
        saw = "a result" if answer.kind == "response" else code
        yield ctx.finding(answer, saw=saw, expected=INVALID, also=[exchange.request])


@rule("logging/capability-declared", level=MUST, fault=SERVER, on=NOTIFICATION, methods=MESSAGES, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#capabilities")  # fmt: skip
def logs_undeclared(message: Message, ctx: Context) -> Iterator[Finding]:
    """A server sends log messages and did not declare the capability.

    Why it matters: clients that read the capabilities do not show them, and never ask for a level.
    Cannot tell: when no answer with capabilities was seen, for this credential and session.
    """
    capabilities = _declared(message, ctx)
    if capabilities is None:
        return
    ctx.tested()
    if "logging" not in capabilities:
        yield ctx.finding(message, saw=sorted(capabilities), expected="logging")


def _declared(message: Message, ctx: Context) -> dict[str, Any] | None:
    """What the server declared to whom this message went; None when that was not seen."""
    exchange = ctx.exchange
    if ctx.era != MODERN:
        found: dict[str, Any] | None = ctx.channel.facts.get("handshakes", {}).get(session_key(message).hex())
        return found
    credential = exchange.client.credential.hex() if exchange is not None else ""
    row = run_of(ctx.channel, message).facts.get("discover", {}).get(credential)
    return row["capabilities"] if row is not None else None


@rule("logging/no-secrets", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, methods=MESSAGES, dirs=FROM_SERVER,
      eras=ANY_ERA, source=PAGE + "#security")  # fmt: skip
def logs_secrets(message: Message, ctx: Context) -> Iterator[Finding]:
    """A log message contains what looks like a credential or personal data.

    Why it matters: log messages are shown, kept and passed on by hosts that do not know what is in them.
    Cannot tell: what a value is; well-known forms only. Addresses, paths and stack traces are noted.
    """
    ctx.tested()
    data = message.params.get("data")
    seen: set[str] = set()
    for path, kind in credentials_in(data, ("params", "data")):
        seen.add(pointer(*path))
        yield _secret(ctx, message, pointer(*path), kind)
    for path, text in _texts(data):
        where = pointer(*path)
        if where in seen:
            continue
        kind = "a password or key" if _PASSWORD.search(text) else secret_kind(text)
        if kind:
            yield _secret(ctx, message, where, kind)
            continue
        for kind, form in _PERSONAL:
            if form.search(text):
                yield ctx.finding(message, path=where, level="info", saw=kind,
                                  text=f"a log message contains {kind}")  # fmt: skip
                break


def _secret(ctx: Context, message: Message, path: str, kind: str) -> Finding:
    return ctx.finding(message, path=path, saw=kind, text=f"a log message contains what looks like {kind}")


def _texts(data: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The strings of a JSON value, bounded, with their paths; "name: value" for what a name makes a secret."""
    left: list[tuple[tuple[str | int, ...], Any]] = [(("params", "data"), data)]
    seen = 0
    while left and seen < STRINGS:
        path, part = left.pop()
        seen += 1
        if type(part) is str:
            name = path[-1]
            yield path, (part if type(name) is int or len(path) == 2 else f"{name}: {part}")[:LIMIT]
        elif type(part) is dict:
            left += [((*path, key), value) for key, value in list(part.items())[:STRINGS]]
        elif type(part) is list:
            left += [((*path, n), value) for n, value in enumerate(part[:STRINGS])]


@rule("logging/deprecated-use", level=SHOULD_NOT, fault=SERVER, on=(NOTIFICATION, RESULT), methods=(MESSAGE, DISCOVER),
      dirs=FROM_SERVER, source="2026-07-28/server/utilities/logging (deprecation notice)")  # fmt: skip
def logs_at_all(message: Message, ctx: Context) -> Iterator[Finding]:
    """A server of this revision sends log messages, which is deprecated.

    Why it matters: a later revision will not have them; stderr or OpenTelemetry take their place.
    Cannot tell: whether the implementation is a new one; noted once a server.
    """
    ctx.tested()
    if message.kind == "response":
        capabilities = message.result.get("capabilities")
        if type(capabilities) is not dict or "logging" not in capabilities:
            return
    if ctx.first():
        yield ctx.finding(message, saw=message.method or "capabilities.logging", level="info")


@rule("logging/rate", level=SHOULD, fault=SERVER, on=NOTIFICATION, methods=MESSAGES, dirs=FROM_SERVER, eras=ANY_ERA,
      source=PAGE + "#implementation-considerations")  # fmt: skip
def flood_of_messages(message: Message, ctx: Context) -> Iterator[Finding]:
    """Log messages come faster than anybody can read.

    Why it matters: each costs both sides, and what matters drowns in them.
    Cannot tell: how fast is too fast is not said. More than 100 a second for three seconds is ours; noted once a
    request.
    """
    ctx.tested()
    if seconds_of_flood(ctx.channel, message, ctx.exchange) == FLOOD:
        of = ctx.exchange.key if ctx.exchange is not None else message.peer.id
        if ctx.first(of):
            yield ctx.finding(
                message, saw=f"more than 100 a second for {FLOOD} s", expected="a few a second", level="info"
            )
