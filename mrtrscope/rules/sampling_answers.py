"""client/sampling#result-fields, #tool-choice-modes: what a client says for its model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY
from mrtrscope.rules.content import SAMPLED, block_faults, blocks_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import ANSWER, SAMPLING, Answer, answered, asked_in
from mrtrscope.rules.registry import ADVISORY, BOTH, CLIENT, EITHER, MUST, MUST_NOT, RETRY, SHOULD, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/sampling"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_CLIENT = ("c2s",)
BYTES_A_TOKEN = 16  # no common tokenizer averages above that on prose
FEW_TOKENS = 4  # below that it is no average: a long word may be one token
LOOPS = 25
LOOP_REPORTS = (LOOPS + 1, 100, 1000)


def _said(message: Message, ctx: Context) -> Iterator[tuple[Answer, dict[str, Any]]]:
    for answer in answered(message, ctx, SAMPLING):
        if type(answer.value) is dict:
            yield answer, answer.value


def _blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in blocks_of(value.get("content")) if type(block) is dict]


def _uses(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in _blocks(value) if block.get("type") == "tool_use"]


@rule("sampling/result-fields", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=SCHEMA + "CreateMessageResult")  # fmt: skip
def answer_lacks_a_member(message: Message, ctx: Context) -> Iterator[Finding]:
    """The answer to sampling lacks role, content or model, or one of them is none.

    Why it matters: the server reads them without asking whether they are there.
    Cannot tell: a role other than assistant is allowed by the schema, and noted. stopReason is open.
    """
    for answer, value in _said(message, ctx):
        ctx.tested()
        for name, role in (("role", True), ("model", False)):
            found = value.get(name, ABSENT)
            if type(found) is not str or (role and found not in ("user", "assistant")):
                yield ctx.finding(message, saw="absent" if found is ABSENT else found, path=f"{answer.path}/{name}",
                                  also=[asked_in(ctx, answer)], text=f"the answer to sampling has no {name}"
                                  if found is ABSENT else f"the {name} of a sampled answer is {found!r:.60}",
                                  )  # fmt: skip
            elif role and found == "user":
                yield ctx.finding(message, saw=found, expected="assistant", path=f"{answer.path}/role", level="info",
                                  text="a sampled answer has the role user")  # fmt: skip
        stop = value.get("stopReason", "")
        if type(stop) is not str:
            yield ctx.finding(message, saw=stop, expected="a string", path=answer.path + "/stopReason",
                              text="stopReason is no string")  # fmt: skip
        content = value.get("content", ABSENT)
        if type(content) not in (dict, list):
            yield ctx.finding(message, saw="absent" if content is ABSENT else content, path=answer.path + "/content",
                              also=[asked_in(ctx, answer)],
                              text="the answer to sampling has no content block")  # fmt: skip
        for n, block in enumerate(blocks_of(content)):
            at = f"{answer.path}/content" + (f"/{n}" if type(content) is list else "")
            for below, saw, what, level in block_faults(block, SAMPLED):
                yield ctx.finding(message, saw=saw, path=at + below, level=level,
                                  text=f"a block of a sampled answer {what}")  # fmt: skip


@rule("sampling/tool-choice-honoured", level=MUST_NOT, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#tool-choice-modes")  # fmt: skip
def choice_was_not_honoured(message: Message, ctx: Context) -> Iterator[Finding]:
    """The model used tools where toolChoice says none, or none where it says required.

    Why it matters: with none the server wants to end its loop of tools; with required it has nothing to go on with.
    Cannot tell: an answer that was cut short or refused may hold no tool use; noted. So is a tool that nobody offered.
    """
    for answer, value in _said(message, ctx):
        params = answer.question.params
        choice, uses = params.get("toolChoice"), _uses(value)
        mode = choice.get("mode") if type(choice) is dict else None
        path = answer.path + "/content"
        if mode in ("none", "required"):
            ctx.tested()
        if mode == "none" and uses:
            yield ctx.finding(message, saw=[u.get("name") for u in uses][:8], expected="no tool use", path=path,
                              also=[asked_in(ctx, answer)],
                              text="tools are used, though toolChoice is none")  # fmt: skip
        elif mode == "required" and not uses:
            stop = value.get("stopReason")
            cut = stop in ("maxTokens", "refusal", "content_filter")
            yield ctx.finding(message, saw=stop, expected="a tool use", path=path, also=[asked_in(ctx, answer)],
                              text="no tool is used, though toolChoice is required",
                              level="info" if cut else None)  # fmt: skip
        offered = _offered(params)
        for use in uses if offered else ():
            if type(use.get("name")) is str and use["name"] not in offered:
                yield ctx.finding(message, saw=use["name"], expected=sorted(offered)[:20], path=f"{path} {use['name']}",
                                  text="a tool is used that was not offered", level="info")  # fmt: skip


def _offered(params: dict[str, Any]) -> set[str]:
    tools = params.get("tools")
    return (
        {t["name"] for t in tools if type(t) is dict and type(t.get("name")) is str}
        if type(tools) is list
        else set()
    )


@rule("sampling/max-tokens-respected", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#sampling-parameters")  # fmt: skip
def answer_is_too_long(message: Message, ctx: Context) -> Iterator[Finding]:
    """The answer is far longer than maxTokens tokens can be.

    Why it matters: the server set a bound, for its costs or for where the text goes.
    Cannot tell: how many tokens it is. Only what no tokenizer could fit is reported; runs of one character count once.
    Before 2026-07-28 no sentence demands it, and it is only noted.
    """
    for answer, value in _said(message, ctx):
        limit = answer.question.params.get("maxTokens")
        if not isinstance(limit, int) or limit < 1 or value.get("stopReason") == "toolUse":
            continue
        ctx.tested()
        room = BYTES_A_TOKEN * max(limit, FEW_TOKENS)
        texts = [b["text"] for b in _blocks(value) if b.get("type") == "text" and type(b.get("text")) is str]
        if sum(len(text) for text in texts) * 4 <= room:
            continue
        size = sum(len(c.encode("utf-8", "replace")) for text in texts for c, _ in itertools.groupby(text))
        if size > room:
            yield ctx.finding(message, saw=f"{size} bytes of text", expected=f"maxTokens {limit}",
                              also=[asked_in(ctx, answer)], path=answer.path + "/content",
                              level="info" if ctx.era == LEGACY else None)  # fmt: skip


@rule("sampling/stop-reason-tool-use", level=ADVISORY, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#result-fields")  # fmt: skip
def stop_reason_says_otherwise(message: Message, ctx: Context) -> Iterator[Finding]:
    """stopReason and content disagree about whether a tool is used.

    Why it matters: servers decide by one of the two whether their loop goes on.
    Cannot tell: stopReason is open, so it is only noted.
    """
    for answer, value in _said(message, ctx):
        stop, uses = value.get("stopReason"), bool(_uses(value))
        if stop is None:
            continue
        ctx.tested()
        if uses != (stop == "toolUse"):
            yield ctx.finding(message, saw=stop, path=answer.path + "/stopReason",
                              text=f"stopReason is {stop!r:.60}, and the content has "
                              f"{'a tool use' if uses else 'no tool use'}")  # fmt: skip


@rule("sampling/model-hints-respected", level=SHOULD, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="plain chain", source=PAGE + "#security-considerations item 3")  # fmt: skip
def another_model_than_hinted(message: Message, ctx: Context) -> Iterator[Finding]:
    """The model that answered fits none of the hints.

    Why it matters: hints are tried in order as parts of model names; the server chose them for its prompt.
    Cannot tell: a client need not have the model, and may take one of the same niche; so it is noted, once for a hint.
    """
    for answer, value in _said(message, ctx):
        wishes, model = answer.question.params.get("modelPreferences"), value.get("model")
        hints = wishes.get("hints") if type(wishes) is dict else None
        names = (
            [h["name"] for h in hints if type(h) is dict and type(h.get("name")) is str]
            if type(hints) is list
            else []
        )
        if not names or type(model) is not str:
            continue
        ctx.tested()
        if not any(name.lower() in model.lower() for name in names):
            client = ctx.exchange.client.info if ctx.exchange is not None else ""
            if ctx.first(client, names[0]):
                yield ctx.finding(message, saw=model, expected=names[:8], path=answer.path + "/model", level="info",
                                  text=f"{model!r:.60} answered, the server hinted at {names[0]!r:.60}")  # fmt: skip


@rule("sampling/tool-loop-limited", level=SHOULD, fault=EITHER, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#security-considerations item 7")  # fmt: skip
def loop_of_tools_without_end(retry: Message, ctx: Context) -> Iterator[Finding]:
    """A loop of tool uses in sampling goes on for more than 25 rounds.

    Why it matters: each round costs the client's tokens; both sides should stop somewhere.
    Cannot tell: whether a limit exists and is only high. Rounds that asked or answered something else begin anew.
    """
    loops = (
        ctx.ask.chain.loops if ctx.ask is not None and ctx.link is not None and ctx.link.strength >= 2 else 0
    )
    if not loops:
        return
    ctx.tested()
    still = any(value.get("stopReason") == "toolUse" for _, value in _said(retry, ctx))
    if still and loops + 1 in LOOP_REPORTS:
        yield ctx.finding(retry, saw=f"{loops + 1} rounds", expected=f"at most {LOOPS}", also=[asked_in(ctx)],
                          text=f"the {loops + 1}th round in a row whose model stopped for a tool")  # fmt: skip
