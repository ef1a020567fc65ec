"""2025-11-25: capabilities, ping, cancellation, URL elicitation, and codes of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Operation
from mrtrscope.link.legacy import all_known, own_name
from mrtrscope.link.offers import offered
from mrtrscope.link.pairing import past_key
from mrtrscope.link.session import scope_of
from mrtrscope.link.tasks import task, task_created_by
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.legacy_handshake import FROM_CLIENT, FROM_SERVER, PAGE
from mrtrscope.rules.questions import CAPABILITY, ELICITATION, ROOTS, elicitation_mode, pointer
from mrtrscope.rules.registry import (
    CLIENT,
    EITHER,
    FAULT,
    LEGACY_ONLY,
    MUST,
    NOTIFICATION,
    PRESENT,
    REQUEST,
    RESULT,
    SERVER,
    SETTLED,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message
from mrtrscope.wire.jsonrpc import id_text

ELICIT = "2025-11-25/client/elicitation#"
SECOND = 1_000_000
PROMPT = 10 * SECOND
URL_REQUIRED, NO_RESOURCE, NO_METHOD, INVALID = -32042, -32002, -32601, -32602
URL_SINCE, DECLARED_SINCE = "2025-11-25", "2025-03-26"
KEPT_IDS = 256  # of elicitations, as link.legacy keeps them
_AREAS = {
    "tools/call": "tools", "tools/list": "tools", "prompts/get": "prompts", "prompts/list": "prompts",
    "resources/list": "resources", "resources/read": "resources", "resources/templates/list": "resources",
    "resources/subscribe": "resources", "resources/unsubscribe": "resources", "completion/complete": "completions",
    "logging/setLevel": "logging",
}  # fmt: skip
_NOT_FOUND = re.compile(r"not found|no such|unknown resource|does ?n.t exist|not exist|nonexistent", re.I)


@rule("legacy/server-request-capability", level=MUST, fault=SERVER, on=REQUEST, methods=CAPABILITY, dirs=FROM_SERVER,
      eras=LEGACY_ONLY, source=PAGE + "#operation")  # fmt: skip
def asks_what_was_not_declared(request: Message, ctx: Context) -> Iterator[Finding]:
    """A server asks for something that its client did not declare in the handshake.

    Why it matters: the client has nobody to ask, and refuses.
    Cannot tell: when the handshake was not seen.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None:
        return
    ctx.tested()
    needed = CAPABILITY[exchange.method]
    if needed not in exchange.capabilities:
        yield ctx.finding(request, saw=sorted(exchange.capabilities), expected=needed)


@rule("legacy/client-method-capability", level=MUST, fault=CLIENT, on=REQUEST, methods=_AREAS, dirs=FROM_CLIENT,
      eras=LEGACY_ONLY, source=PAGE + "#operation")  # fmt: skip
