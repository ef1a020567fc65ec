"""server/prompts: lists of prompts, and the messages that one becomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Operation
from mrtrscope.link.listings import newest
from mrtrscope.rules import said
from mrtrscope.rules.content import BLOCKS, SHOWN, block_faults, media_type_fault
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.formats import base64_fault, uri_fault
from mrtrscope.rules.listings import EXPLAINED, unanswered, undeclared
from mrtrscope.rules.registry import (
    BOTH,
    CLIENT,
    FAULT,
    MUST,
    REQUEST,
    RESULT,
    SERVER,
    SETTLED,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/prompts"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
GET, LIST = ("prompts/get",), ("prompts/list",)
ROLES = ("user", "assistant")
CODES = (-32602, -32603)


@rule("prompts/capability-declared", level=MUST, fault=SERVER, on=RESULT, methods=GET + LIST, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#capabilities")  # fmt: skip
def prompts_undeclared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server has prompts and did not declare the capability.

    Why it matters: clients that read the capabilities never ask for them.
    Cannot tell: when no answer with capabilities was seen for this credential.
    """
    return undeclared(answer, ctx, "prompts")


@rule("prompts/list-answered", level=MUST, fault=SERVER, on=(FAULT, SETTLED), methods=LIST, eras=BOTH,
      source=PAGE + "#capabilities")  # fmt: skip
