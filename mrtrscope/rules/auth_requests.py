"""basic/authorization: authorization and token requests, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.discovery import version_of
from mrtrscope.link.grants import CODE_GRANT, REFRESH_GRANT
from mrtrscope.link.origins import split
from mrtrscope.rules.auth_steps import modern, of_mcp, step_of, use_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ANY_ERA, AUTH, CLIENT, MUST, SERVER, SHOULD, rule
from mrtrscope.wire.events import ABSENT, HTTP_END, HTTP_REQUEST_END, Signal

AREA = "2026-07-28/basic/authorization/"
INDEX = AREA + "index#"
SECURITY = AREA + "security-considerations#"

STEPS = 3  # step-ups for one request that are no loop
NAMES = {"authorize": "an authorization request", "token": "a token request"}
REFUSED_SINCE = "2025-11-25"  # the revision from which a client must refuse metadata without PKCE


@rule("auth/resource-parameter", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=INDEX + "resource-parameter-implementation")  # fmt: skip
def resource_not_named(event: Signal, ctx: Context) -> Iterator[Finding]:
    """An authorization or token request does not name the MCP server it is for.

    Why it matters: a token that is for no server in particular can be used at all of them.
    Cannot tell: a form that was not recorded as a whole; other grants, which extensions define. Another case, or a
    slash at the end, is only noted.
    """
    for other in _meant(event):
        ctx.tested()
        yield ctx.finding(
            event,
            saw=other[0][:300],
            expected="the server that the token is used with",
            path="resource",
            also=[other[1]],
            text="a token is used with another server than the one it was asked for",
        )
    step = step_of(event, "authorize", "token")
    if step is None or not of_mcp(step):
        return
    if step["step"] == "token" and step["grant"] not in (CODE_GRANT, REFRESH_GRANT):
        return
    value = step["resource"]
    if value is None and not step.get("whole", True):
        return
    ctx.tested()
    why = _no_resource(value)
    if why:
        yield ctx.finding(
            event,
            saw=value[:300] if value is not None else "absent",
            expected="the absolute URI of the server",
            path="resource",
            text=f"resource {why} in {NAMES[step['step']]}",
        )
    elif step["spelled"]:
        yield ctx.finding(
            event,
            saw=value,
            expected=step["spelled"],
            path="resource",
            level="info",
            text="resource is spelled otherwise than in the server's metadata",
        )


def _meant(event: Signal) -> list[list[str]]:
    meant = use_of(event).get("meant")
    return [meant] if meant else []


def _no_resource(value: str | None) -> str:
    if not value:
        return "is missing"
    address = split(value)
    if address is None or not address.host:
        return "is no absolute URI"
    return "has a fragment" if address.has_fragment else ""


@rule("auth/pkce-s256", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=SECURITY + "authorization-code-protection")  # fmt: skip
def code_not_protected(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client does not use PKCE with S256, or goes on with a server that does not offer it.

    Why it matters: whoever gets hold of the code can redeem it.
    Cannot tell: a form that was not recorded as a whole. Before 2025-11-25 a client need not look for what is offered.
    """
    step = step_of(event, "authorize", "token")
    if step is None or not of_mcp(step) or step.get("grant", CODE_GRANT) != CODE_GRANT:
        return
    ctx.tested()
    if step["step"] == "token":
        if step["verifier"]:
            text = (
                "the code verifier is not the one of the challenge"
                if step["verifier"] == "wrong"
                else "no code_verifier"
            )
            yield ctx.finding(
                event,
                saw=step["verifier"],
                expected="the verifier of the challenge",
                path="code_verifier",
                also=[step["key"]] if step["key"] else [],
                text=text,
            )
        return
    if not step["challenge"]:
        yield ctx.finding(
            event,
            saw="absent",
            expected="a code_challenge",
            path="code_challenge",
            text="an authorization request without code_challenge",
        )
    elif step["method"] != "S256":
        saw = "absent, which means plain" if step["method"] is ABSENT else step["method"][:100]
        yield ctx.finding(
            event,
            saw=saw,
            expected="S256",
            path="code_challenge_method",
            text="the code challenge method is not S256",
        )
    if step["pkce"] is None and not "" < version_of(ctx.memory, step) < REFUSED_SINCE:
        yield ctx.finding(
            event,
            saw="no code_challenge_methods_supported",
            expected="the client refuses",
            path="metadata",
            also=[step["metadata"]],
            text="a client goes on though the metadata offers no PKCE",
        )


