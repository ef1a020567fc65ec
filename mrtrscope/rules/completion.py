"""server/utilities/completion: values for the arguments of prompts and templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.listings import newest
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.listings import EXPLAINED, undeclared
from mrtrscope.rules.registry import (
    BOTH,
    CLIENT,
    FAULT,
    MUST,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/utilities/completion"
SCHEMA = "schema/2026-07-28/schema.ts "
METHOD = ("completion/complete",)
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
VALUES = 100
STANDARD = (-32602, -32601, -32603)


@rule("completion/capability-declared", level=MUST, fault=SERVER, on=RESULT, methods=METHOD, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#capabilities")  # fmt: skip
def completes_undeclared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server completes arguments and did not declare completions.

    Why it matters: clients that read the capabilities never ask, so that the feature is not used.
    Cannot tell: when no answer with capabilities was seen for this credential.
    """
    return undeclared(answer, ctx, "completions")


@rule("completion/values-limit", level=MUST, fault=SERVER, on=RESULT, methods=METHOD, dirs=FROM_SERVER, eras=BOTH,
      source=SCHEMA + "CompleteResult")  # fmt: skip
def too_many_values(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A completion has more than 100 values, or members of another type.

    Why it matters: clients show what they get; more than a hundred is said with hasMore.
    Cannot tell: a total that contradicts the values is only noted.
    """
    found = answer.result.get("completion")
    if type(found) is not dict:
        return
    ctx.tested()
    values, total, more = (
        found.get("values", ABSENT),
        found.get("total", ABSENT),
        found.get("hasMore", ABSENT),
    )
    path = "/result/completion/"
    if type(values) is not list or not all(type(v) is str for v in values):
        absent = values is ABSENT
        yield ctx.finding(answer, saw="absent" if absent else values, expected="an array of strings",
                          path=path + "values", text="the completion has no values" if absent
                          else "values are no array of strings")  # fmt: skip
    elif len(values) > VALUES:
        yield ctx.finding(answer, saw=f"{len(values)} values", expected=f"at most {VALUES}", path=path + "values",
                          text=f"the completion has {len(values)} values")  # fmt: skip
    if total is not ABSENT and type(total) not in (int, float):
        yield ctx.finding(
            answer, saw=total, expected="a number", path=path + "total", text="total is no number"
        )
    if more is not ABSENT and type(more) is not bool:
        yield ctx.finding(
            answer, saw=more, expected="a boolean", path=path + "hasMore", text="hasMore is no boolean"
        )
    if type(values) is list and type(total) in (int, float):
        if total < len(values):
            yield ctx.finding(answer, saw=total, path=path + "total", level="info",
                              text=f"total is {total}, and there are {len(values)} values")  # fmt: skip
        elif more is False and total > len(values):
            yield ctx.finding(answer, saw=total, path=path + "total", level="info",
                              text=f"hasMore is false, and total is {total} with {len(values)} values")  # fmt: skip


@rule("completion/request-shape", level=MUST, fault=CLIENT, on=REQUEST, methods=METHOD, dirs=FROM_CLIENT, eras=BOTH,
      source=SCHEMA + "CompleteRequestParams")  # fmt: skip
def asks_for_no_completion(request: Message, ctx: Context) -> Iterator[Finding]:
    """completion/complete lacks a ref or an argument, or has one that is none.

    Why it matters: the server cannot tell which argument of what is to be completed.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    ctx.tested()
    params = request.params
    for path, saw, wanted in _faults(params):
        absent = saw is ABSENT
        what = "missing" if absent else f"not {wanted}"
        yield ctx.finding(request, saw="absent" if absent else saw, expected=wanted, path="/params" + path,
                          text=f"{path[1:].replace('/', '.')} is {what}")  # fmt: skip


def _faults(params: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    ref, argument = params.get("ref", ABSENT), params.get("argument", ABSENT)
    if type(ref) is not dict:
        yield "/ref", ref, "an object"
    else:
        kind = ref.get("type", ABSENT)
        named = {"ref/prompt": "name", "ref/resource": "uri"}.get(kind) if type(kind) is str else None
        if named is None:
            yield "/ref/type", kind, "ref/prompt or ref/resource"
        elif type(ref.get(named)) is not str:
            yield f"/ref/{named}", ref.get(named, ABSENT), "a string"
    if type(argument) is not dict:
        yield "/argument", argument, "an object"
    else:
        for name in ("name", "value"):
            if type(argument.get(name)) is not str:
                yield f"/argument/{name}", argument.get(name, ABSENT), "a string"
    context = params.get("context", {})
    known = context.get("arguments", {}) if type(context) is dict else None
    if type(known) is not dict or not all(type(v) is str for v in known.values()):
        yield (
            "/context/arguments" if type(context) is dict else "/context",
            context,
            "a map of strings to strings",
        )


@rule("completion/error-codes", level=SHOULD, fault=SERVER, on=FAULT, methods=METHOD, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#error-handling")  # fmt: skip
def completion_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A completion is refused with a code that the page does not have for it.

    Why it matters: a client can tell a wrong name from a missing feature by the code alone.
    Cannot tell: whether the prompt is unknown, but by a whole list that this credential got. Codes of the protocol for
    headers, versions and capabilities are right.
    """
    exchange, code = ctx.exchange, said.code(answer)
    if exchange is None or code is None or code in EXPLAINED:
        return
    ctx.tested()
    ref = exchange.request.params.get("ref")
    name = ref.get("name") if type(ref) is dict and ref.get("type") == "ref/prompt" else None
    listed = newest(ctx.memory, exchange, "prompts/list", ctx.channel) if type(name) is str else None
    if listed is not None and name not in listed["names"] and code != -32602:
        if code == -32601 and _unsupported(answer):
            return
        yield ctx.finding(answer, saw=code, expected=-32602, also=[exchange.request, listed["key"]], path="/error/code",
                          text=f"the unknown prompt {name!r:.60} is refused with {code}, not -32602")  # fmt: skip
    elif code not in STANDARD:
        yield ctx.finding(answer, saw=code, expected=list(STANDARD), also=[exchange.request], path="/error/code",
                          text=f"a completion is refused with {code}")  # fmt: skip


def _unsupported(answer: Message) -> bool:
    text = said.words(answer).lower()
    return "method" in text or "support" in text or "complet" in text


@rule("completion/debounced", level=SHOULD, fault=CLIENT, on=REMARKED, exercised=REQUEST, methods=METHOD,
      dirs=FROM_CLIENT, eras=BOTH, source=PAGE + "#implementation-considerations")  # fmt: skip
def asks_at_every_key(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client asks for completions more than ten times a second, for two seconds.

    Why it matters: nearly all of these answers are stale when they come.
    Cannot tell: the threshold is ours, so it is only noted.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    burst = remarks.get("burst") if remarks is not None and request.kind == "request" else None
    if burst is not None:
        yield ctx.finding(request, saw=f"{burst} in 2 s", expected="at most 20 in 2 s", level="info")
