"""server/utilities/caching: how long a result may be kept, and for whom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.listings import LISTS
from mrtrscope.link.runs import run_of
from mrtrscope.link.servers import CACHEABLE
from mrtrscope.link.tokens import claims
from mrtrscope.link.tools import CALL
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    MUST,
    MUST_NOT,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHAPE,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/utilities/caching"
SCHEMA = "schema/2026-07-28/schema.ts CacheableResult"
TTL = PAGE + "#time-to-live-ttl-field"
SCOPE = PAGE + "#cache-scope-field"
PAGES = PAGE + "#interaction-with-pagination"

SCOPES = ("public", "private")
MONTH = 30 * 24 * 3600 * 1000
OTHERS = ("tools/call", "prompts/get", "completion/complete")
HINTS = ("ttlMs", "cacheScope")
IDENTITY = ("sub", "email")


@rule("caching/hints-present", level=MUST, fault=SERVER, on=RESULT, dirs=("s2c",), methods=CACHEABLE,
      source=PAGE + "#cacheable-results")  # fmt: skip
def hints_missing(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result that may be cached lacks ttlMs or cacheScope.

    Why it matters: without them the client cannot know how long it may use the result, and for whom.
    Cannot tell: a server that was never seen to know this revision; its answers are another era's.
    """
    result = answer.result
    if result.get("resultType", "complete") != "complete" or not (
        "typed" in run_of(ctx.channel, answer).facts or any(hint in result for hint in HINTS)
    ):
        return
    ctx.tested()
    for hint in HINTS:
        if hint not in result:
            yield ctx.finding(answer, saw="absent", expected=hint, path=f"/result/{hint}",
                              text=f"a result of {_method(ctx)} lacks {hint}")  # fmt: skip


@rule("caching/ttl-valid", level=MUST, fault=SERVER, on=RESULT, dirs=("s2c",), methods=CACHEABLE, source=TTL)
def ttl_is_no_duration(answer: Message, ctx: Context) -> Iterator[Finding]:
    """ttlMs is not an integer of zero or more.

    Why it matters: clients read it differently, or drop the result.
    Cannot tell: seconds given for milliseconds. More than thirty days are only noted, they look like milliseconds times
    a thousand.
    """
    ttl = answer.result.get("ttlMs", ABSENT)
    if ttl is ABSENT:
        return
    ctx.tested()
    whole = type(ttl) is int or (isinstance(ttl, float) and ttl.is_integer())
    if not whole or ttl < 0:
        yield ctx.finding(
            answer, saw=ttl, expected="an integer of milliseconds, 0 or more", path="/result/ttlMs"
        )
    elif ttl > MONTH:
        yield ctx.finding(answer, saw=ttl, expected="milliseconds", path="/result/ttlMs", level="info",
                          text="ttlMs is more than thirty days; is it in milliseconds?")  # fmt: skip


@rule(
    "caching/scope-valid",
    level=MUST,
    fault=SERVER,
    on=RESULT,
    dirs=("s2c",),
    methods=CACHEABLE,
    source=SCHEMA,
)
def scope_unknown(answer: Message, ctx: Context) -> Iterator[Finding]:
    """cacheScope is neither "public" nor "private".

    Why it matters: a cache that does not know the word may hand the result to anybody.
    Cannot tell: a result without cacheScope is caching/hints-present.
    """
    scope = answer.result.get("cacheScope", ABSENT)
    if scope is ABSENT:
        return
    ctx.tested()
    if scope not in SCOPES:
        yield ctx.finding(answer, saw=scope, expected=list(SCOPES), path="/result/cacheScope")


@rule("caching/scope-same-on-pages", level=MUST, fault=SERVER, on=REMARKED, dirs=("s2c",), methods=LISTS,
      exercised=RESULT, source=PAGES)  # fmt: skip
