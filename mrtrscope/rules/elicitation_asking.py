"""client/elicitation#elicitation-requests, #capabilities: message, mode, and who may be asked in it."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.rules.context import Context, Finding, finding_id
from mrtrscope.rules.forms import named
from mrtrscope.rules.questions import ELICITATION, QUESTION, asked
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    CLIENT,
    DECLARATION,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    SERVER,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/elicitation"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
MODES = ("form", "url")


@rule("elicitation/message-present", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#elicitation-requests")  # fmt: skip
def asks_without_a_message(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation has no message string.

    Why it matters: the user is asked for something and not told why.
    Cannot tell: an empty string is a string; it is only noted.
    """
    for question in asked(message, ctx, ELICITATION):
        ctx.tested()
        said = question.params.get("message", ABSENT)
        if type(said) is str and said:
            continue
        empty = said == ""
        what = (
            "is empty" if empty else "has no message" if said is ABSENT else "has a message that is no string"
        )
        yield ctx.finding(
            message,
            saw="absent" if said is ABSENT else said,
            expected="a string that says why the user is asked",
            path=question.path + "/params/message",
            text=f"the message of {named(question)} is empty" if empty else f"{named(question)} {what}",
            level="info" if empty else None,
        )


@rule("elicitation/mode-valid", facet="question", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#elicitation-requests")  # fmt: skip
def asks_in_an_unknown_mode(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation names a mode that is none, or leaves out that it is in URL mode.

    Why it matters: without a mode it is read as a form; a client that gets neither a form nor a URL it may open cannot
    ask the user.
    Cannot tell: leaving the mode out of a form is right, though a table of the page lists it as mandatory.
    """
    for question in asked(message, ctx, ELICITATION):
        ctx.tested()
        params = question.params
        mode = params.get("mode", ABSENT)
        if mode is ABSENT:
            if "url" in params and "requestedSchema" not in params:
                yield ctx.finding(
                    message,
                    saw=sorted(params),
                    expected="mode: url",
                    path=question.path + "/params/mode",
                    text=f"{named(question)} has a url and no mode, so it is a form without fields",
                )
        elif mode not in MODES or type(mode) is not str:
            yield ctx.finding(
                message,
                saw=mode,
                expected=list(MODES),
                path=question.path + "/params/mode",
                text=f"{named(question)} has the mode {mode!r:.60}, which does not exist",
            )


@rule("elicitation/mode-declared", level=MUST_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=PAGE + "#capabilities")  # fmt: skip
def asks_in_a_mode_that_was_not_declared(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation is in a mode that the client did not declare.

    Why it matters: the client cannot show it; the user is never asked, and the operation hangs or fails.
    Cannot tell: when no capabilities were seen. Without elicitation altogether another rule speaks. An empty object
    declares forms; {"url": {}} declares URLs only. Of a mode that does not exist it follows.
    """
    capabilities = ctx.exchange.capabilities if ctx.exchange is not None else None
    declared = capabilities.get("elicitation") if capabilities is not None else None
    if type(declared) is not dict:
        return
    modes = [mode for mode in MODES if mode in declared] if declared else ["form"]
    for question in asked(message, ctx, ELICITATION):
        ctx.tested()
        mode = question.params.get("mode", "form")
        if mode not in modes:
            path = question.path + "/params/mode"
            unknown = finding_id("elicitation/mode-valid", message.key, path) if mode not in MODES else ""
            yield ctx.finding(
                message,
                saw=mode,
                expected=modes,
                also=[
                    ctx.exchange.request if ctx.exchange is not None and message.kind != "request" else None
                ],
                path=path,
                because=unknown,
                text=f"{named(question)} is in mode {mode!r:.60}; the client declared "
                f"{' and '.join(modes) or 'no mode that exists'}",
            )


@rule("elicitation/capability-has-mode", level=MUST, fault=CLIENT, on=DECLARATION, exercised=REQUEST, dirs=FROM_CLIENT,
      eras=BOTH, facet="declaration", source=PAGE + "#capabilities")  # fmt: skip
def declares_elicitation_without_a_mode(request: Message, ctx: Context) -> Iterator[Finding]:
    """elicitation is declared with members, and neither form nor url is among them.

    Why it matters: no server may ask this client anything, though it says that it can be asked.
    Cannot tell: {} declares forms.
    """
    if ctx.exchange is None or (ctx.era == "legacy" and request.method != "initialize"):
        return
    capabilities = ctx.exchange.capabilities
    declared = capabilities.get("elicitation") if capabilities is not None else None
    if type(declared) is dict and declared and not declared.keys() & set(MODES):
        yield ctx.finding(request, saw=sorted(declared), expected=list(MODES), path="elicitation")


@rule("elicitation/capability-stable-across-requests", level=ADVISORY, fault=CLIENT, on=REMARKED, exercised=REQUEST,
      methods=("tools/call", "prompts/get", "resources/read"), dirs=FROM_CLIENT,
      source=PAGE + "#capabilities")  # fmt: skip
def declares_now_and_then(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client declares a capability on some of its calls and not on others.

    Why it matters: servers may ask only what the very request declares; a client that builds it anew each time and
    forgets it loses questions by chance.
    Cannot tell: hosts may switch prompting off for calls in the background on purpose, so it is only noted, once.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    if remarks is None or request.kind != "request":
        return
    for name in remarks.get("flips", ()):
        yield ctx.finding(
            request,
            saw=name,
            path=name,
            text=f"the client declares {name} on some of its calls and not on others",
        )


@rule("elicitation/no-elicitation-id", facet="question", level=SHOULD_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER,
      source="2026-07-28/changelog#minor-changes item 11")  # fmt: skip
def asks_with_an_elicitation_id(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation carries elicitationId, which is gone since 2026-07-28.

    Why it matters: nobody announces its completion any more; who waits for that waits for ever. What has to be found
    again belongs into requestState.
    Cannot tell: nothing; it speaks whenever such a message is seen. Under the revisions before, the id is right.
    """
    for question in asked(message, ctx, ELICITATION):
        ctx.tested()
        if "elicitationId" in question.params:
            yield ctx.finding(
                message, saw=question.params["elicitationId"], path=question.path + "/params/elicitationId"
            )


@rule("elicitation/no-complete-notification", level=SHOULD_NOT, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      methods=("notifications/elicitation/complete",), source="2026-07-28/changelog#minor-changes item 11")  # fmt: skip
def announces_completion(note: Message, ctx: Context) -> Iterator[Finding]:
    """The server sends notifications/elicitation/complete, which is gone since 2026-07-28.

    Why it matters: modern clients do not know it; they learn how it went by sending the request again.
    Cannot tell: outside the stream of a modern request, on a channel that also has sessions of older revisions.
    """
    ctx.tested()
    yield ctx.finding(note, saw=note.method)


@rule("elicitation/url-mode-extra-schema", level=ADVISORY, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SCHEMA + "ElicitRequestParams")  # fmt: skip
def asks_in_both_modes(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation in URL mode also has a requestedSchema.

    Why it matters: one of the two is ignored, and which one the client decides.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    for question in asked(message, ctx, ELICITATION):
        if question.params.get("mode") != "url":
            continue
        ctx.tested()
        if "requestedSchema" in question.params:
            yield ctx.finding(message, path=question.path + "/params/requestedSchema")
