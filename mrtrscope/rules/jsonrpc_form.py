"""basic/index#messages: the members that JSON-RPC gives a request, a notification and a response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.methods import LEGACY_REQUESTS, MODERN_REQUESTS
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    ANY_MESSAGE,
    CLIENT,
    EITHER,
    EXTRA,
    FAULT,
    FORM,
    INVALID,
    MUST,
    MUST_NOT,
    NON_MESSAGE,
    NOTIFICATION,
    REQUEST,
    RESULT,
    SHOULD,
    STRAY,
    rule,
)
from mrtrscope.wire.events import ABSENT, Event, Message, NonMessage

PAGE = "2026-07-28/basic/index"
SCHEMA = "schema/2026-07-28/schema.ts"
LONG = 300  # characters of an error message that are still concise; ours

_ERRORS = (FAULT, EXTRA, STRAY)


def sender(message: Event) -> str:
    """The party that sent a message."""
    return "client" if message.dir == "c2s" else "server"


@rule("jsonrpc/version", level=MUST, fault=EITHER, on=FORM, exercised=ANY_MESSAGE, eras=ANY_ERA,
      source=PAGE + "#messages")  # fmt: skip
def other_version(message: Message, ctx: Context) -> Iterator[Finding]:
    """The message does not say jsonrpc "2.0".

    Why it matters: it is how a reader tells a message from any other JSON; strict ones drop what lacks it.
    Cannot tell: the requests and answers inside inputRequests and inputResponses are no messages.
    """
    body = message.body
    if type(body) is not dict or body.get("jsonrpc") == "2.0":
        return
    missing = "jsonrpc" not in body
    yield ctx.finding(
        message,
        saw="absent" if missing else body["jsonrpc"],
        expected="2.0",
        path="/jsonrpc",
        fault=sender(message),
        text="the message has no member jsonrpc" if missing else None,
    )


@rule("jsonrpc/request-id-type", level=MUST, fault=EITHER, on=FORM, exercised=REQUEST, eras=ANY_ERA,
      source=PAGE + "#requests")  # fmt: skip
def id_of_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """A request's id is neither a string nor an integer.

    Why it matters: peers compare ids by value; objects, booleans and fractions are read differently by each of them.
    Cannot tell: 1.0 is an integer in JSON; an id of null has a rule of its own, and so has a notification with an id.
    """
    id = message.id
    if message.kind != "request" or id is None or _is_notification(message):
        return
    if type(id) in (int, str) or (isinstance(id, float) and id.is_integer()):
        return
    yield ctx.finding(
        message, saw=message.id_text, expected="a string or an integer", path="/id", fault=sender(message)
    )


@rule("jsonrpc/id-not-null", level=MUST_NOT, fault=EITHER, on=FORM, exercised=(REQUEST, FORM), eras=ANY_ERA,
      source=PAGE + "#requests")  # fmt: skip
def null_id(message: Message, ctx: Context) -> Iterator[Finding]:
    """A request's id is null.

    Why it matters: null stands for "the id could not be read", so no answer can be told to belong to this request.
    Cannot tell: a notification with an id is jsonrpc/notification-no-id.
    """
    if message.kind == "request" and message.id is None and not _is_notification(message):
        yield ctx.finding(
            message, saw=None, expected="a string or an integer", path="/id", fault=sender(message)
        )


@rule("jsonrpc/notification-no-id", level=MUST_NOT, fault=EITHER, on=FORM, exercised=(NOTIFICATION, FORM),
      eras=ANY_ERA, source=PAGE + "#notifications")  # fmt: skip
def notification_with_id(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification carries an id.

    Why it matters: with an id it is a request, and its sender waits for an answer that may never come.
    Cannot tell: what is meant for a notification, but by its name: notifications/….
    """
    if message.kind == "request" and _is_notification(message):
        yield ctx.finding(message, saw=message.id_text, expected="no id", path="/id", fault=sender(message))


@rule("jsonrpc/request-without-id", level=MUST, fault=CLIENT, on=NOTIFICATION, dirs=("c2s",), eras=ANY_ERA,
      methods=MODERN_REQUESTS | LEGACY_REQUESTS, source=PAGE + "#requests")  # fmt: skip
def request_as_notification(message: Message, ctx: Context) -> Iterator[Finding]:
    """A request was sent without an id.

    Why it matters: without one it is a notification; nothing is sent back and the call seems to hang.
    Cannot tell: methods that only vendors know.
    """
    known = {MODERN: MODERN_REQUESTS, LEGACY: LEGACY_REQUESTS}.get(ctx.era, MODERN_REQUESTS & LEGACY_REQUESTS)
    if message.method not in known:
        return
    ctx.tested()
    yield ctx.finding(message, saw=message.method, expected="an id", path="/id")


@rule("jsonrpc/params-object", level=MUST, fault=EITHER, on=FORM, exercised=(REQUEST, NOTIFICATION), eras=ANY_ERA,
      source=SCHEMA + " JSONRPCRequest, JSONRPCNotification")  # fmt: skip
def params_of_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """params is no object.

    Why it matters: MCP names its parameters; an array, null or a text has none, and strict readers drop the message.
    Cannot tell: a message without params may be right, that depends on its method.
    """
    body = message.body
    if message.kind not in ("request", "notification") or "params" not in body:
        return
    if type(body["params"]) is not dict:
        yield ctx.finding(
            message, saw=body["params"], expected="an object", path="/params", fault=sender(message)
        )


