"""How a rule is declared, and how the few rules that can apply to a subject are found.

A rule is a generator function under `@rule(...)`. It gets the subject and a `Context`, returns early while the rule does
not apply or cannot be told, calls `ctx.tested()` once the sentence applies and can be decided, and yields one finding per
breach::

    @rule("mrtr/at-least-one-field", level=MUST, fault=SERVER, on=RESULT, eras=MODERN_ONLY, methods=MRTR_METHODS,
          source="2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow")
    def asks_for_nothing(answer: Message, ctx: Context) -> Iterator[Finding]:
        '''InputRequiredResult has neither inputRequests nor requestState.

        Why it matters: …
        Cannot tell: …
        '''

The decorator refuses, at import: a taken id, an id that the catalogue does not know, other metadata than the
catalogue's, a missing docstring or "Why it matters", an unknown trigger.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from mrtrscope.link.facts import LEGACY, MODERN, UNKNOWN
from mrtrscope.rules import catalogue
from mrtrscope.wire import events

if TYPE_CHECKING:
    from mrtrscope.rules.context import Context, Finding

Check = Callable[[Any, "Context"], Iterator["Finding"]]
F = TypeVar("F", bound=Check)

# Levels follow the keyword of the sentence; what they count as stands in `catalogue.SEVERITY`.
MUST, MUST_NOT, SHOULD, SHOULD_NOT, ADVISORY = "must", "must-not", "should", "should-not", "advisory"
CLIENT, SERVER, EITHER = "client", "server", "either"

# Triggers: what a rule wants to be called with.
REQUEST = "request"  # (Message, ctx): a request; ctx.exchange is its exchange, ctx.link and ctx.ask are set on a retry
RESULT = "result"  # (Message, ctx): the first answer with a result; ctx.exchange.request is the request
FAULT = "fault"  # (Message, ctx): the first answer with an error
EXTRA = "extra"  # (Message, ctx): one more answer to a request that has one
STRAY = "stray"  # (Message, ctx): a response or error that answers nothing known
NOTIFICATION = "notification"  # (Message, ctx): ctx.exchange is that of its stream, None outside one
INVALID = "invalid"  # (Message, ctx): a message of kind "invalid"
ANY_MESSAGE = "message"  # (Message, ctx): every message, before the triggers above
NON_MESSAGE = "non-message"  # (NonMessage, ctx)
SIGNAL = "signal"  # (Signal, ctx): `signals` narrows to some of them
SETTLED = "settled"  # (Operation, ctx): an operation came to its end (any outcome but open)
PRESENT = "present"  # (Operation, ctx): asked at finish() of operations still open; findings are provisional
CHANNEL_PRESENT = "channel"  # (Channel, ctx): asked at finish() of every channel; findings are provisional
TRIGGERS = frozenset({
    REQUEST, RESULT, FAULT, EXTRA, STRAY, NOTIFICATION, INVALID, ANY_MESSAGE, NON_MESSAGE, SIGNAL, SETTLED, PRESENT,
    CHANNEL_PRESENT,
})  # fmt: skip

MODERN_ONLY = frozenset({MODERN})
LEGACY_ONLY = frozenset({LEGACY})
BOTH = frozenset({MODERN, LEGACY})
ANY_ERA = frozenset({MODERN, LEGACY, UNKNOWN})
BOTH_TRANSPORTS = frozenset({"http", "stdio"})

_SIGNALS = frozenset(
    value for name, value in vars(events).items() if name.isupper() and isinstance(value, str) and name != "ABSENT"
)


class Rule:
    """A registered rule: metadata, and the function that checks it."""

    __slots__ = ("check", "dirs", "doc", "entry", "eras", "fault", "id", "level", "methods", "on", "order", "signals",
                 "source", "title", "transports")  # fmt: skip

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    id: str
    level: str
    fault: str
    on: frozenset[str]
    eras: frozenset[str]
    methods: frozenset[str] | None
    signals: frozenset[str] | None
    dirs: frozenset[str] | None
    transports: frozenset[str]
    source: str
    title: str
    doc: str
    entry: dict[str, Any]
    order: int
    check: Check


RULES: dict[str, Rule] = {}


class BadRule(Exception):
    """A rule declaration that does not fit the catalogue; raised at import."""


def rule(
    id: str,
    *,
    level: str,
    fault: str,
    on: str | Iterable[str],
    source: str,
    eras: frozenset[str] = MODERN_ONLY,
    methods: Iterable[str] | None = None,
    signals: Iterable[str] | None = None,
    dirs: Iterable[str] | None = None,
    transports: frozenset[str] | None = None,
) -> Callable[[F], F]:
    """Register the decorated generator function as the rule `id`.

    on        one trigger or several
    eras      of the exchange (unknown era: rules bound to an era stay silent; signals and non-messages have the era of
              their exchange, else that of their channel)
    methods   only for exchanges (or notifications) with one of these methods; None: any
    signals   for SIGNAL: which
    dirs      "c2s" or "s2c": only for subjects in that direction; None: any
    transports  None: as the catalogue says
    """
    entry = catalogue.ENTRIES.get(id)
    if entry is None:
        raise BadRule(f"{id}: not in the catalogue")
    if id in RULES:
        raise BadRule(f"{id}: registered twice")
    if level != entry["level"] or fault != entry["party"]:
        raise BadRule(f"{id}: catalogue says {entry['level']}/{entry['party']}, rule says {level}/{fault}")
    if source not in entry["source"]:
        raise BadRule(f"{id}: source {source!r} is none of {entry['source']}")
    triggers = frozenset([on] if isinstance(on, str) else on)
    if not triggers <= TRIGGERS:
        raise BadRule(f"{id}: unknown trigger {sorted(triggers - TRIGGERS)}")
    wanted = frozenset(signals) if signals else None
    if wanted and not wanted <= _SIGNALS:
        raise BadRule(f"{id}: unknown signal {sorted(wanted - _SIGNALS)}")

    def register(check: F) -> F:
        doc = check.__doc__ or ""
        if "Why it matters:" not in doc:
            raise BadRule(f"{id}: the docstring says no 'Why it matters:'")
        RULES[id] = Rule(
            id=id, level=level, fault=fault, on=triggers, eras=eras, source=source, doc=doc, check=check, entry=entry,
            methods=frozenset(methods) if methods is not None else None, signals=wanted,
            dirs=frozenset(dirs) if dirs else None, title=doc.strip().splitlines()[0].rstrip("."), order=len(RULES),
            transports=transports if transports is not None else frozenset(entry["transports"]),
        )  # fmt: skip
        return check

    return register


def load() -> dict[str, Rule]:
    """Import every rule module (once) and return the registry."""
    from mrtrscope import rules

    for module in pkgutil.iter_modules(rules.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{rules.__name__}.{module.name}")
    return RULES


class Selector:
    """Answers which rules can apply: built once, then one dictionary look-up per subject.

    The cost of a message depends on the rules that can apply to it, never on how many there are.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = sorted(rules, key=lambda r: r.order)
        self._cache: dict[tuple[str, str, str, str, str], tuple[Rule, ...]] = {}
        self._methods = {m for r in self._rules for m in r.methods or ()} | {m for r in self._rules for m in r.signals or ()}

    def matching(self, trigger: str, dir: str, era: str, transport: str, name: str) -> tuple[Rule, ...]:
        """Rules for this trigger, direction, era, transport and method (for SIGNAL: name of the signal)."""
        key = (trigger, dir, era, transport, name if name in self._methods else "")
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = tuple(r for r in self._rules if _fits(r, *key))
        return found


def _fits(rule: Rule, trigger: str, dir: str, era: str, transport: str, name: str) -> bool:
    narrow = rule.signals if trigger == SIGNAL else rule.methods
    return (
        trigger in rule.on
        and era in rule.eras
        and (transport in rule.transports or not transport)
        and (rule.dirs is None or not dir or dir in rule.dirs)
        and (narrow is None or name in narrow)
    )
