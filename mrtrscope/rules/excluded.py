"""Rules of the catalogue that no function checks, each with the reason.

A rule stands here when the wire of a recording cannot show its breach. That it has not been written yet is no reason:
`tests/rules/test_catalogue.py` keeps that list, and it only shrinks.
"""

from __future__ import annotations

from mrtrscope.rules import catalogue

EXCLUDED: dict[str, str] = {}


def excluded(id: str, *, why: str) -> None:
    """Say that the rule `id` is not checked, and why a recording cannot show it."""
    if id not in catalogue.ENTRIES:
        raise ValueError(f"{id}: not in the catalogue")
    if id in EXCLUDED:
        raise ValueError(f"{id}: excluded twice")
    if len(why) < 20:
        raise ValueError(f"{id}: say why")
    EXCLUDED[id] = why


excluded(
    "mrtr/client-iteration-cap",
    why="whether a client ever stops shows only against a peer that never does; a long chain in a recording is "
    "mrtr/round-count-exceeds-cap",
)
excluded(
    "mrtr/state-single-use-enforced",
    why="which states may be redeemed only once is known to the server alone, and two equal answers to two retries may "
    "be one stored result; it takes a replay, with consent, and a look at the effects",
)
excluded(
    "http/client-supports-both-types",
    why="a client that cannot read one of the two forms of an answer shows only against a server that chooses that "
    "form; it takes a peer that answers the same request in either",
)
