"""basic/index, icons: where they may come from, and how they are fetched."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.icons import sources
from mrtrscope.link.origins import split
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    BOTH,
    CLIENT,
    DECLARATION,
    EITHER,
    MUST,
    ODD_REPLY,
    RESULT_FORM,
    SHAPE,
    rule,
)
from mrtrscope.wire.events import HTTP_RESPONSE, Message, Signal

PAGE = "2026-07-28/basic/index#icons"
TOLD = 20  # of one message


@rule("icons/src-scheme", level=ADVISORY, fault=EITHER, on=(SHAPE, DECLARATION, RESULT_FORM), eras=BOTH,
      facet="iconless", source=PAGE)  # fmt: skip
def icon_from_elsewhere(message: Message, ctx: Context) -> Iterator[Finding]:
    """The address of an icon is none that consumers may use.

    Why it matters: consumers must refuse unsafe schemes, and should find https or data of the server's own origin.
    Cannot tell: whether another origin is trusted; it is only noted, as is everything here, once for a channel.
    """
    if b'"icons"' not in message.raw:
        return
    method = ctx.exchange.method if ctx.exchange is not None else ""
    server = split(message.channel)
    told = 0
    for path, src in sources(message, method):
        if type(src) is not str:
            continue  # the schema's business
        ctx.tested()
        why = _wrong(src, server.origin if server is not None else "")
        if why and told < TOLD and ctx.first(src[:256]):
            told += 1
            expected = "https or data:image/…, of the server's own origin"
            yield ctx.finding(message, saw=src[:200], expected=expected, path=path, text=why,
                              fault="client" if message.dir == "c2s" else "server")  # fmt: skip


@rule("icons/fetched-without-credentials", level=MUST, fault=CLIENT, on=ODD_REPLY, signals=(HTTP_RESPONSE,),
      eras=ANY_ERA, source=PAGE)  # fmt: skip
def icon_fetched_with_credentials(event: Signal, ctx: Context) -> Iterator[Finding]:
    """An icon is fetched with credentials, or from where a redirection led.

    Why it matters: the address is the server's to choose; whatever goes with the request goes to whom it likes.
    Cannot tell: what a browser sends when the user goes there; icons that do not pass this recorder.
    """
    http = event.http
    found = http.facts.get("icon") if http is not None else None
    if (
        http is None
        or found is None
        or _navigates(http.request_header("sec-fetch-mode"), http.request_header("accept"))
    ):
        return
    ctx.tested()
    sent = [name for name in ("Authorization", "Cookie") if http.request_header(name.lower()) is not None]
    if sent:
        yield ctx.finding(event, saw=sent, expected="neither", also=[found["key"]], path="credentials",
                          text=f"an icon is fetched with {' and '.join(sent)}")  # fmt: skip
    if found["from"]:
        before, now = split(found["from"]), split(http.url)
        if before is not None and now is not None and before.origin != now.origin:
            yield ctx.finding(event, saw=now.origin, expected=before.origin, also=[found["key"]], path="redirect",
                              text="an icon is fetched from another origin, to which a redirection led")  # fmt: skip


def _wrong(src: str, origin: str) -> str:
    scheme = src.partition(":")[0].strip().lower() if ":" in src[:64] else ""
    if scheme == "data":
        return "" if src[5:].lstrip().lower().startswith("image/") else "an icon's data has no image type"
    if scheme == "http":
        return "an icon's address is http"
    if scheme != "https":
        return (
            f"an icon's address has the scheme {scheme[:32]}"
            if scheme
            else "an icon's address is no absolute URI"
        )
    address = split(src)
    if address is None:
        return "an icon's address is no URI"
    return (
        "an icon's address is of another origin"
        if origin.startswith("http") and address.origin != origin
        else ""
    )


def _navigates(mode: str | None, accept: str | None) -> bool:
    return mode == "navigate" or (mode is None and (accept or "").lower().startswith("text/html"))
