"""What a capture holds beside its operations, a line each: what was kept and not judged, and what is none of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mrtrscope.views.words import series

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store

WHY = {
    "too-long": "longer than 64 MiB or of more than 4,000,000 values",
    "too-deep": "nested deeper than 512",
}


def lines(store: Store) -> Iterator[str]:
    """In words; nothing when there is nothing to say."""
    kept = {why: n for why, n in store.not_judged().items() if n}
    if kept:
        n = sum(kept.values())
        reasons = series([f"{count:,} {WHY[why]}" for why, count in kept.items()])
        yield f"{n:,} {'message was' if n == 1 else 'messages were'} kept, but not judged: {reasons}."
    others = store.other_addresses()
    if n := others["addresses"]:
        asked = others["requests"]
        many = f"{'more than ' if others['more'] else ''}{n:,}"
        yield (
            f"{many} other HTTP {'address' if n == 1 else 'addresses'} carried nothing of MCP, A2A or OAuth"
            f" ({asked:,} {'request' if asked == 1 else 'requests'})."
        )


def members(store: Store) -> dict[str, Any]:
    """The same for scripts."""
    return {"not_judged": store.not_judged(), "other_addresses": store.other_addresses()}