def prompts_do_not_exist(event: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """A server declares prompts and does not know prompts/list.

    Why it matters: the client shows an error for what it was told to ask for; an empty list would do.
    Cannot tell: refusals for access, version, headers or a cursor have their reasons.
    """
    yield from unanswered(event, ctx, "prompts")


@rule("prompts/error-codes", level=SHOULD, fault=SERVER, on=(FAULT, RESULT), methods=GET, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#error-handling")  # fmt: skip
def prompt_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An unknown prompt, or a missing argument, is refused with another code than -32602.

    Why it matters: by the code a client tells its own mistake from the server's.
    Cannot tell: what is unknown but by a whole list that this credential got; a list may have changed since. A result
    in spite of a missing argument is only noted. Codes for headers, versions and capabilities are right.
    """
    exchange = ctx.exchange
    if exchange is None or not exchange.target:
        return
    code = said.code(answer)
    if answer.kind == "error" and (code is None or code in EXPLAINED or code in CODES):
        if code in CODES:
            ctx.tested()
        return
    listed = newest(ctx.memory, exchange, "prompts/list", ctx.channel)
    if listed is None:
        return
    ctx.tested()
    unknown = exchange.target not in listed["names"]
    given = exchange.arguments if type(exchange.arguments) is dict else {}
    missing = [name for name in listed["needs"].get(exchange.target, ()) if name not in given]
    also = [exchange.request, listed["key"]]
    if answer.kind == "error":
        if unknown or missing:
            what = "an unknown prompt" if unknown else f"a request without {missing[0]!r:.60}"
            yield ctx.finding(answer, saw=code, expected=-32602, also=also, path="/error/code",
                              text=f"{what} is refused with {code}, not -32602")  # fmt: skip
    elif missing and said.complete(answer):
        yield ctx.finding(answer, saw="a result", expected=-32602, also=also, level="info",
                          text=f"the required argument {missing[0]!r:.60} is missing; there is a result")  # fmt: skip


@rule("prompts/arguments-are-strings", level=MUST, fault=CLIENT, on=REQUEST, methods=GET, dirs=FROM_CLIENT, eras=BOTH,
      source=SCHEMA + "GetPromptRequestParams")  # fmt: skip
def argument_is_no_string(request: Message, ctx: Context) -> Iterator[Finding]:
    """An argument of prompts/get is no string.

    Why it matters: prompts take strings only; a server that checks refuses the request.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    given = request.params.get("arguments", {})
    ctx.tested()
    if type(given) is not dict:
        yield ctx.finding(request, saw=given, expected="a map of strings", path="/params/arguments",
                          text="arguments of prompts/get is no object")  # fmt: skip
        return
    for name, value in given.items():
        if type(value) is not str:
            yield ctx.finding(request, saw=value, expected="a string", path=f"/params/arguments/{name}",
                              text=f"the argument {name!r:.60} is no string")  # fmt: skip


def _messages(answer: Message) -> Iterator[tuple[str, Any]]:
    messages = answer.result.get("messages")
    for n, entry in enumerate(messages[:SHOWN] if type(messages) is list else ()):
        yield f"/result/messages/{n}", entry


def _contents(answer: Message) -> Iterator[tuple[str, dict[str, Any]]]:
    """The content block of every message."""
    for path, entry in _messages(answer):
        content = entry.get("content") if type(entry) is dict else None
        if type(content) is dict:
            yield path + "/content", content


@rule("prompts/message-valid", level=MUST, fault=SERVER, on=RESULT, methods=GET, dirs=FROM_SERVER, eras=BOTH,
      source=SCHEMA + "PromptMessage")  # fmt: skip
def prompt_message_is_misshapen(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A message of a prompt has a role that does not exist, or not one content block.

    Why it matters: hosts put these messages in front of a model as they are; there is no system role, and content is
    one block, not an array.
    Cannot tell: beyond the first 1,000 messages. What data and resources hold is prompts/media-encoded and
    prompts/embedded-resource-fields.
    """
    for path, entry in _messages(answer):
        ctx.tested()
        if type(entry) is not dict:
            yield ctx.finding(answer, saw=entry, path=path, text="a message of the prompt is no object")
            continue
        role, content = entry.get("role", ABSENT), entry.get("content", ABSENT)
        if type(role) is not str or role not in ROLES:
            absent = role is ABSENT
            yield ctx.finding(answer, saw="absent" if absent else role, expected=list(ROLES), path=path + "/role",
                              text="a message of the prompt has no role" if absent
                              else f"a message of the prompt has the role {role!r:.60}")  # fmt: skip
        if type(content) is not dict:
            what = "no content" if content is ABSENT else "an array" if type(content) is list else "no block"
            yield ctx.finding(answer, saw="absent" if content is ABSENT else content, expected="one block",
                              path=path + "/content",
                              text=f"a message of the prompt has {what} for content")  # fmt: skip
            continue
        for below, saw, what, level in block_faults(content, BLOCKS):
            if below == "/data" or below.startswith("/resource"):
                continue  # prompts/media-encoded, prompts/embedded-resource-fields
            yield ctx.finding(answer, saw=saw, path=f"{path}/content{below}", level=level,
                              text=f"the block of a prompt {what}")  # fmt: skip


@rule("prompts/media-encoded", level=MUST, fault=SERVER, on=RESULT, methods=GET, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#image-content")  # fmt: skip
def media_is_not_encoded(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An image or sound of a prompt is no Base64, or has no valid media type.

    Why it matters: the client decodes it with the one and shows it by the other.
    Cannot tell: line breaks are read by many decoders, and another kind of media may be meant; noted.
    """
    for path, block in _contents(answer):
        if block.get("type") not in ("image", "audio"):
            continue
        ctx.tested()
        data = block.get("data", ABSENT)
        if type(data) is not str:
            yield ctx.finding(answer, saw="absent" if data is ABSENT else data, expected="Base64", path=path + "/data",
                              text=f"the {block['type']} of a prompt has no data string")  # fmt: skip
        elif fault := base64_fault(data):
            yield ctx.finding(answer, saw=data[:80], expected="Base64", path=path + "/data",
                              level="info" if fault == "line breaks" else None,
                              text=f"the data of a prompt's {block['type']} is no plain Base64: {fault}")  # fmt: skip
        what, level = media_type_fault(block)
        if what:
            yield ctx.finding(answer, saw=block.get("mimeType"), expected="type/subtype", path=path + "/mimeType",
                              text=f"the {block['type']} of a prompt {what}", level=level)  # fmt: skip


@rule("prompts/embedded-resource-fields", level=MUST, fault=SERVER, on=RESULT, methods=GET, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#embedded-resources")  # fmt: skip
def embedded_resource_is_incomplete(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A resource in a prompt lacks its URI, its media type or its data.

    Why it matters: the page wants all three of a prompt's resources, so that a host can show them without asking again.
    Cannot tell: the schema makes mimeType optional, and only the page for prompts demands it.
    """
    for path, block in _contents(answer):
        inner = block.get("resource")
        if block.get("type") != "resource":
            continue
        ctx.tested()
        path += "/resource"
        if type(inner) is not dict:
            yield ctx.finding(answer, saw=block.get("resource", "absent"), expected="an object", path=path,
                              text="a resource block of a prompt has no resource")  # fmt: skip
            continue
        uri = inner.get("uri", ABSENT)
        if type(uri) is not str or uri_fault(uri):
            what = f"whose uri {uri_fault(uri)}" if type(uri) is str else "without a uri"
            yield ctx.finding(answer, saw="absent" if uri is ABSENT else uri, path=path + "/uri",
                              text=f"a resource in a prompt {what}")  # fmt: skip
        if type(inner.get("mimeType")) is not str:
            yield ctx.finding(answer, saw=inner.get("mimeType", "absent"), expected="a media type",
                              path=path + "/mimeType", text="a resource in a prompt has no mimeType; the schema leaves "
                              "it out, the page for prompts demands it")  # fmt: skip
        if type(inner.get("text")) is str:
            continue
        blob = inner.get("blob")
        fault = base64_fault(blob) if type(blob) is str else "there is none"
        if fault:
            yield ctx.finding(answer, saw=sorted(inner), expected="text, or Base64 in blob", path=path + "/blob",
                              level="info" if fault == "line breaks" else None,
                              text=f"a resource in a prompt has neither text nor Base64 data: {fault}")  # fmt: skip
