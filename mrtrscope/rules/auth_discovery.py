"""basic/authorization/authorization-server-discovery: challenges, and the documents that say where to get a token."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.link.session import Channel
from mrtrscope.rules.auth_steps import modern, of_mcp, step_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ANY_ERA,
    AUTH,
    CHANNEL_PRESENT,
    CLIENT,
    MUST,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import ABSENT, HTTP_END, HTTP_REQUEST_END, Signal

AREA = "2026-07-28/basic/authorization/"
DISCOVERY = AREA + "authorization-server-discovery#"
RESOURCE = DISCOVERY + "protected-resource-metadata-discovery-requirements"
SERVERS = DISCOVERY + "authorization-server-metadata-discovery"
CODES = AREA + "security-considerations#authorization-code-protection"
SCOPES = AREA + "index#scope-selection-strategy"
OFFLINE = "offline_access"


@rule("auth/challenge-or-well-known", level=MUST, fault=SERVER, on=(AUTH, CHANNEL_PRESENT), signals=(HTTP_END,),
      eras=ANY_ERA, source=RESOURCE)  # fmt: skip
def metadata_nowhere(subject: Signal | Channel, ctx: Context) -> Iterator[Finding]:
    """A protected server says nowhere where its metadata is.

    Why it matters: the client cannot find out where to get a token.
    Cannot tell: unless somebody looked at all places; a challenge that names none is only noted until then. Servers
    that ask for something else than a token have no such metadata.
    """
    if isinstance(subject, Channel):
        where = subject.facts.get("unnamed")
        if where is not None and subject.facts.get("auth_era") in (MODERN, LEGACY):
            yield ctx.finding(
                where,
                saw="no resource_metadata",
                expected="resource_metadata, or a well-known document",
                level="info",
                text="a challenge names no metadata, and nobody looked for it",
            )
        return
    step = step_of(subject, "resource-metadata")
    if step is None or step["era"] not in (MODERN, LEGACY):
        return
    ctx.tested()
    for key in step.get("failed", ())[:1]:
        yield ctx.finding(
            subject,
            saw="404 at every well-known place, and no resource_metadata in the challenge",
            expected="one of the two",
            also=[key],
        )


@rule("auth/metadata-lists-servers", level=MUST, fault=SERVER, on=AUTH, signals=(HTTP_END,), eras=ANY_ERA,
      source=DISCOVERY + "authorization-server-location")  # fmt: skip
def no_server_listed(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The metadata of a protected MCP server names no authorization server.

    Why it matters: the client cannot find out where to get a token.
    Cannot tell: when nothing shows that the document is about an MCP server.
    """
    step = step_of(event, "resource-metadata")
    if step is None or not step.get("known"):
        return
    ctx.tested()
    listed = step["listed"]
    if type(listed) is not list or not listed:
        yield ctx.finding(
            event,
            saw="absent" if listed is ABSENT else listed,
            expected="at least one issuer",
            path="/authorization_servers",
        )


@rule("auth/client-uses-challenge-metadata", level=MUST, fault=CLIENT, on=(AUTH, CHANNEL_PRESENT),
      signals=(HTTP_REQUEST_END,), eras=ANY_ERA, source=RESOURCE)  # fmt: skip
def looks_elsewhere(subject: Signal | Channel, ctx: Context) -> Iterator[Finding]:
    """A client looks for the metadata of a server in the wrong place first.

    Why it matters: the document at the root may be about another server of the same origin.
    Cannot tell: clients that know the metadata already ask for nothing. Where several clients are about, it is only
    noted.
    """
    if isinstance(subject, Channel):
        for where, named in subject.facts.get("probes", ()):
            if subject.facts.get("auth_era") in (MODERN, LEGACY):
                yield ctx.finding(
                    where,
                    saw="a well-known document",
                    expected=named[:300],
                    text="a client looks for metadata and never asks for the document that was named",
                )
        return
    step = step_of(subject, "resource-metadata")
    if step is None or step["era"] not in (MODERN, LEGACY):
        return
    ctx.tested()
    if step["early"]:
        yield ctx.finding(
            subject,
            saw=step["url"],
            expected=f"first {step['early']}",
            also=[step["why"]],
            level=None if step["certain"] else "info",
        )