@rule("jsonrpc/result-xor-error", level=MUST, fault=EITHER, on=(FORM, INVALID, NON_MESSAGE),
      exercised=(RESULT, FAULT, EXTRA, STRAY, INVALID), eras=ANY_ERA, source=PAGE + "#responses")  # fmt: skip
def neither_or_both(message: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """A response has not exactly one of result, an object, and error.

    Why it matters: each reader picks another one; where result is no object, most throw the answer away.
    Cannot tell: an object without an id, a method, a result and an error is no response at all.
    """
    body = message.body
    if (
        type(body) is not dict
        or "method" in body
        or (type(message) is NonMessage and not half_response(message))
    ):
        return
    fault = sender(message)
    if "result" in body and "error" in body:
        yield ctx.finding(
            message,
            saw=["error", "result"],
            expected="one of them",
            fault=fault,
            text="a response has both result and error",
        )
    elif "result" in body:
        if type(body["result"]) is not dict:
            yield ctx.finding(
                message,
                saw=body["result"],
                expected="an object",
                path="/result",
                fault=fault,
                text="result is no object",
            )
    elif "error" not in body and "id" in body:
        yield ctx.finding(
            message,
            saw=sorted(body)[:32],
            expected="result or error",
            fault=fault,
            text="a response has neither result nor error",
        )


@rule(
    "jsonrpc/error-shape",
    level=MUST,
    fault=EITHER,
    on=_ERRORS,
    eras=ANY_ERA,
    source=PAGE + "#error-responses",
)
def error_of_another_shape(message: Message, ctx: Context) -> Iterator[Finding]:
    """An error has no integer code or no message string.

    Why it matters: clients choose by the code what to do next and show the message; without them they can do neither.
    Cannot tell: data may be anything.
    """
    if message.kind != "error":
        return
    ctx.tested()
    error, fault = message.body["error"], sender(message)
    if type(error) is not dict:
        yield ctx.finding(
            message, saw=error, expected="an object", path="/error", fault=fault, text="error is no object"
        )
        return
    code = error.get("code", ABSENT)
    if not (type(code) is int or (isinstance(code, float) and code.is_integer())):
        yield ctx.finding(
            message,
            saw=_shown(code),
            expected="an integer",
            path="/error/code",
            fault=fault,
            text="an error's code is no integer",
        )
    words = error.get("message", ABSENT)
    if type(words) is not str:
        yield ctx.finding(
            message, saw=_shown(words), expected="a string", path="/error/message", fault=fault,
            text="an error's message is no string",
        )  # fmt: skip


@rule(
    "jsonrpc/error-message-concise",
    level=SHOULD,
    fault=EITHER,
    on=FAULT,
    eras=ANY_ERA,
    source=SCHEMA + " Error",
)
def long_error_message(message: Message, ctx: Context) -> Iterator[Finding]:
    """An error's message is longer than a sentence.

    Why it matters: it is shown to people and to models; a stack trace in it tells strangers about the inside.
    Cannot tell: how long is too long is not said; 300 characters is ours, so it is only noted.
    """
    words = message.error.get("message")
    if type(words) is not str:
        return
    ctx.tested()
    lines = words.strip().count("\n") + 1
    if len(words) > LONG or lines > 1:
        yield ctx.finding(
            message,
            saw=f"{len(words)} characters, {lines} lines",
            expected=f"one sentence of at most {LONG} characters; details belong into data",
            path="/error/message",
            level="info",
            fault=sender(message),
        )


@rule("jsonrpc/reserved-method-prefix", level=MUST_NOT, fault=EITHER, on=FORM, exercised=(REQUEST, NOTIFICATION),
      eras=ANY_ERA, source=PAGE + "#messages")  # fmt: skip
def method_of_the_protocol_itself(message: Message, ctx: Context) -> Iterator[Finding]:
    """A method's name begins with "rpc.", which JSON-RPC keeps for itself.

    Why it matters: libraries answer such names themselves or refuse them before the server is asked.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    if message.method is not None and message.method.startswith("rpc."):
        yield ctx.finding(message, saw=message.method, path="/method", fault=sender(message))


@rule("jsonrpc/error-id-null", level=ADVISORY, fault=EITHER, on=_ERRORS, eras=ANY_ERA, last=True,
      source=SCHEMA + " JSONRPCErrorResponse")  # fmt: skip
def null_id_of_an_error(message: Message, ctx: Context) -> Iterator[Finding]:
    """An error answers with the id null.

    Why it matters: JSON-RPC asks for null where the id could not be read, MCP's schema for none at all; a reader may
    know only one of the two.
    Cannot tell: both are found in the wild, so it is only noted.
    """
    if message.kind != "error" or message.id is not None:
        return
    ctx.tested()
    if not any(
        f.rule in ("jsonrpc/response-id-matches", "jsonrpc/no-reply-to-notification") for f in ctx.raised
    ):
        yield ctx.finding(message, saw=None, expected="no id", path="/id", fault=sender(message))


def half_response(event: NonMessage) -> bool:
    """An object that says it is JSON-RPC and has an id, and nothing else that would make it a message."""
    return type(event.body) is dict and event.body.get("jsonrpc") == "2.0" and "id" in event.body


def _is_notification(message: Message) -> bool:
    return message.method is not None and message.method.startswith("notifications/")


def _shown(value: Any) -> Any:
    return "absent" if value is ABSENT else value
