"""server/discover: whether it is there, and what it must say."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.processes import DISCOVER
from mrtrscope.link.runs import run_of
from mrtrscope.link.servers import not_found
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, FAULT, MUST, REMARKED, RESULT, SERVER, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/discover"


@rule("discover/implemented", level=MUST, fault=SERVER, on=(FAULT, REMARKED), dirs=("s2c",),
      source=PAGE + " (introduction)")  # fmt: skip
def no_discover(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The server serves modern requests and does not know server/discover.

    Why it matters: clients that probe take it for a server of an earlier revision.
    Cannot tell: a server that answers no modern request is probably one.
    """
    exchange = ctx.exchange
    if exchange is None or answer is not exchange.answer:
        return
    facts = run_of(ctx.channel, answer).facts
    if answer.kind == "error" and exchange.method == DISCOVER:
        if not_found(answer) and "served" in facts:
            ctx.tested()
            yield ctx.finding(answer, saw=answer.error, expected="a result", path="/error/code")
    elif exchange.remarks is not None and "discover" in exchange.remarks and "discover_lacking" in facts:
        ctx.tested()
        refused = facts["discover_lacking"]
        yield ctx.finding(
            refused, saw=refused.error or "HTTP 404", expected="a result", path="/error/code", also=[answer]
        )


@rule("discover/result-fields", level=MUST, fault=SERVER, on=RESULT, dirs=("s2c",), methods=(DISCOVER,),
      source="schema/2026-07-28/schema.ts DiscoverResult")  # fmt: skip
def discover_without_its_fields(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A discover result has no supportedVersions or no capabilities.

    Why it matters: it is the only way to learn them before asking.
    Cannot tell: a result that says of itself that it is not complete.
    """
    result = answer.result
    if result.get("resultType", "complete") != "complete":
        return
    ctx.tested()
    versions, capabilities = result.get("supportedVersions", ABSENT), result.get("capabilities", ABSENT)
    if type(versions) is not list or not all(type(v) is str for v in versions):
        yield ctx.finding(
            answer, saw="absent" if versions is ABSENT else versions, expected="an array of strings",
            path="/result/supportedVersions", text="a discover result has no list of supported versions",
        )  # fmt: skip
    elif not versions:
        yield ctx.finding(
            answer, saw=versions, expected="at least one version", path="/result/supportedVersions", level="should",
            text="a discover result lists no supported version",
        )  # fmt: skip
    if type(capabilities) is not dict:
        yield ctx.finding(
            answer, saw="absent" if capabilities is ABSENT else capabilities, expected="an object",
            path="/result/capabilities", text="a discover result has no capabilities",
        )  # fmt: skip


@rule("discover/requested-version-listed", level=ADVISORY, fault=SERVER, on=RESULT, dirs=("s2c",), methods=(DISCOVER,),
      source="2026-07-28/basic/versioning#protocol-version-negotiation")  # fmt: skip
def served_version_not_listed(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A discover result does not list the version under which it was asked for.

    Why it matters: the client goes on under another version, or gives up, though this one was served.
    Cannot tell: an empty list, or none, is discover/result-fields.
    """
    versions = answer.result.get("supportedVersions")
    if type(versions) is not list or not versions or not ctx.version:
        return
    ctx.tested()
    if ctx.version not in versions:
        request = ctx.exchange.request if ctx.exchange is not None else None
        yield ctx.finding(
            answer, saw=versions, expected=ctx.version, path="/result/supportedVersions", also=[request]
        )