@rule("auth/as-metadata-order", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=SERVERS)  # fmt: skip
def documents_out_of_order(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The documents of an authorization server are asked for out of order.

    Why it matters: two documents may differ; clients have to come to the same one.
    Cannot tell: an issuer that no metadata in this recording names, or a client that has found the document before.
    """
    step = step_of(event, "server-metadata")
    if step is None or not step["issuer"]:
        return
    ctx.tested()
    if step["before"]:
        yield ctx.finding(event, saw=step["url"], expected=f"first {step['before']}")


@rule("auth/metadata-issuer-matches", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=SERVERS)  # fmt: skip
def foreign_metadata_used(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client goes on with metadata that names another issuer than the one it was looked up for.

    Why it matters: so one authorization server can pass itself off as another (mix-up).
    Cannot tell: an issuer that no metadata in this recording names.
    """
    step = step_of(event, "register", "authorize", "token")
    if step is None or not modern(step):
        return
    ctx.tested()
    if step["mismatch"]:
        issuer, named, key = step["mismatch"]
        yield ctx.finding(event, saw=named[:300], expected=issuer[:300], also=[key], path="issuer")


@rule(
    "auth/as-metadata-pkce",
    level=MUST,
    fault=SERVER,
    on=AUTH,
    signals=(HTTP_END,),
    eras=ANY_ERA,
    source=CODES,
)
def pkce_not_listed(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The metadata of an authorization server does not say which code challenge methods it supports.

    Why it matters: clients must then refuse to go on.
    Cannot tell: in OAuth metadata its absence means that there are none, so it is only noted. The fault is the
    authorization server's.
    """
    step = step_of(event, "server-metadata")
    if step is None or "pkce" not in step or not of_mcp(step):
        return
    ctx.tested()
    if step["pkce"] is None:
        yield ctx.finding(
            event,
            saw="absent",
            expected=["S256"],
            path="/code_challenge_methods_supported",
            level=None if step["openid"] else "info",
        )


@rule(
    "auth/scope-in-challenge",
    level=SHOULD,
    fault=SERVER,
    on=AUTH,
    signals=(HTTP_END,),
    eras=ANY_ERA,
    source=SCOPES,
)
def challenge_without_scope(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A challenge names no scopes.

    Why it matters: the client asks for all scopes there are, or for too few.
    Cannot tell: whether the server has scopes at all, so it is only noted, once for a server.
    """
    step = step_of(event, "challenge")
    if (
        step is None
        or step["status"] != 401
        or step["challenge"] is None
        or step["era"] not in (MODERN, LEGACY)
    ):
        return
    ctx.tested()
    if step["challenge"][2] is None and ctx.first():
        yield ctx.finding(event, saw="no scope", expected='scope="…"', path="www-authenticate", level="info")


@rule("auth/insufficient-scope-challenge", level=SHOULD, fault=SERVER, on=AUTH, signals=(HTTP_END,), eras=ANY_ERA,
      source=AREA + "index#runtime-insufficient-scope-errors")  # fmt: skip
def insufficient_scope_unsaid(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A 403 for want of scopes does not say which ones, or where to get them.

    Why it matters: the client cannot ask the user for what is missing.
    Cannot tell: why a request was refused, unless the answer speaks of scopes or has a challenge.
    """
    step = step_of(event, "challenge")
    if step is None or step["status"] != 403 or not step["authorized"] or step["era"] not in (MODERN, LEGACY):
        return
    challenge = step["challenge"]
    if challenge is None and not step["scoped"]:
        return
    ctx.tested()
    _, metadata, scopes, error = challenge if challenge is not None else (None, None, None, None)
    said = {
        'error="insufficient_scope"': error == "insufficient_scope",
        "scope": scopes,
        "resource_metadata": metadata,
    }
    missing = [name for name, value in said.items() if not value]
    if missing and error != "invalid_token":
        yield ctx.finding(
            event,
            saw="no Bearer challenge" if challenge is None else "a challenge without " + ", ".join(missing),
            expected=list(said),
            path="www-authenticate",
        )


@rule("auth/no-offline-access-in-resource", level=SHOULD_NOT, fault=SERVER, on=AUTH, signals=(HTTP_END,), eras=ANY_ERA,
      source=AREA + "index#refresh-tokens")  # fmt: skip
def offline_access_of_resource(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A server asks for offline_access.

    Why it matters: whether a client wants to work without its user is the client's matter, and no scope of a server.
    Cannot tell: before a request of this revision was seen there; a challenge or a document that names no scopes.
    """
    step = step_of(event, "challenge", "resource-metadata")
    if step is None or not modern(step):
        return
    challenge = step.get("challenge")
    scopes = (
        (challenge[2] if challenge is not None else None)
        if step["step"] == "challenge"
        else step.get("scopes")
    )
    if scopes is None:
        return
    ctx.tested()
    if OFFLINE in scopes:
        where = "the challenge" if step["step"] == "challenge" else "scopes_supported"
        yield ctx.finding(event, saw=f"{OFFLINE} in {where}", expected="the server's own scopes", path=where)
