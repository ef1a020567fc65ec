"""client/elicitation#url-mode-elicitation-requests, #safe-url-handling: where a user is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.forms import fields, form_schema, forms, named, schema_path
from mrtrscope.rules.questions import ELICITATION, QUESTION, Question, asked
from mrtrscope.rules.registry import (
    ANY_ERA,
    BOTH,
    CLIENT,
    MUST,
    MUST_NOT,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    SIGNAL,
    rule,
)
from mrtrscope.rules.secrets import high_entropy, jwt_claims, secret_kind
from mrtrscope.rules.urls import near, parameters, split, url_fault
from mrtrscope.wire.events import ABSENT, HTTP_REQUEST, Message, Signal

PAGE = "2026-07-28/client/elicitation"
SAFE = PAGE + "#safe-url-handling "
FROM_SERVER = ("s2c",)

_SECRET_NAMES = frozenset({
    "password", "passwd", "pwd", "secret", "api_key", "apikey", "access_token", "id_token", "refresh_token", "ssn",
    "card", "cvv",
})  # fmt: skip
_ENTERS = frozenset({"login_token", "magic", "ticket", "otp", "auth_token", "session_id"})
_SIGNED = ("x-amz-signature", "x-goog-signature")
_EMAIL = re.compile(r"[^@\s=&]+@[^@\s=&]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"\+\d[\d ().-]{6,18}\d")
_LINK = re.compile(
    r"https?://[^\s<>\"')]+|\bwww\.[^\s<>\"')]+\.[^\s<>\"')]+|\]\(\s*[^)\s]+\s*\)|<a\s[^>]*>", re.I
)
_TEXT_LIMIT = 8192


def _sent_to(message: Message, ctx: Context) -> Iterator[tuple[Question, str]]:
    """Questions in URL mode whose url is a URL."""
    for question in asked(message, ctx, ELICITATION):
        url = question.params.get("url")
        if question.params.get("mode") == "url" and type(url) is str and len(url) <= 65_536 and split(url):
            yield question, url


@rule("elicitation/url-valid", facet="question", level=MUST, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#url-mode-elicitation-requests")  # fmt: skip
def address_is_none(message: Message, ctx: Context) -> Iterator[Finding]:
    """An elicitation in URL mode has no valid url.

    Why it matters: there is nothing that the client can open.
    Cannot tell: schemes of other programs are valid when a host follows; that is only noted.
    """
    for question in asked(message, ctx, ELICITATION):
        if question.params.get("mode") != "url":
            continue
        ctx.tested()
        url = question.params.get("url", ABSENT)
        path = question.path + "/params/url"
        if type(url) is not str:
            what = "has no url" if url is ABSENT else "has a url that is no string"
            yield ctx.finding(message, saw="absent" if url is ABSENT else url, expected="a URL", path=path,
                              text=f"{named(question)} {what}")  # fmt: skip
            continue
        fault = url_fault(url)
        if fault:
            yield ctx.finding(message, saw=url, expected="an absolute URL", path=path,
                              text=f"the url of {named(question)} {fault}")  # fmt: skip
        elif not url.lower().startswith(("https:", "http:")):
            yield ctx.finding(message, saw=url.partition(":")[0], path=path, level="info",
                              text=f"the url of {named(question)} is for another program than a browser")  # fmt: skip


@rule("elicitation/url-https", facet="question", level=SHOULD, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      source=SAFE + "server item 4")  # fmt: skip
def address_without_tls(message: Message, ctx: Context) -> Iterator[Finding]:
    """The url of an elicitation is http.

    Why it matters: what the user enters there, often a credential, can be read and changed on the way.
    Cannot tell: addresses of this machine, of private networks and names reserved for tests are development; noted.
    """
    for question, url in _sent_to(message, ctx):
        ctx.tested()
        parts = split(url)
        if parts is not None and parts.scheme.lower() == "http":
            yield ctx.finding(message, saw=f"http://{parts.hostname}", expected="https",
                              path=question.path + "/params/url",
                              level="info" if near(parts.hostname or "") else None)  # fmt: skip


@rule("elicitation/url-no-sensitive-data", level=MUST_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SAFE + "server item 1")  # fmt: skip
def address_tells_secrets(message: Message, ctx: Context) -> Iterator[Finding]:
    """The url of an elicitation carries credentials or personal data.

    Why it matters: it passes through the client, its logs, the browser's history and the Referer header.
    Cannot tell: what is encoded or has a name of its own. Handles such as state, nonce or a request id are fine.
    """
    for question, url in _sent_to(message, ctx):
        ctx.tested()
        for where, what in _sensitive(url):
            yield ctx.finding(message, saw=f"{where}: (not shown)", path=f"{question.path}/params/url {where}",
                              text=f"the url of {named(question)} carries {what} in {where}")  # fmt: skip


def _sensitive(url: str) -> Iterator[tuple[str, str]]:
    parts = split(url)
    if parts is None:
        return
    if parts.password:
        yield "userinfo", "a password"
    for name, value in parameters(parts):
        where = f"the parameter {name[:60]!r}"
        claims = jwt_claims(value) if value.count(".") == 2 else None
        if name.lower() in _SECRET_NAMES and value:
            yield where, "a secret"
        elif claims is not None and not claims.keys().isdisjoint(("sub", "email")):
            yield where, "a JWT about the user"
        elif _EMAIL.fullmatch(value):
            yield where, "an e-mail address"
        elif _PHONE.fullmatch(value) or secret_kind(value) == "a card number":
            yield where, "personal data"


@rule("elicitation/url-not-preauthenticated", level=MUST_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question", source=SAFE + "server item 2")  # fmt: skip
def address_lets_anybody_in(message: Message, ctx: Context) -> Iterator[Finding]:
    """The url of an elicitation grants access by itself.

    Why it matters: whoever gets hold of it acts as the user; the page behind it has to find out who is there.
    Cannot tell: a random handle on a page with a login is the recommended way, so only parameters of signed URLs and of
    magic links are reported, as probable.
    """
    for question, url in _sent_to(message, ctx):
        ctx.tested()
        parts = split(url)
        given = {name.lower(): value for name, value in parameters(parts)} if parts is not None else {}
        signed = [name for name in _SIGNED if name in given]
        if {"sig", "se"} <= given.keys():
            signed.append("sig")
        if {"signature", "expires"} <= given.keys():
            signed.append("signature")
        signed += [name for name in _ENTERS if high_entropy(given.get(name))]
        for name in signed:
            yield ctx.finding(message, saw=f"{name}: (not shown)", path=f"{question.path}/params/url {name}",
                              text=f"probably the url of {named(question)} lets in whoever holds it: it has the "
                              f"parameter {name!r}")  # fmt: skip


@rule("elicitation/form-no-clickable-url", level=SHOULD_NOT, fault=SERVER, on=QUESTION, dirs=FROM_SERVER, eras=BOTH,
      facet="question and arguments", source=SAFE + "server item 3")  # fmt: skip
def form_with_a_link(message: Message, ctx: Context) -> Iterator[Finding]:
    """A form shows a URL to click on.

    Why it matters: URL mode shows the user where it leads and asks first; a link in a form does neither.
    Cannot tell: an option or a default may be data, and the call's own argument shown for consent is no link; noted.
    """
    arguments = _strings(ctx.exchange.arguments) if ctx.exchange is not None else []
    for question in forms(message, ctx):
        ctx.tested()
        for path, text, data in _shown(question):
            found = _LINK.search(text[:_TEXT_LIMIT])
            if found is None:
                continue
            own = any(found.group().rstrip(".,?!") in argument for argument in arguments)
            yield ctx.finding(message, saw=found.group(), path=path, level="info" if data or own else None,
                              text=f"{named(question)} shows the URL {found.group()[:80]!r}"
                              + (", an argument of the call" if own else ""))  # fmt: skip


def _shown(question: Question) -> Iterator[tuple[str, str, bool]]:
    """(path, text, whether it may be data) of all that a form shows."""
    schema = form_schema(question) or {}
    path = schema_path(question)
    texts: list[tuple[str, Any, bool]] = [
        (question.path + "/params/message", question.params.get("message"), False),
        (path + "/title", schema.get("title"), False),
        (path + "/description", schema.get("description"), False),
    ]
    for field in fields(question):
        texts.append((field.path + "/title", field.schema.get("title"), False))
        texts.append((field.path + "/description", field.schema.get("description"), False))
        texts.append((field.path + "/default", field.schema.get("default"), True))
        texts += [
            (f"{field.path}/options/{n}", option, True) for n, option in enumerate(field.options() or ())
        ]
    yield from ((where, text, data) for where, text, data in texts if type(text) is str)


def _strings(value: Any) -> list[str]:
    return [v for v in value.values() if type(v) is str] if type(value) is dict else []


@rule("elicitation/url-not-prefetched", level=MUST_NOT, fault=CLIENT, on=SIGNAL, signals=(HTTP_REQUEST,), eras=ANY_ERA,
      source=SAFE + "client item 1")  # fmt: skip
def address_fetched_unasked(request: Signal, ctx: Context) -> Iterator[Finding]:
    """The client's machine fetches the url of an elicitation before the user agreed, or after the user refused.

    Why it matters: the address may carry out something, and its owner learns that somebody was asked.
    Cannot tell: only where that traffic passes the same recorder. A browser is taken for the user's own doing unless
    the user refused; a link scanner looks like the client, so the word is "probably".
    """
    question = request.http.facts.get("question") if request.http is not None else None
    if question is None or request.http is None or not question["host"]:
        return
    ctx.tested()
    agent = request.http.request_header("user-agent") or ""
    refused = question["action"] in ("decline", "cancel")
    if refused or (question["action"] != "accept" and not agent.startswith("Mozilla/")):
        when = "after the user refused" if refused else "before the user agreed"
        saw = {"method": request.http.method, "user-agent": agent[:200]}
        yield ctx.finding(request, saw=saw, also=[question["key"]],
                          text=f"probably the client fetched the url of an elicitation {when}")  # fmt: skip
