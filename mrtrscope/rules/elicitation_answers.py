"""client/elicitation#response-actions: what a client says for its user, and whether the server looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.chains import question_digest
from mrtrscope.link.session import Channel
from mrtrscope.rules.context import Context, Finding, finding_id
from mrtrscope.rules.forms import required
from mrtrscope.rules.json_schema import Fault, ready
from mrtrscope.rules.questions import (
    ANSWER,
    ELICITATION,
    Answer,
    answered,
    asked_in,
    elicitation_mode,
    pointer,
)
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    CHANNEL_PRESENT,
    CLIENT,
    MUST,
    RETRY_ANSWERED,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.rules.said import complete
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/elicitation"
ACTIONS = PAGE + "#response-actions"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_CLIENT, FROM_SERVER = ("c2s",), ("s2c",)
KNOWN = ("accept", "decline", "cancel")
UNANSWERED = 60_000_000  # µs after which a question is taken for abandoned
ROOT = "elicitation/schema-root-object"
FITS = "elicitation/accepted-content-matches-schema"


def _said(message: Message, ctx: Context) -> Iterator[tuple[Answer, dict[str, Any]]]:
    """Answers to elicitations that are objects."""
    for answer in answered(message, ctx, ELICITATION):
        if type(answer.value) is dict:
            yield answer, answer.value


@rule("elicitation/action-valid", facet="answer", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      source=ACTIONS)  # fmt: skip
def action_is_none(message: Message, ctx: Context) -> Iterator[Finding]:
    """The answer to an elicitation has no action that exists.

    Why it matters: the server cannot tell consent from refusal. "reject" stood in the pages of mid-2025 and is copied
    to this day; it is "decline".
    Cannot tell: when it is not certain which question is answered; an answer that is no object is passed over.
    """
    for answer, value in _said(message, ctx):
        ctx.tested()
        action = value.get("action", ABSENT)
        if type(action) is not str or action not in KNOWN:
            absent = action is ABSENT
            yield ctx.finding(
                message,
                saw="absent" if absent else action,
                expected=list(KNOWN),
                also=[asked_in(ctx, answer)],
                path=answer.path + "/action",
                text="the answer has no action"
                if absent
                else f"the action is {action!r:.60}, which does not exist",
            )


@rule(FITS, facet="answer", level=SHOULD, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      source=PAGE + "#form-mode-security item 2")  # fmt: skip
def content_does_not_fit_the_form(message: Message, ctx: Context) -> Iterator[Finding]:
    """What was entered into a form does not fit the form's schema.

    Why it matters: the server has to ask again, or goes on with something it did not foresee.
    Cannot tell: when the question was not recorded, or its schema is too large or has a pattern that could take long.
    Null and objects are elicitation/content-value-types.
    """
    for answer, content in _forms_filled(message, ctx):
        faults = _faults(answer, content, len(message.raw))
        if faults is None:
            continue
        ctx.tested()
        for path, fault, words in _readable(faults, content):
            yield ctx.finding(
                message,
                saw="absent" if fault.keyword == "required" else fault.saw,
                expected=None if fault.keyword == "required" else {fault.keyword: fault.expected},
                also=[asked_in(ctx, answer)],
                path=answer.path + "/content" + path,
                text=words,
                because=_broken_form(answer, ctx),
            )


def _broken_form(answer: Answer, ctx: Context) -> str:
    """The finding about a form whose root is no object: nothing that is entered can fit it."""
    asked = asked_in(ctx, answer)
    if answer.question.params["requestedSchema"].get("type") == "object" or asked is None:
        return ""
    return finding_id(ROOT, asked, answer.question.path + "/params/requestedSchema/type")


def _forms_filled(message: Message, ctx: Context) -> Iterator[tuple[Answer, dict[str, Any]]]:
    for answer, value in _said(message, ctx):
        content = value.get("content")
        if (
            value.get("action") == "accept"
            and type(content) is dict
            and elicitation_mode(answer.question.params) == "form"
            and type(answer.question.params.get("requestedSchema")) is dict
        ):
            yield answer, content


def _faults(answer: Answer, content: dict[str, Any], size: int) -> list[Fault] | None:
    """What does not fit, formats asserted; None when it cannot be told."""
    schema = answer.question.params["requestedSchema"]
    return ready(schema, question_digest(schema), "form", formats_asserted=True).faults(content, size)


def _readable(faults: list[Fault], content: dict[str, Any]) -> Iterator[tuple[str, Fault, str]]:
    """(path below content, fault, words), each place once."""
    seen: set[str] = set()
    for fault in faults:
        if fault.path and _of_no_type(content.get(str(fault.path[0]))):
            continue
        missing = [n for n in fault.expected if n not in fault.saw] if fault.keyword == "required" else [None]
        for name in missing:
            path = pointer(*fault.path) + (pointer(name) if name is not None else "")
            if path in seen:
                continue
            seen.add(path)
            if name is not None:
                yield path, fault, f"the required field {name!r} was left out"
            else:
                yield path, fault, f"the value of {pointer(*fault.path)[1:] or 'content'!r} {fault.words()}"


@rule("elicitation/accepted-form-has-content", level=SHOULD, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=ACTIONS + " item 1")  # fmt: skip
def accepted_without_content(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form is accepted without content.

    Why it matters: the server learns that the user agreed, and not what was entered.
    Cannot tell: with nothing required it is only noted, and a form without fields needs no content.
    """
    for answer, value in _said(message, ctx):
        schema = answer.question.params.get("requestedSchema")
        if value.get("action") != "accept" or elicitation_mode(answer.question.params) != "form":
            continue
        properties = schema.get("properties") if type(schema) is dict else None
        if type(properties) is not dict or not properties:
            continue
        ctx.tested()
        if "content" not in value:
            yield ctx.finding(
                message,
                saw=sorted(value),
                expected="content",
                also=[asked_in(ctx, answer)],
                path=answer.path + "/content",
                level=None if required(answer.question) else "info",
            )