def uses_what_was_not_declared(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client uses something that the server did not declare in the handshake.

    Why it matters: the server does not know the method, or serves what it did not mean to offer.
    Cannot tell: clients often try what servers forget to declare; so it counts as a should. completions and the
    handshake's other members are younger than the oldest revisions.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    capabilities = offered(ctx.channel, exchange)
    if capabilities is None:
        return
    needed = _AREAS[exchange.method]
    if needed == "completions" and ctx.version < DECLARED_SINCE:
        return
    ctx.tested()
    if needed not in capabilities:
        yield ctx.finding(request, saw=sorted(capabilities), expected=needed, level="should")
    elif exchange.method in ("resources/subscribe", "resources/unsubscribe"):
        part = capabilities[needed]
        if type(part) is not dict or part.get("subscribe") is not True:
            yield ctx.finding(request, saw=part, expected="resources.subscribe", level="should")


@rule("legacy/ping-answered", level=MUST, fault=EITHER, on=(RESULT, FAULT, SETTLED, PRESENT), methods=("ping",),
      eras=LEGACY_ONLY, source="2025-11-25/basic/utilities/ping#behavior-requirements")  # fmt: skip
def ping_is_not_answered(event: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """A ping gets an error, a result that is not empty, or no answer.

    Why it matters: the other side takes the connection for dead, and closes it.
    Cannot tell: after the connection ended. resultType and _meta are only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.method != "ping":
        return
    fault = "server" if exchange.dir == "c2s" else "client"
    if not isinstance(event, Message):
        waiting = exchange.answer is None and exchange.cancel is None and exchange.state == "waiting"
        if not waiting or ctx.channel.last - exchange.t <= PROMPT:
            return
        ctx.tested()
        yield ctx.finding(exchange.request, saw=f"nothing in {(ctx.channel.last - exchange.t) // SECOND} s",
                          expected="an empty result", fault=fault, text="a ping is not answered")  # fmt: skip
        return
    ctx.tested()
    if event.kind == "error":
        yield ctx.finding(event, saw=event.error.get("code"), expected="an empty result", also=[exchange.request],
                          fault=fault, text="a ping is answered with an error")  # fmt: skip
        return
    more = sorted(event.result)
    if more:
        tolerated = set(more) <= {"resultType", "_meta"}
        yield ctx.finding(event, saw=more, expected="an empty result", fault=fault, also=[exchange.request],
                          level="info" if tolerated else None, text="the answer to a ping is not empty")  # fmt: skip


@rule("legacy/cancel-direction", level=MUST, fault=EITHER, on=NOTIFICATION, methods=("notifications/cancelled",),
      eras=LEGACY_ONLY, source="2025-11-25/basic/utilities/cancellation#behavior-requirements")  # fmt: skip
def cancels_what_it_may_not(message: Message, ctx: Context) -> Iterator[Finding]:
    """A cancellation names the handshake, a request that became a task, or none of its sender's.

    Why it matters: what was meant goes on, or the session is undone.
    Cannot tell: unknown ids, unless everything is recorded.
    """
    id, fault = message.params.get("requestId", ABSENT), "client" if message.dir == "c2s" else "server"
    if type(id) not in (int, str):
        return
    exchange = ctx.exchange
    own = exchange is not None and exchange.dir == message.dir and exchange.request.id_text == id_text(id)
    if own and exchange is not None and exchange.method == "initialize":
        ctx.tested()
        yield ctx.finding(message, saw="initialize", expected="it must not be cancelled", fault=fault,
                          also=[exchange.request], path="/params/requestId",
                          text="the handshake is cancelled")  # fmt: skip
        return
    scope = scope_of(message.peer, message.channel, message.http)
    past = ctx.memory.get("past", past_key(scope + message.dir, id_text(id) or ""))
    key = exchange.key if own and exchange is not None else (past or "").rpartition("\n")[0]
    made = task_created_by(ctx.memory, key) if key else ""
    known = task(ctx.memory, message.channel, made)
    if known is not None and known.legacy and not known.over and message.t - known.t > SECOND:
        ctx.tested()
        yield ctx.finding(message, saw=id, expected="tasks/cancel", fault=fault, also=[known.call, known.created],
                          path="/params/requestId", text="a task is cancelled by notification")  # fmt: skip
        return
    if not all_known(ctx.channel, message):
        return
    ctx.tested()
    if not own and past is None:
        yield ctx.finding(message, saw=id, expected="the id of a request of its sender", fault=fault,
                          path="/params/requestId", text="a cancellation names no request of its sender")  # fmt: skip


@rule("legacy/url-elicitation-id", level=MUST, fault=SERVER, on=(REQUEST, FAULT), dirs=FROM_SERVER, eras=LEGACY_ONLY,
      source=ELICIT + "url-mode-elicitation-requests")  # fmt: skip
def address_without_id(message: Message, ctx: Context) -> Iterator[Finding]:
    """A URL-mode elicitation has no elicitationId.

    Why it matters: the notification that it is done cannot name it.
    Cannot tell: what does not say that it is in URL mode is taken for a form.
    """
    if message.kind == "error":
        if message.error.get("code") != URL_REQUIRED:
            return
        entries = [(e, f"/error/data/elicitations/{n}") for n, e in enumerate(_listed(message))]
    elif message.method == ELICITATION:
        entries = [(message.params, "/params")]
    else:
        return
    for entry, at in entries:
        if type(entry) is dict and entry.get("mode") == "url":
            ctx.tested()
            if type(entry.get("elicitationId")) is not str:
                yield ctx.finding(message, saw=entry.get("elicitationId", "absent"), expected="a string",
                                  path=f"{at}/elicitationId")  # fmt: skip


def _listed(message: Message) -> list[Any]:
    data = message.error.get("data")
    found = data.get("elicitations") if type(data) is dict else None
    return found[:64] if type(found) is list else []


@rule("legacy/url-required-error", level=MUST, fault=SERVER, on=FAULT, dirs=FROM_SERVER, eras=LEGACY_ONLY,
      source=ELICIT + "url-elicitation-required-error")  # fmt: skip
def requires_no_address(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The error -32042 does not list the addresses that the user has to visit.

    Why it matters: the client knows that something is to be done, and not what.
    Cannot tell: an elicitationId that is missing is legacy/url-elicitation-id; a client that did not declare URL mode
    is a should.
    """
    if answer.error.get("code") != URL_REQUIRED:
        return
    ctx.tested()
    entries = _listed(answer)
    if not entries:
        yield ctx.finding(answer, saw=answer.error.get("data", "no data"), expected="elicitations",
                          path="/error/data/elicitations")  # fmt: skip
    for n, entry in enumerate(entries):
        at = pointer("error", "data", "elicitations", n)
        if type(entry) is not dict or entry.get("mode") != "url" or type(entry.get("url")) is not str:
            saw = sorted(entry) if type(entry) is dict else entry
            yield ctx.finding(answer, saw=saw, expected="mode url, and a url", path=at,
                              text="an entry of -32042 is no URL elicitation")  # fmt: skip
    declared = ctx.exchange.capabilities if ctx.exchange is not None else None
    if declared is not None and not _has_mode(declared, "url"):
        yield ctx.finding(answer, saw=declared.get("elicitation", "absent"), expected="elicitation.url", level="should",
                          text="-32042 goes to a client that did not declare URL mode")  # fmt: skip


def _has_mode(capabilities: dict[str, Any], mode: str) -> bool:
    part = capabilities.get("elicitation")
    if type(part) is not dict:
        return False
    return mode in part or (mode == "form" and "url" not in part)


@rule("legacy/elicitation-complete-id", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER, eras=LEGACY_ONLY,
      methods=("notifications/elicitation/complete",),
      source=ELICIT + "completion-notifications-for-url-mode-elicitation")  # fmt: skip
def completes_what_was_never_asked(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification says that an elicitation is done which was never sent to this client, or does not say which.

    Why it matters: the client cannot match it, and goes on waiting for the one it knows.
    Cannot tell: unless the process is recorded from its start.
    """
    ctx.tested()
    id = message.params.get("elicitationId", ABSENT)
    if type(id) is not str:
        saw = "absent" if id is ABSENT else id
        yield ctx.finding(message, saw=saw, expected="a string", path="/params/elicitationId")
        return
    if all_known(ctx.channel, message):
        asked = ctx.channel.facts.get("elicited", {}).get(own_name(message), [])
        if id not in asked and len(asked) < KEPT_IDS:
            yield ctx.finding(
                message, saw=id, expected="an elicitationId that was sent", path="/params/elicitationId"
            )


@rule("legacy/undeclared-mode-refused", level=MUST, fault=CLIENT, on=(RESULT, FAULT), methods=(ELICITATION,),
      dirs=FROM_CLIENT, eras=LEGACY_ONLY, source=ELICIT + "error-handling")  # fmt: skip
def takes_a_mode_it_did_not_declare(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation in a mode that the client did not declare is not refused with -32602.

    Why it matters: the server takes it that the client can do it, and asks again.
    Cannot tell: when the handshake was not seen, or the client declared no elicitation at all. Modes came with
    2025-11-25.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None or ctx.version < URL_SINCE:
        return
    declared, mode = exchange.capabilities, elicitation_mode(exchange.request.params)
    if "elicitation" not in declared or mode not in ("form", "url") or _has_mode(declared, mode):
        return
    ctx.tested()
    code = said.code(answer)
    if code != INVALID:
        saw = "a result" if answer.kind == "response" else code
        yield ctx.finding(answer, saw=saw, expected=INVALID, also=[exchange.request])


@rule("legacy/roots-unsupported-code", level=SHOULD, fault=CLIENT, on=(RESULT, FAULT), methods=(ROOTS,),
      dirs=FROM_CLIENT, eras=LEGACY_ONLY, source="2025-11-25/client/roots#error-handling")  # fmt: skip
def other_code_without_roots(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A client without roots refuses roots/list with another code than -32601.

    Why it matters: the server cannot tell a client without roots from one that failed.
    Cannot tell: when the handshake was not seen.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None or "roots" in exchange.capabilities:
        return
    ctx.tested()
    code = said.code(answer)
    if answer.kind == "error" and code != NO_METHOD:
        yield ctx.finding(answer, saw=code, expected=NO_METHOD, also=[exchange.request])


@rule("legacy/resource-not-found-code", level=SHOULD, fault=SERVER, on=FAULT, methods=("resources/read",),
      dirs=FROM_SERVER, eras=LEGACY_ONLY, source="2025-11-25/server/resources#error-handling")  # fmt: skip
def other_code_for_no_resource(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A resource that does not exist is refused with another code than -32002.

    Why it matters: the client cannot tell a missing resource from a server that fails.
    Cannot tell: that it is missing, unless the error says so. -32602 is what later revisions say: noted.
    """
    code = said.code(answer)
    other = code == NO_METHOD or code in said.EXPLAINED_CODES
    if code != NO_RESOURCE and (other or not _NOT_FOUND.search(said.words(answer))):
        return
    ctx.tested()
    if code != NO_RESOURCE:
        yield ctx.finding(answer, saw=code, expected=NO_RESOURCE, level="info" if code == INVALID else None)
