"""client/sampling: what a server may ask of the client's model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.rules.content import SAMPLED, SHOWN, block_faults, blocks_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.forms import named
from mrtrscope.rules.questions import QUESTION, SAMPLING, Question, asked
from mrtrscope.rules.registry import ASKED, BOTH, MUST, MUST_NOT, SERVER, SHOULD_NOT, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/sampling"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
ROLES = ("user", "assistant")
_OPTIONAL = (
    ("temperature", (int, float), "a number"), ("stopSequences", (list,), "an array of strings"),
    ("systemPrompt", (str,), "a string"), ("modelPreferences", (dict,), "an object"),
)  # fmt: skip


@rule("sampling/request-fields", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SCHEMA + "CreateMessageRequestParams")  # fmt: skip
def asks_without_messages(message: Message, ctx: Context) -> Iterator[Finding]:
    """A sampling request lacks messages or maxTokens, or has a parameter of another type.

    Why it matters: the client has nothing to give to its model, or no bound for what comes back.
    Cannot tell: 100.0 is an integer as JSON goes.
    """
    for question in asked(message, ctx, SAMPLING):
        ctx.tested()
        path = question.path + "/params/"
        messages = question.params.get("messages", ABSENT)
        if type(messages) is not list:
            yield _wrong(message, ctx, path + "messages", messages, "an array")
        limit = question.params.get("maxTokens", ABSENT)
        if not (type(limit) is int or (type(limit) is float and limit.is_integer())):
            yield _wrong(message, ctx, path + "maxTokens", limit, "an integer")
        for name, types, words in _OPTIONAL:
            value = question.params.get(name, ABSENT)
            if value is not ABSENT and type(value) not in types:
                yield _wrong(message, ctx, path + name, value, words)
            elif type(value) is list and not all(type(one) is str for one in value):
                yield _wrong(message, ctx, path + name, value, "an array of strings")


def _wrong(message: Message, ctx: Context, path: str, value: Any, wanted: str) -> Finding:
    name, absent = path.rpartition("/")[2], value is ABSENT
    return ctx.finding(
        message,
        saw="absent" if absent else value,
        expected=wanted,
        path=path,
        text=f"a sampling request has no {name}"
        if absent
        else f"{name} of a sampling request is not {wanted}",
    )


def _messages(question: Question) -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages of a sampling request that are objects."""
    messages = question.params.get("messages")
    for n, entry in enumerate(messages[:SHOWN] if type(messages) is list else ()):
        if type(entry) is dict:
            yield f"{question.path}/params/messages/{n}", entry


