"""basic/authorization/client-registration: how clients make themselves known, and where they are sent back to."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.origins import loopback, split
from mrtrscope.rules.auth_steps import modern, of_mcp, step_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ANY_ERA, AUTH, CLIENT, MUST, MUST_NOT, SHOULD, rule
from mrtrscope.wire.events import ABSENT, HTTP_END, HTTP_REQUEST_END, Signal

AREA = "2026-07-28/basic/authorization/"
INDEX = AREA + "index#"
SECURITY = AREA + "security-considerations#"
REGISTRATION = AREA + "client-registration#"

LOCAL_SCHEMES = frozenset({"http", "https"})


@rule("auth/application-type", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=REGISTRATION + "application-type-and-redirect-uri-constraints")  # fmt: skip
def application_type_unsaid(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client registers without application_type, or with one that does not fit.

    Why it matters: the default is web, for which redirects to this machine are refused.
    Cannot tell: what kind of application it is; web with none but local redirects is reported as should.
    """
    step = step_of(event, "register")
    if step is None or not modern(step):
        return
    ctx.tested()
    if step["type"] is ABSENT:
        yield ctx.finding(
            event,
            saw="absent",
            expected="native or web",
            path="/application_type",
            text="a client registers without application_type",
        )
    elif step["type"] == "web" and step["redirects"] and all(map(_local, step["redirects"])):
        yield ctx.finding(
            event,
            saw="web",
            expected="native",
            path="/application_type",
            level="should",
            text="a client with none but local redirects registers as web",
        )


@rule("auth/redirect-uri-safe", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END, HTTP_END), eras=ANY_ERA,
      source=SECURITY + "communication-security")  # fmt: skip
def redirect_in_the_clear(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A redirect, or an endpoint of an authorization server, is neither local nor HTTPS.

    Why it matters: codes and tokens then go through the network for all to read.
    Cannot tell: schemes that belong to an application: the text names localhost and HTTPS alone, so they are
    only noted.
    """
    if event.what == HTTP_END:
        step = step_of(event, "server-metadata")
        if step is not None and "unsafe" in step and of_mcp(step):
            ctx.tested()
            for name in step["unsafe"]:
                yield ctx.finding(
                    event,
                    saw=name,
                    expected="https",
                    path=f"/{name}",
                    fault="server",
                    text=f"{name} of an authorization server is plain http",
                )
        return
    step = step_of(event, "register", "authorize")
    if step is None or not of_mcp(step):
        return
    for uri in step["redirects"] if step["step"] == "register" else [step["redirect"]]:
        address = split(uri)
        if address is None:
            continue
        ctx.tested()
        if address.scheme not in LOCAL_SCHEMES:
            yield ctx.finding(
                event,
                saw=f"{address.scheme[:50]}:",
                expected="localhost or https",
                path=uri[:200],
                level="info",
                text="a redirect to a scheme of its own",
            )
        elif address.scheme == "http" and not loopback(address.host):
            yield ctx.finding(
                event,
                saw=uri[:300],
                expected="localhost or https",
                path=uri[:200],
                text="a redirect over plain http to another machine",
            )


@rule("auth/cimd-document", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END, HTTP_END), eras=ANY_ERA,
      source=REGISTRATION + "implementation-requirements")  # fmt: skip
def client_document_unfit(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client id that is an address is not https with a path, or its document is not what it should be.

    Why it matters: the authorization server knows the client by that document alone.
    Cannot tell: documents that do not pass this recorder.
    """
    if event.what == HTTP_END:
        step = step_of(event, "document")
        if step is not None:
            ctx.tested()
            for name in step["faults"]:
                what = "is another one" if name == "client_id" else "is missing"
                yield ctx.finding(
                    event,
                    saw=name,
                    expected="client_id, client_name and redirect_uris",
                    path=f"/{name}",
                    text=f"{name} of a client's document {what}",
                )
        return
    step = step_of(event, "authorize")
    if step is not None and of_mcp(step) and step["document"]:
        ctx.tested()
        yield ctx.finding(event, saw=step["document"], expected="https with a path", path="client_id")


@rule("auth/credentials-bound-to-issuer", level=MUST_NOT, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,),
      eras=ANY_ERA, source=REGISTRATION + "authorization-server-binding")  # fmt: skip
def client_id_of_another_issuer(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client id that one authorization server gave out is used at another.

    Why it matters: the other one learns credentials that are not its own; it does not know the client.
    Cannot tell: ids that were agreed on beforehand. Ids that are addresses are for all.
    """
    step = step_of(event, "authorize", "token")
    if step is None or not modern(step):
        return
    ctx.tested()
    if step["foreign"]:
        issuer, key = step["foreign"]
        yield ctx.finding(
            event,
            saw=f"registered with {issuer}"[:300],
            expected=f"registered with {step['issuer']}"[:300],
            also=[key],
            path="client_id",
        )


@rule("auth/client-metadata-refresh-grant", level=SHOULD, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,),
      eras=ANY_ERA, source=INDEX + "refresh-tokens")  # fmt: skip
def refresh_grant_not_listed(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client wants refresh tokens, and its metadata does not list the grant.

    Why it matters: the authorization server may give none to it.
    Cannot tell: clients whose registration or document was not seen.
    """
    step = step_of(event, "authorize", "token")
    if step is None or not modern(step):
        return
    ctx.tested()
    if step["no_grant"]:
        yield ctx.finding(
            event,
            saw="grant_types without refresh_token",
            expected="refresh_token",
            also=[step["no_grant"]],
            path="grant_types",
        )


def _local(uri: str) -> bool:
    """A redirect to this machine, or to a scheme of an application."""
    address = split(uri)
    return address is not None and (address.scheme not in LOCAL_SCHEMES or loopback(address.host))
