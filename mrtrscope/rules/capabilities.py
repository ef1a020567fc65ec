"""basic/versioning, schema: what the capability objects of both sides may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import ABANDONED, META_CAPABILITIES, MRTR_METHODS, Operation
from mrtrscope.link.processes import DISCOVER
from mrtrscope.rules import keys
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.meta_keys import extensions
from mrtrscope.rules.methods import UI
from mrtrscope.rules.questions import CAPABILITY, pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    DECLARATION,
    EITHER,
    META,
    MUST,
    REQUEST,
    RESULT,
    SERVER,
    SETTLED,
    rule,
)
from mrtrscope.wire.events import Message

SCHEMA = "schema/2026-07-28/schema.ts"
EXTENSIONS = "2026-07-28/basic/versioning#extension-negotiation"
CLIENT_PATH = pointer("params", "_meta", META_CAPABILITIES)
UNANSWERED = 3  # questions of one kind that nobody answered before it is noted; ours

_OBJECTS = ("tools", "prompts", "resources", "completions", "logging", "extensions", "experimental")
_FLAGS = (
    ("tools", "listChanged"),
    ("prompts", "listChanged"),
    ("resources", "listChanged"),
    ("resources", "subscribe"),
)


@rule("capability/client-values-are-objects", level=MUST, fault=CLIENT, on=DECLARATION, exercised=REQUEST,
      dirs=("c2s",), facet="declaration", source=SCHEMA + " ClientCapabilities")  # fmt: skip
def client_capability_of_another_type(request: Message, ctx: Context) -> Iterator[Finding]:
    """A capability of the client is no object.

    Why it matters: servers that look for its members stop there; true is not how a capability is declared.
    Cannot tell: members of sampling and elicitation that this revision does not know, and those of roots, are passed
    over.
    """
    capabilities = request.meta.get(META_CAPABILITIES)
    if type(capabilities) is not dict:
        return
    for name in ("roots", "sampling", "elicitation", "extensions", "experimental"):
        value = capabilities.get(name, {})
        at = f"{CLIENT_PATH}/{name}"
        if type(value) is not dict:
            yield _wrong(request, ctx, value, "an object", at)
        elif name != "roots":
            for key, inner in value.items():
                known = name in ("extensions", "experimental") or key in ("context", "tools", "form", "url")
                if known and type(inner) is not dict:
                    yield _wrong(request, ctx, inner, "an object", at + pointer(key))


@rule("capability/server-values-valid", level=MUST, fault=SERVER, on=RESULT, dirs=("s2c",), methods=(DISCOVER,),
      source=SCHEMA + " ServerCapabilities")  # fmt: skip
def server_capability_of_another_type(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A capability of the server has another type than the schema says.

    Why it matters: strict clients refuse the whole discover result.
    Cannot tell: members that the schema does not know are passed over. Capabilities that are no object are
    discover/result-fields.
    """
    capabilities = answer.result.get("capabilities")
    if type(capabilities) is not dict:
        return
    ctx.tested()
    for name in _OBJECTS:
        if type(capabilities.get(name, {})) is not dict:
            yield _wrong(answer, ctx, capabilities[name], "an object", f"/result/capabilities/{name}")
    for name, flag in _FLAGS:
        holder = capabilities.get(name)
        if type(holder) is dict and type(holder.get(flag, True)) is not bool:
            yield _wrong(answer, ctx, holder[flag], "a boolean", f"/result/capabilities/{name}/{flag}")
    inner = capabilities.get("extensions")
    for key, value in inner.items() if type(inner) is dict else ():
        if type(value) is not dict:
            yield _wrong(answer, ctx, value, "an object", f"/result/capabilities/extensions{pointer(key)}")


@rule("capability/legacy-members", level=ADVISORY, fault=EITHER, on=DECLARATION, exercised=REQUEST, dirs=("c2s",),
      facet="declaration here", source=SCHEMA + " ClientCapabilities, ServerCapabilities")  # fmt: skip
