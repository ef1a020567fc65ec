"""basic/patterns/mrtr: results of the three methods that can ask, and of their retries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import MRTR_METHODS
from mrtrscope.link.shapes import AFTER_PLAIN, AFTER_RICH, DIRECT_PLAIN, DIRECT_RICH, shape
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import CAPABILITY
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    FAULT,
    MUST_NOT,
    RESULT,
    RETRY_ANSWERED,
    SERVER,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/patterns/mrtr"
ITEM = PAGE + "#server-requirements-basic-workflow item "
CACHING = "2026-07-28/server/utilities/caching"
FROM_SERVER = ("s2c",)
TEXT_LIMIT = 1 << 20  # longer text blocks are not parsed

_ASKS_SOMETHING = re.compile(
    r"\?\s*$|please (?:specify|provide|confirm|choose|select)|which of|are you sure", re.I
)
_SECRET = re.compile(r"password|passphrase|secret|token|api.?key|credential|\bpin\b", re.I)
_CACHE_HEADERS = ("x-cache", "cf-cache-status", "x-proxy-cache")


@rule("mrtr/input-fields-need-result-type", level=SHOULD_NOT, fault=SERVER, on=RESULT, dirs=FROM_SERVER,
      methods=MRTR_METHODS, facet="result", source=PAGE + "#inputrequiredresult")  # fmt: skip
def question_in_a_final_result(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result with inputRequests or requestState does not say resultType input_required.

    Why it matters: without that word it is a final result, and the question is lost.
    Cannot tell: members of these names deeper down are data. tasks/get carries inputRequests in a complete result.
    """
    result = answer.result
    ctx.tested()
    if result.get("resultType", "complete") != "complete":
        return
    found = [
        name
        for name, kind in (("inputRequests", dict), ("requestState", str))
        if type(result.get(name)) is kind
    ]
    if found:
        said_so = "says complete" if "resultType" in result else "has no resultType"
        yield ctx.finding(
            answer,
            saw=found,
            expected="input_required",
            path="/result/resultType",
            text=f"the result has {' and '.join(found)} but {said_so}",
        )


@rule("mrtr/input-required-not-stringified", level=ADVISORY, fault=SERVER, on=RESULT, dirs=FROM_SERVER,
      methods=("tools/call",), facet="result", source=PAGE + "#inputrequiredresult")  # fmt: skip
def question_put_into_text(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An input_required result was turned into the text or structured content of a finished call.

    Why it matters: a framework that knows only finished calls swallowed the question; the client sees a result.
    Cannot tell: a tool that shows MCP traffic may mean it so.
    """
    ctx.tested()
    if _is_question(answer.result.get("structuredContent")):
        yield ctx.finding(
            answer, path="/result/structuredContent", text="structuredContent is an input_required result"
        )
    for n, text in enumerate(said.texts(answer)):
        if len(text) <= TEXT_LIMIT and text.lstrip()[:1] == "{" and _is_question(_parsed(text)):
            yield ctx.finding(answer, path=f"text {n}", text="a text block is an input_required result")


@rule("mrtr/question-asked-as-error", level=ADVISORY, fault=SERVER, on=(RESULT, FAULT), dirs=FROM_SERVER,
      methods=("tools/call",), facet="result", source=ITEM + "1")  # fmt: skip
def question_told_as_an_error(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error asks the user something, although the client could have been asked.

    Why it matters: the call ends, where an input_required result would have let it go on.
    Cannot tell: errors are also meant for the model, to correct its arguments; so it is only noted. Secrets are never
    asked for in a form.
    """
    exchange = ctx.exchange
    if exchange is None or "elicitation" not in (exchange.capabilities or {}):
        return
    if answer.kind == "response" and not said.tool_error(answer):
        return
    ctx.tested()
    text = said.words(answer)
    if _ASKS_SOMETHING.search(text) and not _SECRET.search(text):
        yield ctx.finding(answer, saw=text, expected="an input_required result", also=[exchange.request])


@rule("mrtr/final-result-shape-differs", level=ADVISORY, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      methods=("tools/call", "prompts/get"), source=PAGE + "#multi-round-trip-requests")  # fmt: skip
def result_flattened_after_a_round(answer: Message, ctx: Context) -> Iterator[Finding]:
    """After a round trip the result is plain text, without one it never is.

    Why it matters: a proxy that carries on the call for its client flattens what the server returned.
    Cannot tell: the confirmed and the direct way of a tool may really differ. Two of each are needed.
    """
    if ctx.exchange is None or ctx.link is None or not said.complete(answer):
        return
    counts = shape(ctx.channel, ctx.exchange)
    if counts[DIRECT_RICH] < 2 or counts[DIRECT_PLAIN]:
        return
    ctx.tested()
    if counts[AFTER_PLAIN] == 2 and not counts[AFTER_RICH]:
        yield ctx.finding(answer, saw="text only", expected="the shape of a direct call")


@rule("mrtr/retry-result-not-cached", level=MUST_NOT, fault=CLIENT, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      transports=frozenset({"http"}), source=CACHING + "#cache-key")  # fmt: skip
def retry_answered_from_a_cache(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The answer to a retry comes out of a cache.

    Why it matters: the answers of a user are no part of the cache key, so one user's result reaches another.
    Cannot tell: a cache that says nothing of itself, or one inside the client. "MISS" and "Age: 0" are said on every
    answer by some networks.
    """
    http = answer.http
    if http is None:
        return
    ctx.tested()
    hits = [
        name
        for name in _CACHE_HEADERS
        if "hit" in re.split(r"\W+", (http.response_header(name) or "").lower())
    ]
    age = (http.response_header("age") or "0").strip()
    if age.isascii() and age.isdigit() and int(age[:9]) > 0:
        hits.append("age")
    if hits:
        yield ctx.finding(
            answer,
            saw={name: http.response_header(name) for name in hits},
            also=[ctx.exchange.request if ctx.exchange is not None else None],
            path="headers",
        )


@rule("mrtr/retry-result-long-ttl", level=ADVISORY, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      methods=("resources/read",), source=CACHING + "#cache-key")  # fmt: skip
def retry_result_to_be_cached(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The result of a resources/read retry invites caching.

    Why it matters: such a result must not be cached; a lifetime or a public scope leads careless caches to do it.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    result = answer.result
    if answer.kind != "response" or result.get("resultType") == "input_required":
        return
    ctx.tested()
    ttl = result.get("ttlMs")
    long = isinstance(ttl, int | float) and ttl > 0
    if long or result.get("cacheScope") == "public":
        yield ctx.finding(
            answer,
            saw={name: result[name] for name in ("ttlMs", "cacheScope") if name in result},
            expected={"ttlMs": 0, "cacheScope": "private"},
        )


def _parsed(text: str) -> Any:
    if "input_required" not in text and "inputRequests" not in text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_question(value: Any) -> bool:
    """An object that is an input_required result in all but its place."""
    if type(value) is not dict:
        return False
    if value.get("resultType") == "input_required":
        return True
    questions = value.get("inputRequests")
    return type(questions) is dict and any(
        type(q) is dict and type(q.get("method")) is str and q["method"] in CAPABILITY
        for q in questions.values()
    )
