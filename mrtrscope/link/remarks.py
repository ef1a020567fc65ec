"""What is noticed about a request or its answer while they are linked, beside the ordinary.

Nearly no exchange has any, so rules that read them (trigger REMARKED) cost the others nothing. `Exchange.remarks` is a
dict of JSON values:

    clash       key of an older request of the same client with this id that still waited
    token       key of an older request of the same client with this progress token that still waited
    repeats     key of an older request of this process that asks the same thing and still waits (stdio)
    undeclared  True: a client's request without version, capabilities or clientInfo in its `_meta`
    cancelled   True: it was cancelled by notification
    first       True: the first request of a process recorded from its start
    unsubscribed   key of a subscription that the process before had and this one was not asked for (stdio)
    untyped     True: a request about a task that only a result of an unknown resultType named
    refused     the -32020, -32021 or -32022 that the same client got last: see `link.versions`
    fallbacks   of initialize: how many times this client fell back to it in a row
    discover    an answer: the server served this one, and had refused server/discover before
    by name     an answer: two clients see this list by turns, each always its own, and only their names differ
    mixed       an answer: [traits], with it the server has shown two traits of the older era

More are listed where they are made: `offers`, `listings`, `web`, `logs` (level), `subscriptions` (listen), `tasks`
(task, augmented), `deferred` (deferred, due), `legacy` (second, premature, hasty, reused, before).
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import LEGACY, META_VERSION, Exchange


def remark(exchange: Exchange, what: str, value: Any = True) -> None:
    """Add a remark."""
    if exchange.remarks is None:
        exchange.remarks = {}
    exchange.remarks[what] = value


def undeclared(exchange: Exchange) -> None:
    """Remark a client's request that does not say all that a modern one says."""
    if exchange.era != LEGACY and (
        exchange.capabilities is None or not exchange.client.info or META_VERSION not in exchange.request.meta
    ):
        remark(exchange, "undeclared")
