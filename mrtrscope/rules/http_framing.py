"""A note of ours on HTTP itself: what makes two readers see different messages, by RFC 9112."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, ANY_ERA, EITHER, SIGNAL, rule
from mrtrscope.wire.events import HTTP_END, Signal


@rule("http/framing", level=ADVISORY, fault=EITHER, on=SIGNAL, signals=(HTTP_END,), eras=ANY_ERA,
      source="ours: HTTP framing (RFC 9112, section 6)")  # fmt: skip
def damaged_around(event: Signal, ctx: Context) -> Iterator[Finding]:
    """HTTP around a message is damaged: its length, chunks or coding contradict what came.

    Why it matters: one reader takes more for the message than another; what is left over is read as the next one.
    Cannot tell: what was meant, and bytes behind the end that come later than it. What cannot be read because of the
    damage is not judged as JSON-RPC. Through mitmproxy, which frames HTTP anew, only the head as it came is seen.
    """
    http = event.http
    if http is None or not (wrong := http.facts.get("framing")) or http.ours or http.cut:
        return
    for side, why in wrong.items():
        fault = "client" if side == "request" else "server"
        yield ctx.finding(
            event, saw=why, path=side, fault=fault, text=f"HTTP around the {side} is damaged: {why}"
        )
