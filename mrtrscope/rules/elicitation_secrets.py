"""client/elicitation#user-interaction-model, #form-mode-security: secrets are for URL mode, and stay at the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.formats import decoded
from mrtrscope.rules.forms import Field, fields, forms, named
from mrtrscope.rules.questions import (
    ANSWER,
    ELICITATION,
    QUESTION,
    answered,
    asked_in,
    elicitation_mode,
    pointer,
    taken_up,
)
from mrtrscope.rules.registry import BOTH, MUST_NOT, RETRY_ANSWERED, SERVER, rule
from mrtrscope.rules.secrets import (
    asks_for_secret,
    credentials_in,
    plain_words,
    secret_kind,
    tells_to_give_secret,
)
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/client/elicitation"


@rule("elicitation/form-no-secrets", level=MUST_NOT, fault=SERVER, on=(*QUESTION, *ANSWER), eras=BOTH,
      facet="question or answer", source=PAGE + "#user-interaction-model")  # fmt: skip
def form_asks_for_a_secret(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form asks for a password, key, token or card.

    Why it matters: what is entered into a form passes through the client and may reach the model; secrets are asked
    for on a page of the server's own, in URL mode.
    Cannot tell: a field with a neutral name. What only the message or a description says is probable; switches, choices
    and things beside a secret (the name of a key, a limit of tokens) are no secrets.
    """
    if message.dir == "c2s":
        yield from _answers(message, ctx)
        return
    for question in forms(message, ctx):
        ctx.tested()
        open_fields = [field for field in fields(question) if _takes_text(field)]
        found = False
        for field in open_fields:
            phrase = _names_secret(field)
            told = "" if phrase else tells_to_give_secret(_text(field, "description"))
            if phrase or told:
                found = True
                yield ctx.finding(message, saw=phrase or told, expected="URL mode", path=field.path,
                                  text=f"{'' if phrase else 'probably '}the field {field.name!r} of a form asks for "
                                  f"a secret: {phrase or told}")  # fmt: skip
        said = question.params.get("message")
        phrase = tells_to_give_secret(said) if type(said) is str and open_fields and not found else ""
        if phrase:
            yield ctx.finding(message, saw=phrase, expected="URL mode", path=question.path + "/params/message",
                              text=f"probably {named(question)}, a form, asks for a secret: {phrase}")  # fmt: skip


def _takes_text(field: Field) -> bool:
    return field.type in ("string", "number", "integer") and field.options() is None


def _names_secret(field: Field) -> str:
    if field.schema.get("format") == "password":
        return "format password"
    title = _text(field, "title")
    # The title says what is meant; the name counts alone where there is none, or where both agree.
    of_title, of_name = asks_for_secret(title), asks_for_secret(field.name)
    if title and not of_title and of_name:
        return of_name if of_name in plain_words(title) or len(plain_words(title).split()) < 2 else ""
    return of_title or of_name


def _text(field: Field, word: str) -> str:
    value = field.schema.get(word)
    return value if type(value) is str else ""


def _answers(message: Message, ctx: Context) -> Iterator[Finding]:
    for answer in answered(message, ctx, ELICITATION):
        value = answer.value
        content = value.get("content") if type(value) is dict else None
        if type(content) is not dict or elicitation_mode(answer.question.params) != "form":
            continue
        ctx.tested()
        for name, entered in content.items():
            kind = secret_kind(entered)
            if kind:
                yield ctx.finding(message, saw=f"{kind} (not shown)", path=answer.path + pointer("content", name),
                                  also=[asked_in(ctx, answer)],
                                  text=f"probably a secret was asked for in a form: {name!r} was answered with "
                                  f"{kind}")  # fmt: skip


def _in_url_mode(question: Any) -> bool:
    params = question.get("params") if type(question) is dict else None
    return type(params) is dict and params.get("mode") == "url"


@rule("elicitation/third-party-credentials-stay-server-side", level=MUST_NOT, fault=SERVER, on=RETRY_ANSWERED,
      dirs=("s2c",), source=PAGE + "#url-mode-elicitation-for-oauth-flows")  # fmt: skip
def result_hands_out_credentials(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result after a question in URL mode holds a credential.

    Why it matters: URL mode is there so that the client never sees what the server got from the other side.
    Cannot tell: credentials in a form that is not well known, and tools whose purpose is to hand out the user's own
    tokens; so it is probable only.
    """
    exchange, ask = ctx.exchange, taken_up(ctx)
    if exchange is None or ask is None or answer.kind != "response":
        return
    if not ask.chain.agreed and not any(_in_url_mode(question) for question in ask.questions.values()):
        return
    agreed = ask.chain.agreed
    for given in answered(exchange.request, ctx, ELICITATION):
        accepted = type(given.value) is dict and given.value.get("action") == "accept"
        agreed = agreed or (accepted and given.question.params.get("mode") == "url")
    if not agreed:
        return
    ctx.tested()
    result = answer.result
    shown = {
        name: result[name]
        for name in ("content", "structuredContent", "contents", "messages")
        if name in result
    }
    for path, kind in credentials_in(shown, ("result",)):
        yield ctx.finding(answer, saw=f"{kind} (not shown)", path=pointer(*path), also=[exchange.request],
                          text=f"probably a credential: {pointer(*path)} is {kind}")  # fmt: skip
    state = result.get("requestState")
    if type(state) is str and len(state) <= 65_536:
        kind = secret_kind(decoded(state).decode("utf-8", "replace"), cards=False) or secret_kind(
            state, cards=False
        )
        if kind and kind != "a JWT":
            yield ctx.finding(answer, saw=f"{kind} (not shown)", path="/result/requestState", also=[exchange.request],
                              text=f"probably a credential: requestState holds {kind} in the clear")  # fmt: skip