@rule("sampling/message-shape", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#messages")  # fmt: skip
def message_is_misshapen(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message to be sampled has a role or content that does not exist there.

    Why it matters: there is no system role in messages, and a block that no model takes cannot be passed on.
    Cannot tell: resources are allowed inside a tool_result, and only there.
    """
    for question in asked(message, ctx, SAMPLING):
        messages = question.params.get("messages")
        for n, entry in enumerate(messages[:SHOWN] if type(messages) is list else ()):
            ctx.tested()
            path = f"{question.path}/params/messages/{n}"
            if type(entry) is not dict:
                yield ctx.finding(message, saw=entry, path=path, text="a message to be sampled is no object")
                continue
            role = entry.get("role", ABSENT)
            if type(role) is not str or role not in ROLES:
                yield ctx.finding(message, saw="absent" if role is ABSENT else role, expected=list(ROLES),
                                  path=path + "/role", text="a message to be sampled has no role"
                                  if role is ABSENT else f"a message to be sampled has the role {role!r:.60}",
                                  )  # fmt: skip
            content = entry.get("content", ABSENT)
            if type(content) not in (dict, list):
                yield ctx.finding(message, saw="absent" if content is ABSENT else content, path=path + "/content",
                                  expected="a block or an array of blocks",
                                  text="a message to be sampled has no content block")  # fmt: skip
            for k, block in enumerate(blocks_of(content)):
                at = f"{path}/content" + (f"/{k}" if type(content) is list else "")
                for below, saw, what, level in block_faults(block, SAMPLED):
                    yield ctx.finding(message, saw=saw, path=at + below, level=level,
                                      text=f"a block of a message to be sampled {what}")  # fmt: skip


def _kinds(entry: dict[str, Any]) -> list[Any]:
    return [block.get("type") if type(block) is dict else None for block in blocks_of(entry.get("content"))]


@rule("sampling/tool-results-alone", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#tool-result-messages")  # fmt: skip
def tool_result_in_company(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message with a tool result holds something else as well, or is not the user's.

    Why it matters: providers have a role of its own for tool results; a mixed message cannot be sent to them.
    Cannot tell: beyond the first 1,000 messages of a question.
    """
    for question in asked(message, ctx, SAMPLING):
        for path, entry in _messages(question):
            kinds = _kinds(entry)
            if "tool_result" not in kinds:
                continue
            ctx.tested()
            others = sorted({str(kind) for kind in kinds if kind != "tool_result"})
            if others:
                yield ctx.finding(message, saw=others, expected="tool_result only", path=path + "/content",
                                  text=f"a message with a tool_result also holds {', '.join(others):.100}")  # fmt: skip
            elif entry.get("role") == "assistant":
                yield ctx.finding(message, saw="assistant", expected="user", path=path + "/role",
                                  text="a tool_result stands in a message of the assistant")  # fmt: skip


@rule("sampling/tool-use-balanced", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#tool-use-and-result-balance")  # fmt: skip
def tool_use_without_its_result(message: Message, ctx: Context) -> Iterator[Finding]:
    """A tool use is not followed at once by its result, or a result belongs to no use.

    Why it matters: providers refuse a conversation whose tool uses are not all answered, in order.
    Cannot tell: beyond the first 1,000 messages of a question.
    """
    for question in asked(message, ctx, SAMPLING):
        entries = list(_messages(question))
        if not any("tool_use" in _kinds(entry) or "tool_result" in _kinds(entry) for _, entry in entries):
            continue
        ctx.tested()
        for path, saw, what in _unbalanced(entries):
            yield ctx.finding(message, saw=saw, path=path, text=what)


def _ids(entry: dict[str, Any], kind: str, name: str) -> list[str]:
    return [
        str(block.get(name))
        for block in blocks_of(entry.get("content"))
        if type(block) is dict and block.get("type") == kind
    ]


def _unbalanced(entries: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, Any, str]]:
    known: set[str] = set()
    for n, (path, entry) in enumerate(entries):
        uses = _ids(entry, "tool_use", "id") if entry.get("role") == "assistant" else []
        for id in _ids(entry, "tool_result", "toolUseId"):
            if id not in known:
                yield (
                    f"{path}/content {id}",
                    id,
                    f"a tool_result names the tool use {id!r:.60}, which is not before it",
                )
        if len(set(uses)) < len(uses) or known & set(uses):
            yield path + "/content", uses, "a tool use has an id that another one has"
        known |= set(uses)
        if not uses:
            continue
        following = entries[n + 1][1] if n + 1 < len(entries) else None
        if following is None:
            yield path + "/content", uses, "the last message uses tools, and no result follows"
            continue
        results = _ids(following, "tool_result", "toolUseId")
        if following.get("role") != "user" or set(results) != set(uses) or len(results) != len(uses):
            lacking = sorted(set(uses) - set(results))
            yield (
                path + "/content",
                {"used": uses, "answered": results},
                f"the message after a tool use lacks the result of {', '.join(lacking):.100}"
                if lacking
                else "the message after a tool use holds other results than those of its tools",
            )


@rule("sampling/tools-capability-declared", level=MUST_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#tools-in-sampling")  # fmt: skip
def tools_that_were_not_declared(message: Message, ctx: Context) -> Iterator[Finding]:
    """Sampling is asked with tools, though the client did not declare sampling.tools.

    Why it matters: the client drops them or refuses, and the server waits for a tool use that cannot come.
    Cannot tell: without sampling altogether another rule speaks; an empty array of tools is only noted. Tool uses that
    earlier messages tell of are no tools.
    """
    capabilities = ctx.exchange.capabilities if ctx.exchange is not None else None
    declared = capabilities.get("sampling") if capabilities is not None else None
    if type(declared) is not dict:
        return
    for question in asked(message, ctx, SAMPLING):
        ctx.tested()
        used = [name for name in ("tools", "toolChoice") if name in question.params]
        if used and "tools" not in declared:
            empty = used == ["tools"] and question.params["tools"] == []
            yield ctx.finding(
                message,
                saw=used,
                expected=sorted(declared),
                path=f"{question.path}/params/{used[0]}",
                text=f"{named(question)} has {' and '.join(used)}; the client did not declare sampling.tools",
                level="info" if empty else None,
            )


@rule("sampling/tool-choice-valid", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SCHEMA + "ToolChoice")  # fmt: skip
def choice_that_does_not_exist(message: Message, ctx: Context) -> Iterator[Finding]:
    """toolChoice is no object with the mode auto, required or none.

    Why it matters: the client cannot tell whether the model must, may or must not use tools.
    Cannot tell: without tools it means nothing, which is only noted.
    """
    for question in asked(message, ctx, SAMPLING):
        choice = question.params.get("toolChoice", ABSENT)
        if choice is ABSENT:
            continue
        ctx.tested()
        mode = choice.get("mode", "auto") if type(choice) is dict else ABSENT
        if type(mode) is not str or mode not in ("auto", "required", "none"):
            yield ctx.finding(message, saw=choice, expected={"mode": "auto, required or none"},
                              path=question.path + "/params/toolChoice",
                              text=f"toolChoice is {choice!r:.80}")  # fmt: skip
        elif not question.params.get("tools"):
            yield ctx.finding(message, saw=choice, path=question.path + "/params/toolChoice", level="info",
                              text="toolChoice is given without tools")  # fmt: skip


@rule("sampling/include-context-deprecated", level=SHOULD_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#capabilities")  # fmt: skip
def asks_for_context(message: Message, ctx: Context) -> Iterator[Finding]:
    """includeContext asks for the context of servers.

    Why it matters: the values are deprecated; a client that did not declare sampling.context leaves them aside.
    Cannot tell: with the capability it is allowed still, and only noted.
    """
    capabilities = ctx.exchange.capabilities if ctx.exchange is not None else None
    declared = capabilities.get("sampling") if capabilities is not None else None
    for question in asked(message, ctx, SAMPLING):
        wanted = question.params.get("includeContext", ABSENT)
        if wanted is ABSENT or wanted == "none":
            continue
        ctx.tested()
        path = question.path + "/params/includeContext"
        if wanted not in ("thisServer", "allServers"):
            yield ctx.finding(message, saw=wanted, expected=["none", "thisServer", "allServers"], path=path,
                              text=f"includeContext is {wanted!r:.60}, which does not exist", level="must")  # fmt: skip
        elif capabilities is not None:
            allowed = type(declared) is dict and "context" in declared
            yield ctx.finding(message, saw=wanted, path=path, level="info" if allowed else None,
                              text=f"includeContext is {wanted}"
                              + ("" if allowed else "; the client did not declare sampling.context"))  # fmt: skip


@rule("sampling/model-preferences-range", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#capability-priorities")  # fmt: skip
def priority_out_of_range(message: Message, ctx: Context) -> Iterator[Finding]:
    """A priority of modelPreferences is no number from 0 to 1, or hints are no array of objects.

    Why it matters: clients weigh the three against each other; a 5 or a "high" has no place on that scale.
    Cannot tell: modelPreferences that are no object are passed over.
    """
    for question in asked(message, ctx, SAMPLING):
        wishes = question.params.get("modelPreferences")
        if type(wishes) is not dict:
            continue
        ctx.tested()
        path = question.path + "/params/modelPreferences/"
        for name in ("costPriority", "speedPriority", "intelligencePriority"):
            value = wishes.get(name, ABSENT)
            if value is not ABSENT and not (type(value) in (int, float) and 0 <= value <= 1):
                yield ctx.finding(message, saw=value, expected="a number from 0 to 1", path=path + name,
                                  text=f"{name} is {value!r:.60}")  # fmt: skip
        hints = wishes.get("hints", [])
        if type(hints) is not list or not all(type(hint) is dict for hint in hints):
            yield ctx.finding(message, saw=hints, expected='[{"name": …}]', path=path + "hints",
                              text="hints of modelPreferences is no array of objects")  # fmt: skip


@rule("sampling/deprecated-use", level=SHOULD_NOT, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="plain chain", source=PAGE + " (deprecation notice)")  # fmt: skip
def still_samples(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server asks for sampling, which is deprecated in 2026-07-28.

    Why it matters: clients may drop it with the next revision; servers call a model of their own instead.
    Cannot tell: whether the implementation is new, which alone should not adopt it; so it is noted, once per server.
    """
    for question in asked(answer, ctx, SAMPLING):
        ctx.tested()
        if ctx.first():
            yield ctx.finding(answer, path=question.path, level="info")