@rule("elicitation/url-accept-no-content", level=SHOULD_NOT, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=ACTIONS + " item 1")  # fmt: skip
def content_for_a_url(message: Message, ctx: Context) -> Iterator[Finding]:
    """The answer to a question in URL mode has content.

    Why it matters: whatever it is passed through the client, which URL mode is there to prevent.
    Cannot tell: when it is not certain which question is answered; an answer that is no object is passed over. Empty
    content is none.
    """
    for answer, value in _said(message, ctx):
        if answer.question.params.get("mode") != "url":
            continue
        ctx.tested()
        content = value.get("content")
        if content is not None and content != {} and content != []:
            saw = sorted(content) if type(content) is dict else "(not shown)"
            yield ctx.finding(message, saw=saw, also=[asked_in(ctx, answer)], path=answer.path + "/content")


@rule("elicitation/refusal-has-no-content", level=ADVISORY, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=ACTIONS + " items 2 and 3")  # fmt: skip
def refused_with_content(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form is declined or dismissed, and its content is sent all the same.

    Why it matters: what a user began to type and did not send reaches the server.
    Cannot tell: content is only typically left out, so it is noted.
    """
    for answer, value in _said(message, ctx):
        if value.get("action") not in ("decline", "cancel"):
            continue
        ctx.tested()
        content = value.get("content")
        if type(content) is dict and content:
            yield ctx.finding(message, saw=sorted(content), path=answer.path + "/content")


@rule("elicitation/content-value-types", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=SCHEMA + "ElicitResult")  # fmt: skip
def content_of_another_kind(message: Message, ctx: Context) -> Iterator[Finding]:
    """Content holds something else than strings, numbers, booleans and arrays of strings.

    Why it matters: a form has no other fields; null for a field that was left empty is taken for a value.
    Cannot tell: fractions are numbers, though schema.json says integer.
    """
    for answer, value in _said(message, ctx):
        content = value.get("content", ABSENT)
        if content is ABSENT:
            continue
        ctx.tested()
        if type(content) is not dict:
            yield ctx.finding(message, saw=content, expected="an object", path=answer.path + "/content",
                              text="content is no object")  # fmt: skip
            continue
        for name, entered in content.items():
            if _of_no_type(entered):
                what = (
                    "null"
                    if entered is None
                    else "an object"
                    if type(entered) is dict
                    else "an array of others"
                )
                yield ctx.finding(message, saw=entered, expected="string, number, boolean or array of strings",
                                  path=answer.path + pointer("content", name),
                                  text=f"the field {name!r} has {what} for a value")  # fmt: skip


def _of_no_type(value: Any) -> bool:
    """None and objects, and arrays of anything but strings. Absent is None here, too."""
    if type(value) is list:
        return not all(type(v) is str for v in value)
    return value is None or type(value) is dict


@rule("elicitation/defaults-applied", level=SHOULD, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#requested-schema")  # fmt: skip
def default_was_left_out(message: Message, ctx: Context) -> Iterator[Finding]:
    """An accepted form leaves out a field that has a default.

    Why it matters: clients that know defaults fill them in; the server would have got one.
    Cannot tell: whether the user emptied the field, and whether the client knows defaults at all; so it is noted.
    """
    for answer, content in _forms_filled(message, ctx):
        properties = answer.question.params["requestedSchema"].get("properties")
        for name, schema in properties.items() if type(properties) is dict else ():
            if type(schema) is not dict or "default" not in schema:
                continue
            ctx.tested()
            if name not in content:
                yield ctx.finding(message, saw="absent", expected=schema["default"], level="info",
                                  path=answer.path + pointer("content", name),
                                  text=f"the field {name!r} was left out, though it has a default")  # fmt: skip


@rule("elicitation/absent-mode-is-form", level=MUST, fault=CLIENT, on=CHANNEL_PRESENT,
      source=PAGE + "#elicitation-requests")  # fmt: skip
def leaves_forms_without_a_mode_unanswered(channel: Channel, ctx: Context) -> Iterator[Finding]:
    """A client answers every form that says its mode, and none of those that leave it out.

    Why it matters: a form need not say that it is one; the server waits for ever.
    Cannot tell: why a question stays unanswered; it takes two of each kind, and a minute that went by. Then it is
    probable.
    """
    for row in channel.facts.get("modes", {}).values():
        at: Message | None = row["at"]
        (asked, answered_), (without, taken) = row["form"], row["absent"]
        if at is None or without < 2:
            continue
        ctx.tested()
        if asked >= 2 and answered_ >= asked and not taken and channel.last - at.t >= UNANSWERED:
            yield ctx.finding(
                at,
                saw=f"{without} forms without a mode, none answered; {asked} with one, all answered",
                text="probably the client does not take an elicitation without a mode for a form",
            )


@rule("elicitation/server-validates-content", level=SHOULD, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      facet="reaction", source=PAGE + "#form-mode-security item 3")  # fmt: skip
def goes_on_with_what_does_not_fit(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The server carries out a request whose form was filled in with something that does not fit.

    Why it matters: a client may send anything; the schema of the form is the server's own condition.
    Cannot tell: whether the server looked at the field at all; a tool error, a new question or an error is right.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    for given, content in _forms_filled(exchange.request, ctx):
        faults = _faults(given, content, len(exchange.request.raw))
        places = list(_readable(faults or [], content))
        if not places or given.question.params["requestedSchema"].get("type") != "object":
            continue
        ctx.tested()
        if complete(answer):
            path, _, words = places[0]
            yield ctx.finding(
                answer,
                saw=words,
                expected="another question, isError or an error",
                also=[exchange.request],
                path=given.path,
                text=f"the server went on, though {words}",
                because=finding_id(FITS, exchange.request.key, given.path + "/content" + path),
            )
