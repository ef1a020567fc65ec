"""basic/authorization: how tokens are sent, accepted, and renewed."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.link.grants import REFRESH_GRANT
from mrtrscope.rules.auth_steps import of_mcp, step_of, use_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ANY_ERA, AUTH, BOTH, CLIENT, MUST, MUST_NOT, REQUEST, SERVER, rule
from mrtrscope.wire.events import HTTP_END, HTTP_REQUEST_END, Signal

AREA = "2026-07-28/basic/authorization/"
REQUIREMENTS = AREA + "index#token-requirements"
HANDLING = AREA + "index#token-handling"

ROTATION = {
    "same": "the same refresh token comes back",
    "used": "a refresh token that was used before is taken again",
    "kept": "no new refresh token comes back, so the old one stays good",
}


@rule("auth/bearer-header", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=BOTH, dirs=("c2s",),
      exercised=REQUEST, source=REQUIREMENTS)  # fmt: skip
def token_in_another_place(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A token is not in the Authorization header but in the address, or in another header.

    Why it matters: addresses are written to logs everywhere.
    Cannot tell: whether a parameter holds a token, but by its name and shape. Its value is not shown.
    """
    use = use_of(event)
    for name in use.get("query", ()):
        yield ctx.finding(
            event,
            saw=f"parameter {name} of the address",
            expected="Authorization: Bearer",
            path=name,
            text="a token is in the address",
        )
    if "header" in use:
        yield ctx.finding(
            event,
            saw=use["header"][:100],
            expected="Authorization: Bearer",
            path="header",
            text="a token is in another header than Authorization",
        )


@rule("auth/header-on-every-request", level=MUST, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END,), eras=ANY_ERA,
      source=REQUIREMENTS)  # fmt: skip
def request_without_token(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client that was served with a token sends a request without.

    Why it matters: authorization is for each request; there is no session that remembers it.
    Cannot tell: whether it is the same client, unless it comes on the same connection.
    """
    key = use_of(event).get("bare")
    if key is not None:
        ctx.tested()
        yield ctx.finding(event, saw="no Authorization", expected="Authorization: Bearer", also=[key])


@rule(
    "auth/invalid-token-401",
    level=MUST,
    fault=SERVER,
    on=AUTH,
    signals=(HTTP_END,),
    eras=ANY_ERA,
    source=HANDLING,
)
def invalid_token_otherwise(event: Signal, ctx: Context) -> Iterator[Finding]:
    """An expired token is taken, or 401 and 403 are used the other way round.

    Why it matters: 401 sends the client for a new token, 403 for more scopes; the wrong one leads nowhere.
    Cannot tell: whether a token is good, unless it says when it ends; five minutes are left for clocks that differ.
    """
    http = event.http
    use = use_of(event)
    if http is not None and "expired" in use:
        ctx.tested()
        if 200 <= (http.status or 0) < 300:
            yield ctx.finding(
                event,
                saw=f"HTTP {http.status}, {use['expired']} s after its end",
                expected=401,
                path="exp",
                text="an expired token is taken",
            )
    step = step_of(event, "challenge")
    if step is None or step["challenge"] is None or step["era"] not in (MODERN, LEGACY):
        return
    error, status = step["challenge"][3], step["status"]
    wanted = {"invalid_token": 401, "insufficient_scope": 403}.get(error)
    if wanted is None:
        return
    ctx.tested()
    if status != wanted:
        yield ctx.finding(
            event,
            saw=f"HTTP {status} with {error}",
            expected=wanted,
            path="status",
            text=f"{error} comes with HTTP {status} instead of {wanted}",
        )


@rule("auth/token-audience", level=MUST_NOT, fault=CLIENT, on=AUTH, signals=(HTTP_REQUEST_END, HTTP_END), eras=BOTH,
      source=HANDLING)  # fmt: skip
def token_of_another_server(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A token goes to another server than it is for, or is taken by one.

    Why it matters: a server that gets a token for another one can act there as its user.
    Cannot tell: what a token is for, unless it is readable or seen at two servers. Paths of one origin count as one.
    """
    http, use = event.http, use_of(event)
    if event.what == HTTP_REQUEST_END and "elsewhere" in use:
        ctx.tested()
        channel, key = use["elsewhere"]
        yield ctx.finding(
            event,
            saw=[channel, event.channel],
            expected="a token of its own for each server",
            also=[key],
            path="token",
            text="the same token goes to two servers",
        )
    elif event.what == HTTP_END and "audience" in use and http is not None:
        ctx.tested()
        if 200 <= (http.status or 0) < 300:
            yield ctx.finding(
                event,
                saw=use["audience"],
                expected=event.channel,
                path="aud",
                fault="server",
                text="a server takes a token whose audience is another host",
            )


@rule("auth/refresh-rotation", level=MUST, fault=SERVER, on=AUTH, signals=(HTTP_END,), eras=ANY_ERA,
      source=AREA + "security-considerations#token-theft")  # fmt: skip
def refresh_token_not_rotated(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A public client gets no new refresh token for the one it used.

    Why it matters: a stolen one then stays good, and nobody sees that two use it.
    Cannot tell: clients that authenticate, and tokens bound to a key, need no rotation. An answer without a refresh
    token is only noted. The fault is the authorization server's.
    """
    step = step_of(event, "token")
    if (
        step is None
        or step["grant"] != REFRESH_GRANT
        or not step["public"]
        or step["dpop"]
        or not of_mcp(step)
    ):
        return
    ctx.tested()
    if step["rotation"]:
        yield ctx.finding(
            event,
            saw=ROTATION[step["rotation"]],
            expected="a new refresh token, and the old one is void",
            path="refresh_token",
            level="info" if step["rotation"] == "kept" else None,
        )
