"""server/tools#tool-result, #structured-content, #output-schema: what a call gives back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.offers import offered
from mrtrscope.link.runs import run_of
from mrtrscope.link.tools import Tool, defined
from mrtrscope.rules import said
from mrtrscope.rules.content import BLOCKS, SHOWN, block_faults
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.json_schema import ready
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import BOTH, MUST, RESULT, RICH, SERVER, SHAPE, SHOULD, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/tools"
SCHEMA = "schema/2026-07-28/schema.ts "
CALL = ("tools/call",)
TASK = ("tasks/get", "tasks/result")
FROM_SERVER = ("s2c",)
TEXT_LIMIT = 1 << 20


@rule("tools/structured-conforms", level=MUST, fault=SERVER, on=RESULT, methods=CALL + TASK, dirs=FROM_SERVER,
      eras=BOTH, facet="result", source=PAGE + "#output-schema")  # fmt: skip
def structured_content_does_not_conform(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A tool with an outputSchema gives no structuredContent, or one that does not fit it.

    Why it matters: clients and code written for the tool take the schema for granted.
    Cannot tell: questions and tasks are no results yet; the result of a task is. A tool error may leave it out, and
    what it holds then is only noted. Silent without a definition for this credential, or with one that is too large.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    tool, result, path = exchange.tool, answer.result, "/result"
    if exchange.method != CALL[0]:
        tool, result, path = _of_task(answer, exchange, ctx)
    if tool is None or tool.definition.output is ABSENT:
        return
    if result.get("resultType", "complete") != "complete" or "task" in result or not result:
        return
    if "resultType" not in result and not result.keys().isdisjoint(("inputRequests", "requestState")):
        return  # a question that forgot to say so: mrtr/input-fields-need-result-type
    failed, definition = result.get("isError") is True, tool.definition
    value = result.get("structuredContent", ABSENT)
    also = [exchange.request.key, tool.key]
    if value is ABSENT:
        if not failed:
            ctx.tested()
            yield ctx.finding(answer, saw=sorted(result), expected="structuredContent", also=also,
                              path=path + "/structuredContent",
                              text=f"the tool {tool.name[:80]!r} has an outputSchema, and its result no "
                              "structuredContent")  # fmt: skip
        return
    faults = ready(definition.output, definition.digest, "out").faults(value, len(answer.raw))
    if faults is None:
        return
    ctx.tested()
    for fault in faults:
        where = pointer(*fault.path)
        yield ctx.finding(answer, saw=fault.saw, expected={fault.keyword: fault.expected}, also=also,
                          path=f"{path}/structuredContent{where}", level="info" if failed else None,
                          text=f"structuredContent{where.replace('/', '.')} {fault.words()}")  # fmt: skip


def _of_task(answer: Message, exchange: Exchange, ctx: Context) -> tuple[Tool | None, dict[str, Any], str]:
    """The tool whose call became this task, the result of that call, and where it stands."""
    operation = ctx.operation
    if operation is None or operation.method != CALL[0] or not operation.target:
        return None, {}, ""
    result, path = answer.result, "/result"
    if exchange.method == TASK[0]:
        inner = result.get("result")
        if result.get("status") != "completed" or type(inner) is not dict:
            return None, {}, ""
        result, path = inner, "/result/result"
    tool = defined(ctx.memory, exchange, operation.target)
    if tool is not None and tool.t < run_of(ctx.channel, answer).since:
        tool = None  # of the server that was here before
    return tool, result, path


@rule("tools/structured-has-text", level=SHOULD, fault=SERVER, on=RICH, methods=CALL, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#structured-content")  # fmt: skip
def structured_without_text(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result has structuredContent and no text block.

    Why it matters: clients that know texts only, and models behind them, see nothing.
    Cannot tell: the text may be prose; that it is not the JSON is only noted.
    """
    result = answer.result
    if "structuredContent" not in result or type(result.get("content")) is not list:
        return
    ctx.tested()
    texts = said.texts(answer)
    if not texts:
        yield ctx.finding(
            answer, saw=result["content"], expected="a text block with the JSON", path="/result/content"
        )
    elif not any(_says(text, result["structuredContent"]) for text in texts[:8]):
        yield ctx.finding(answer, saw=texts[0][:200], path="/result/content", level="info",
                          text="no text block is the JSON of structuredContent")  # fmt: skip


def _says(text: str, value: Any) -> bool:
    """The text is the JSON of the value, or of the one thing that the value wraps up in an object."""
    if len(text) > TEXT_LIMIT:
        return True  # not looked at
    if type(value) is dict and len(value) == 1:
        inner = next(iter(value.values()))
        if inner == text or _says(text, inner):
            return True
    try:
        return bool(json.loads(text) == value)  # True for 1 is near enough for a note
    except (ValueError, RecursionError):
        return False


@rule("tools/content-blocks-valid", level=MUST, fault=SERVER, on=(RICH, SHAPE), methods=CALL + TASK, dirs=FROM_SERVER,
      eras=BOTH, source=SCHEMA + "ContentBlock")  # fmt: skip
def block_is_misshapen(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A content block of a tool result has no type that exists, lacks a member, or holds no Base64.

    Why it matters: clients drop what they cannot show; the model does not see it.
    Cannot tell: Base64 with line breaks is read by many decoders; noted.
    """
    for path, content in _contents(answer):
        for n, block in enumerate(content[:SHOWN]):
            ctx.tested()
            for below, saw, what, level in block_faults(block, BLOCKS):
                yield ctx.finding(answer, saw=saw, path=f"{path}/{n}{below}", level=level,
                                  text=f"a block of a tool result {what}")  # fmt: skip


def _contents(answer: Message) -> Iterator[tuple[str, list[Any]]]:
    """Arrays of content: of the result, and of the result inside a finished task."""
    if answer.kind != "response":
        return
    result = answer.result
    if type(result.get("content")) is list:
        yield "/result/content", result["content"]
    inner = result.get("result")
    if type(inner) is dict and type(inner.get("content")) is list:
        yield "/result/result/content", inner["content"]


@rule("tools/embedded-resource-capability", level=SHOULD, fault=SERVER, on=RICH, methods=CALL, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#embedded-resources")  # fmt: skip
def embeds_without_resources(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result embeds a resource, and the server did not declare resources.

    Why it matters: the client can neither list it nor read it again.
    Cannot tell: when no answer with capabilities was seen for this credential.
    """
    content = answer.result.get("content")
    kinds = {b.get("type") for b in content[:SHOWN] if type(b) is dict and type(b.get("type")) is str} \
        if type(content) is list else set()  # fmt: skip
    capabilities = (
        offered(ctx.channel, ctx.exchange) if "resource" in kinds and ctx.exchange is not None else None
    )
    if capabilities is None:
        return
    ctx.tested()
    if "resources" not in capabilities:
        yield ctx.finding(answer, saw=sorted(capabilities), expected="resources", path="/result/content")
