"""basic/index#result-responses: resultType, and what the result of each method must have."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY
from mrtrscope.link.runs import run_of
from mrtrscope.link.untyped import taken_up
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.methods import TASKS
from mrtrscope.rules.registry import (
    BOTH,
    CLIENT,
    MUST,
    REMARKED,
    RESULT,
    RESULT_FORM,
    RETRY,
    SERVER,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/index"
CORE_TYPES = ("complete", "input_required")

# What a complete result must have, and of which type.
REQUIRED = {
    "tools/call": (("content", list),),
    "prompts/get": (("messages", list),),
    "resources/read": (("contents", list),),
    "tools/list": (("tools", list),),
    "prompts/list": (("prompts", list),),
    "resources/list": (("resources", list),),
    "resources/templates/list": (("resourceTemplates", list),),
    "completion/complete": (("completion", dict),),
}
_WORDS = {list: "an array", dict: "an object"}


@rule("result/result-type-present", level=MUST, fault=SERVER, on=RESULT_FORM, exercised=RESULT, dirs=("s2c",),
      source=PAGE + "#result-responses")  # fmt: skip
def no_result_type(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result has no resultType.

    Why it matters: without it a question cannot be told from a final result.
    Cannot tell: the era is that of the request. A server that never shows one, and had a handshake or does not know
    server/discover, is of an older revision and does not read what the request says; that is reported once.
    """
    if answer.kind != "response" or ctx.exchange is None or answer is not ctx.exchange.answer:
        return
    if type(answer.body["result"]) is not dict:
        return
    value = answer.result.get("resultType", ABSENT)
    if type(value) is str:
        yield from _inner(answer, ctx)
        return
    run = run_of(ctx.channel, answer)
    typed = "typed" in run.facts
    older = run.initialized > 0 or "discover_refused" in run.facts
    if value is ABSENT and not typed and older and not ctx.first():
        return
    hint = "" if typed else "; none before had one: perhaps the server speaks an older revision"
    text = ("the result has no resultType" if value is ABSENT else "resultType is no string") + hint
    yield ctx.finding(
        answer,
        saw="absent" if value is ABSENT else value,
        expected="complete",
        path="/result/resultType",
        text=text,
    )


@rule("result/result-type-known", level=MUST, fault=SERVER, on=RESULT_FORM, exercised=RESULT, dirs=("s2c",),
      source=PAGE + "#resulttype")  # fmt: skip
def unknown_result_type(answer: Message, ctx: Context) -> Iterator[Finding]:
    """resultType is neither of the core protocol nor of an extension that the client declared.

    Why it matters: the client must take the whole response for invalid.
    Cannot tell: an extension that is not known here may define it; with one declared it is only noted. "task" has a
    rule of its own.
    """
    value = answer.result.get("resultType")
    if type(value) is not str or value in CORE_TYPES or value == "task":
        return
    declared = ctx.exchange.capabilities if ctx.exchange is not None else None
    extensions = declared.get("extensions") if declared is not None else None
    strange = [key for key in extensions if key != TASKS] if type(extensions) is dict else []
    yield ctx.finding(
        answer,
        saw=value,
        expected=list(CORE_TYPES),
        path="/result/resultType",
        level="info" if strange else None,
    )


@rule("result/required-fields-present", level=MUST, fault=SERVER, on=RESULT, dirs=("s2c",), eras=BOTH, methods=REQUIRED,
      facet="result",
      source="schema/2026-07-28/schema.ts CallToolResult, GetPromptResult, ReadResourceResult, List*Result, "
             "CompleteResult, DiscoverResult")  # fmt: skip
def field_missing(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A complete result lacks a member that results of its method have.

    Why it matters: clients read it without asking whether it is there.
    Cannot tell: an empty array is there. A task of 2025-11-25 or of the extension is another result. What
    server/discover must have is discover/result-fields.
    """
    exchange = ctx.exchange
    result = answer.body["result"]
    if exchange is None or type(result) is not dict or result.get("resultType", "complete") != "complete":
        return
    if ctx.era == LEGACY and ("task" in result or "toolResult" in result):
        return
    if "resultType" not in result and not result.keys().isdisjoint(("inputRequests", "requestState")):
        return  # a question that forgot to say so: mrtr/input-fields-need-result-type
    ctx.tested()
    for name, kind in REQUIRED[exchange.method]:
        value = result.get(name, ABSENT)
        if type(value) is not kind:
            missing = value is ABSENT
            yield ctx.finding(
                answer,
                saw="absent" if missing else value,
                expected=_WORDS[kind],
                path=f"/result/{name}",
                text=f"the result of {exchange.method} has no {name}"
                if missing
                else f"{name} in the result of {exchange.method} is not {_WORDS[kind]}",
            )


@rule("result/absent-result-type-means-complete", level=MUST, fault=CLIENT, on=RETRY, dirs=("c2s",),
      facet="round", source=PAGE + "#resulttype")  # fmt: skip
def untyped_result_taken_for_a_question(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client goes on with a result that had no resultType, as if it asked for input.

    Why it matters: without resultType it is a final result; what the client does rests on a guess.
    Cannot tell: whether a client that does not go on read it as final. Only what it sends shows it.
    """
    yield from _taken_up(request, ctx, typed=False)


@rule("result/unknown-result-type-invalid", level=MUST, fault=CLIENT, on=(RETRY, REMARKED), dirs=("c2s",),
      facet="round", source=PAGE + "#resulttype")  # fmt: skip
def unknown_result_type_acted_on(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client goes on with a result whose resultType nobody knows.

    Why it matters: it is an invalid response; what its members mean is not said anywhere.
    Cannot tell: whether a client that does not go on took it for invalid.
    """
    if request.kind == "request":
        yield from _taken_up(request, ctx, typed=True)


def _taken_up(request: Message, ctx: Context, typed: bool) -> Iterator[Finding]:
    exchange = ctx.exchange
    if exchange is None or exchange.link is not None:
        return
    found = taken_up(ctx.memory, exchange)
    if found is not None and found[1] == typed:
        ctx.tested()
        yield ctx.finding(request, saw=sorted(request.params), also=[found[0]], path="/params")


def _inner(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The result inside a finished task follows the method that was called."""
    if (
        ctx.exchange is None
        or ctx.exchange.method != "tasks/get"
        or answer.result.get("status") != "completed"
    ):
        return
    inner = answer.result.get("result")
    if type(inner) is dict and "resultType" not in inner:
        yield ctx.finding(
            answer, saw="absent", expected="complete", path="/result/result/resultType", level="info",
            text="the result of the finished task has no resultType",
        )  # fmt: skip