@rule("auth/state-verified", level=SHOULD, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=SECURITY + "open-redirection")  # fmt: skip
def state_not_used(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client sends no state, or takes up a callback with another one.

    Why it matters: a callback that somebody else set off is then as good as its own.
    Cannot tell: what the client compares by itself; a code whose callback was not recorded; what may be no client of
    MCP.
    """
    step = step_of(event, "authorize", "token")
    if step is None or not of_mcp(step):
        return
    if step["step"] == "authorize":
        ctx.tested()
        if not step["state"]:
            yield ctx.finding(
                event,
                saw="absent",
                expected="state",
                path="state",
                text="an authorization request without state",
            )
    elif step["key"]:
        ctx.tested()
        if step["state"]:
            yield ctx.finding(
                event,
                saw=f"{step['state']} in the callback",
                expected="the state of the request",
                path="state",
                also=[step["key"]],
                text="a code is redeemed though its callback had another state",
            )


@rule("auth/iss-validated", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=INDEX + "authorization-response-validation")  # fmt: skip
def iss_not_checked(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A code is redeemed though its callback names another issuer, or none where one is promised.

    Why it matters: the code may come from another authorization server (mix-up).
    Cannot tell: an issuer that no metadata in this recording names. Strings are compared as they are.
    """
    step = step_of(event, "token")
    if step is None or not modern(step) or not step["key"]:
        return
    ctx.tested()
    if step["iss"]:
        iss, issuer = step["iss"]
        yield ctx.finding(
            event,
            saw=iss[:300] if iss is not None else "no iss",
            expected=issuer[:300],
            also=[step["key"]],
            path="iss",
        )


@rule("auth/iss-advertised", level=MUST, fault=SERVER, on=AUTH, signals=(HTTP_REQUEST_END, HTTP_END), eras=ANY_ERA,
      source=INDEX + "authorization-response-validation")  # fmt: skip
def iss_not_announced(event: Signal, ctx: Context) -> Iterator[Finding]:
    """An authorization server sends iss, and its metadata does not say that it does.

    Why it matters: clients cannot insist on a parameter that they were not promised, and an attacker leaves it out.
    Cannot tell: metadata that was not seen. The fault is the authorization server's.
    """
    step = step_of(event, "authorize", "callback")
    back = step.get("callback") if step is not None else None
    if back is None or not modern(back) or back["iss"] is None or back["told"]:
        return
    if step is not None and (step["step"] == "callback") != (event.what == HTTP_REQUEST_END):
        return
    ctx.tested()
    if not back["promised"]:
        yield ctx.finding(
            event,
            saw="iss in the callback",
            expected="authorization_response_iss_parameter_supported: true",
            path="iss",
        )


@rule("auth/scope-union-on-step-up", level=SHOULD, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=INDEX + "step-up-authorization-flow")  # fmt: skip
def step_up_loses_scopes(event: Signal, ctx: Context) -> Iterator[Finding]:
    """After insufficient_scope a client asks for fewer scopes than it had and needs, or asks again and again.

    Why it matters: the new token lacks what the old one had, and the next request fails over that.
    Cannot tell: clients whose earlier authorization was not seen.
    """
    step = step_of(event, "authorize")
    union = step.get("union") if step is not None else None
    if step is None or union is None or not modern(step):
        return
    ctx.tested()
    if union["missing"]:
        yield ctx.finding(
            event,
            saw=step["scopes"] or [],
            expected=f"also {' '.join(union['missing'])[:300]}",
            also=[union["key"]],
            path="scope",
        )
    if step["steps"] > STEPS:
        yield ctx.finding(
            event,
            saw=f"{step['steps']} step-ups",
            expected=f"at most {STEPS} or so",
            also=[union["key"]],
            path="steps",
            text="a client steps up again and again for the same request",
        )


@rule("auth/initial-scope-selection", level=SHOULD, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=INDEX + "scope-selection-strategy")  # fmt: skip
def scopes_of_its_own(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client first asks for other scopes than the challenge, or else the metadata, offers.

    Why it matters: the user is asked for more than the server needs.
    Cannot tell: unless the challenge was seen. Fewer scopes may be meant, for least privilege, and are only noted.
    """
    step = step_of(event, "authorize")
    chosen: dict[str, Any] | None = step.get("selection") if step is not None else None
    if step is None or chosen is None or not of_mcp(step):
        return
    ctx.tested()
    if chosen["extra"]:
        yield ctx.finding(
            event,
            saw=step["scopes"],
            expected=chosen["offered"],
            also=[chosen["key"]],
            path="scope",
            text=f"a client asks for scopes beyond what is offered by {chosen['source']}",
        )
    elif chosen["missing"]:
        yield ctx.finding(
            event,
            saw=step["scopes"] or "no scope",
            expected=chosen["offered"],
            also=[chosen["key"]],
            path="scope",
            level="info",
            text=f"a client asks for fewer scopes than are offered by {chosen['source']}",
        )