def pages_differ_in_scope(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Two pages of one list have different cacheScopes.

    Why it matters: a list put together from both is shared although a part of it is private.
    Cannot tell: unless both pages certainly went to the same client. A new listing may have another scope.
    """
    found = _remark(ctx, "scopes")
    if found is not None and answer.kind == "response":
        yield ctx.finding(answer, saw=answer.result.get("cacheScope"), expected=found["was"], also=[found["key"]],
                          path="/result/cacheScope")  # fmt: skip


@rule("caching/public-but-user-specific", level=ADVISORY, fault=SERVER, on=(REMARKED, RESULT), dirs=("s2c",),
      methods=CACHEABLE, source=SCOPE)  # fmt: skip
def public_and_personal(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result is declared public although it depends on who asks.

    Why it matters: a shared cache hands one user's data to another.
    Cannot tell: lists that change with time; they must go back and forth with the credential, within their ttl.
    """
    exchange, result = ctx.exchange, answer.result
    if exchange is None or result.get("cacheScope") != "public" or answer.kind != "response":
        return
    earlier = _remark(ctx, "personal")
    if earlier is not None:
        ctx.tested()
        yield ctx.finding(
            answer, saw="two credentials, two results", expected='"private"', also=earlier, path="/result"
        )
    if exchange.method == "resources/read" and exchange.client.subject:
        ctx.tested()
        for name, value in _identity(
            exchange.http.request_header("authorization") if exchange.http else None
        ):
            if value in _texts(result):
                yield ctx.finding(answer, saw=f"the {name} of the token is in the contents", expected='"private"',
                                  path=f"/result/contents/{name}")  # fmt: skip


@rule("caching/private-not-shared", level=MUST_NOT, fault=CLIENT, on=REMARKED, dirs=("s2c",), methods=CACHEABLE,
      source=SCOPE)  # fmt: skip
def private_result_shared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A cache serves a private result to another credential than it was made for.

    Why it matters: it is one user's data in another's hands.
    Cannot tell: what a client keeps inside. Where the answer does not say how old it is, an equal result may have been
    made for both, and it is only noted.
    """
    found = _remark(ctx, "shared")
    if found is not None and answer.kind == "response":
        ctx.tested()
        yield ctx.finding(answer, saw="from a cache, made for another credential", expected="a result of its own",
                          also=[found["key"]], level=None if found["sure"] else "info")  # fmt: skip


@rule("caching/key-includes-params", level=MUST_NOT, fault=CLIENT, on=REMARKED, dirs=("s2c",), methods=CACHEABLE,
      source=PAGE + "#cache-key")  # fmt: skip
def result_of_other_params(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A cache answers a request with the result of one that had other parameters.

    Why it matters: the client gets another resource than it asked for, and does not see it.
    Cannot tell: what a client keeps inside.
    """
    key = _remark(ctx, "misfit")
    if key is not None and answer.kind == "response":
        ctx.tested()
        yield ctx.finding(
            answer,
            saw="from a cache, made for another uri",
            expected="the resource that was asked for",
            also=[key],
        )


@rule("caching/refetch-within-ttl", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",), methods=CACHEABLE,
      exercised=REQUEST, source=TTL)  # fmt: skip
def fetched_while_fresh(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client fetches the same result again and again while it is fresh.

    Why it matters: the server said how long the result holds; asking earlier is work for nothing.
    Cannot tell: why it asks, so three times within one ttl are only noted.
    """
    found = _remark(ctx, "refetch")
    if found is not None and request.kind == "request":
        yield ctx.finding(request, saw=f"{found['times']} times within {found['ttl']} ms", expected="once",
                          level="info", also=[found["since"]])  # fmt: skip


@rule("caching/no-ttl-polling", level=SHOULD_NOT, fault=CLIENT, on=REMARKED, dirs=("c2s",), methods=CACHEABLE,
      exercised=REQUEST, source=PAGE + "#freshness-calculation")  # fmt: skip
def polls_by_ttl(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client fetches a result each time just as its ttl runs out, without jitter.

    Why it matters: all clients of a server then come at the same moment. Polling needs jitter and backoff.
    Cannot tell: unless five intervals in a row are within two percent of the ttl.
    """
    found = _remark(ctx, "polled")
    if found is not None and request.kind == "request":
        yield ctx.finding(
            request, saw=f"{found['times']} intervals of {found['ttl']} ms", expected="when it is needed"
        )


@rule("caching/list-change-invalidates", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("s2c",), methods=(CALL,),
      source=PAGE + "#interaction-with-notifications")  # fmt: skip
def used_after_change(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A client that was told of a change of the tools calls one that is gone, without listing them again.

    Why it matters: after the notification the list that it has is stale.
    Cannot tell: what the client knows otherwise, so it is only noted.
    """
    found = _remark(ctx, "stale")
    if found is not None and answer.dir == "s2c" and ctx.exchange is not None:
        ctx.tested()
        yield ctx.finding(answer, saw=ctx.exchange.target[:300], expected="tools/list after the change", level="info",
                          also=[found["changed"], found["list"]])  # fmt: skip


@rule("caching/restart-after-bad-cursor", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",), methods=LISTS,
      source=PAGES)  # fmt: skip
def goes_on_with_bad_cursor(request: Message, ctx: Context) -> Iterator[Finding]:
    """After a cursor was refused the client goes on in the same chain of pages.

    Why it matters: the pages that it has no longer belong together; only a fresh listing is whole.
    Cannot tell: over connections, whether it is one client, unless its credential shows it.
    """
    found = _remark(ctx, "bad_cursor")
    if found is not None and request.kind == "request":
        ctx.tested()
        which = "the refused cursor" if found["same"] else "another cursor of the same pages"
        yield ctx.finding(
            request, saw=which, expected="no cursor", also=[found["key"]], path="/params/cursor"
        )


@rule("caching/hints-on-other-methods", level=ADVISORY, fault=SERVER, on=SHAPE, dirs=("s2c",), methods=OTHERS,
      exercised=RESULT, source=PAGE + "#cacheable-results")  # fmt: skip
def hints_without_meaning(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result that cannot be cached has ttlMs or cacheScope.

    Why it matters: they mean nothing there, and a cache that heeds them keeps what it should not.
    Cannot tell: for a task, ttlMs says how long it is kept.
    """
    result = answer.result
    if answer.kind != "response" or ("ttlMs" not in result and "cacheScope" not in result):
        return
    if result.get("resultType", "complete") == "complete" and "taskId" not in result:
        yield ctx.finding(answer, saw=[h for h in HINTS if h in result], expected="no hints", path="/result")


def _remark(ctx: Context, what: str) -> Any:
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    return remarks.get(what) if remarks is not None else None


def _method(ctx: Context) -> str:
    return ctx.exchange.method if ctx.exchange is not None else "a cacheable method"


def _identity(authorization: str | None) -> list[tuple[str, str]]:
    """What the token of a request says about the user, where it is long enough to be telling."""
    found = claims(authorization) if authorization is not None else {}
    values = [(name, found.get(name)) for name in IDENTITY]
    return [(name, value) for name, value in values if type(value) is str and len(value) >= 6]


def _texts(result: dict[str, Any]) -> str:
    return json.dumps(result.get("contents"), ensure_ascii=False, default=str)[: 1 << 18]