def member_of_an_earlier_revision(request: Message, ctx: Context) -> Iterator[Finding]:
    """A capability is declared that only earlier revisions have.

    Why it matters: it means nothing any more; who declared it waits for something that will not come.
    Cannot tell: capability objects are open, so it is only noted, once a member.
    """
    capabilities = request.meta.get(META_CAPABILITIES)
    if type(capabilities) is not dict:
        return
    roots = capabilities.get("roots")
    for name, there in (
        ("roots/listChanged", type(roots) is dict and "listChanged" in roots),
        ("tasks", "tasks" in capabilities),
    ):
        if there and ctx.first(name):
            yield ctx.finding(request, saw=name, path=f"{CLIENT_PATH}/{name}", fault=sender(request))


@rule("capability/extension-id-format", level=MUST, fault=EITHER, on=(DECLARATION, META), exercised=REQUEST,
      facet="declaration", source=EXTENSIONS)  # fmt: skip
def bad_extension_id(message: Message, ctx: Context) -> Iterator[Finding]:
    """The identifier of an extension has no prefix, or not the form of a _meta key.

    Why it matters: without a prefix two extensions of different owners have the same name.
    Cannot tell: nothing; it speaks whenever such a message is seen. Identifiers stand in requests and in discover
    results.
    """
    for path, key in extensions(message, ctx):
        faults = keys.faults(key)
        if "/" not in key or keys.PREFIX in faults or keys.NAME in faults:
            yield ctx.finding(message, saw=key, expected="com.example/name", path=path, fault=sender(message))


@rule("capability/extension-used-only-if-both", level=MUST, fault=EITHER, on=RESULT, dirs=("s2c",),
      methods=("tools/call",), facet="result", source=EXTENSIONS)  # fmt: skip
def extension_the_client_lacks(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result means something only to clients with an extension that this one does not declare.

    Why it matters: the client shows nothing, and its model gets nothing.
    Cannot tell: extensions whose traces are not known; whether a client can show such a resource all the same. Known is
    the one for user interfaces: a result of ui:// resources alone. Tasks have rules of their own.
    """
    exchange = ctx.exchange
    if b"ui://" not in answer.raw or exchange is None or exchange.capabilities is None:
        return
    content = answer.result.get("content")
    if type(content) is not list or not content or not all(map(_ui, content)):
        return
    ctx.tested()
    declared = exchange.capabilities.get("extensions")
    if type(declared) is not dict or UI not in declared:
        yield ctx.finding(
            answer, saw="ui:// resources only", expected="content for clients without the extension as well",
            path="/result/content", fault="server", also=[exchange.request],
        )  # fmt: skip


@rule("capability/client-declares-but-never-answers", level=ADVISORY, fault=CLIENT, on=SETTLED, facet="ended",
      methods=MRTR_METHODS, source="2026-07-28/client/elicitation#capabilities")  # fmt: skip
def declared_and_never_answered(operation: Operation, ctx: Context) -> Iterator[Finding]:
    """The client declares a capability and answers no question of that kind.

    Why it matters: it probably has nobody who would; servers ask, and their calls are never finished.
    Cannot tell: the user may have walked away each time. It takes three questions; one answer, whichever, refutes it.
    """
    exchange = ctx.exchange
    if operation.outcome != ABANDONED or exchange is None or exchange.ask is None or exchange.answer is None:
        return
    counts = ctx.channel.facts.get("questions", {}).get(exchange.client.peer, {})
    for method, name in CAPABILITY.items():
        if name not in (exchange.capabilities or ()):
            continue  # rightly answers none: mrtr/input-request-capability-declared
        asked, answered = counts.get(method, (0, 0))
        if asked:
            ctx.tested()
        if asked >= UNANSWERED and not answered and ctx.first(exchange.client.peer, method):
            yield ctx.finding(
                exchange.answer, saw=f"{asked} asked, none answered", expected=f"an answer, or no {name} declared",
                path=name, text=f"the client declares {name} and has answered none of {asked} questions",
            )  # fmt: skip


def _wrong(message: Message, ctx: Context, saw: Any, expected: str, path: str) -> Finding:
    return ctx.finding(message, saw=saw, expected=expected, path=path)


def _ui(block: Any) -> bool:
    if type(block) is not dict or block.get("type") not in ("resource", "resource_link"):
        return False
    holder = block.get("resource") if block["type"] == "resource" else block
    uri = holder.get("uri") if type(holder) is dict else None
    return type(uri) is str and uri.startswith("ui://")
