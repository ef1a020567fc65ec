"""How a rule is declared, and how the few rules that can apply to a subject are found.

A rule is a generator function under `@rule(...)`. It gets the subject and a `Context`, returns early while
the rule does not apply or cannot be told, calls `ctx.tested()` once the sentence applies and can be decided,
and yields one finding per breach::

    @rule("mrtr/at-least-one-field", facet="question", level=MUST, fault=SERVER, on=ASKED, eras=MODERN_ONLY,
          source="2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow item 6")
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
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from mrtrscope.link.facts import A2A, LEGACY, MODERN, UNKNOWN
from mrtrscope.rules import catalogue, facets
from mrtrscope.wire import events

if TYPE_CHECKING:
    from mrtrscope.rules.context import Context, Finding

Check = Callable[[Any, "Context"], Iterator["Finding"]]
F = TypeVar("F", bound=Check)

# Levels follow the keyword of the sentence; what they count as stands in `catalogue.SEVERITY`.
MUST, MUST_NOT, SHOULD, SHOULD_NOT, ADVISORY = "must", "must-not", "should", "should-not", "advisory"
CLIENT, SERVER, EITHER = "client", "server", "either"

# Triggers: what a rule wants to be called with.
REQUEST = "request"  # (Message, ctx): a request; ctx.exchange is its exchange; ctx.link, ctx.ask: on a retry
RESULT = "result"  # (Message, ctx): the first answer with a result; ctx.exchange.request is the request
FAULT = "fault"  # (Message, ctx): the first answer with an error
EXTRA = "extra"  # (Message, ctx): one more answer to a request that has one
STRAY = "stray"  # (Message, ctx): a response or error that answers nothing known
NOTIFICATION = "notification"  # (Message, ctx): ctx.exchange is that of its stream, None outside one
INVALID = "invalid"  # (Message, ctx): a message of kind "invalid"
RETRY = "retry"  # (Message, ctx): a request linked as a retry, or carrying inputResponses or requestState
ASKED = "asked"  # (Message, ctx): the first answer, with resultType "input_required", whatever the method
RETRY_ANSWERED = "retry-answered"  # (Message, ctx): the first answer, result or error, to a request of RETRY
BATCH = "batch"  # (Message, ctx): an element of a batch; outside 2025-03-26 no other rule sees it
ANY_MESSAGE = "message"  # (Message, ctx): every message
NON_MESSAGE = "non-message"  # (NonMessage, ctx)
SIGNAL = "signal"  # (Signal, ctx): `signals` narrows to some of them
SETTLED = "settled"  # (Operation, ctx): an operation came to its end (any outcome but open)
PRESENT = "present"  # (Operation, ctx): asked at finish() of operations still open; findings are provisional
CHANNEL_PRESENT = "channel"  # (Channel, ctx): asked at finish() of every channel; findings are provisional
# Messages that `screen` found not to be ordinary; (Message, ctx), beside the triggers above:
FORM = "form"  # the text, or one of the members that JSON-RPC knows
META = "meta"  # a key of `_meta`, a `_meta` that is no object, or one deeper down
TRACE = "trace"  # traceparent, tracestate or baggage in `_meta`
DECLARATION = "declaration"  # a client's request: its version, capabilities or clientInfo
RESULT_FORM = "result-form"  # a result: resultType, serverInfo, a status of HTTP that says error
RICH = "rich"  # a result with more than bare texts: other blocks, structuredContent, contents, messages, resources
SHAPE = "shape"  # a request, notification or result that may not fit the schema of its revision
WITH_META = "with-meta"  # ordinary or not, it has a `_meta`; for `exercised`
REMARKED = "remarked"  # a request or answer whose exchange has remarks of link: ctx.exchange.remarks
# What link found out of the ordinary about the HTTP around them; see `link.heads`, `link.replies`, `link.auth`:
ODD_HEAD = "odd-head"  # (Message, ctx): of an exchange whose request has an odd head; both directions
ODD_REPLY = "odd-reply"  # (Signal, ctx): http-response or http-end of an odd answer; `signals` narrows
AUTH = "auth"  # (Signal, ctx): http-request-end or http-end of a step of authorization; `signals` narrows
TRIGGERS = frozenset({
    REQUEST, RESULT, FAULT, EXTRA, STRAY, NOTIFICATION, INVALID, RETRY, ASKED, RETRY_ANSWERED, BATCH,
    ANY_MESSAGE, NON_MESSAGE, SIGNAL, SETTLED, PRESENT, CHANNEL_PRESENT, FORM, META, TRACE, DECLARATION,
    RESULT_FORM, RICH, SHAPE, WITH_META, REMARKED, ODD_HEAD, ODD_REPLY, AUTH,
})  # fmt: skip

MODERN_ONLY = frozenset({MODERN})
LEGACY_ONLY = frozenset({LEGACY})
BOTH = frozenset({MODERN, LEGACY})
ANY_ERA = frozenset({MODERN, LEGACY, UNKNOWN})  # of MCP
A2A_ONLY = frozenset({A2A})
BOTH_TRANSPORTS = frozenset({"http", "stdio"})

_SIGNALS = frozenset(
    value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)
)


class Rule:
    """A registered rule: metadata, and the function that checks it."""

    __slots__ = (
        "check", "dirs", "doc", "entry", "eras", "exercised", "facet", "fault", "id", "last", "level", "methods", "on",
        "order", "signals", "source", "title", "transports",
    )  # fmt: skip

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    id: str
    level: str
    fault: str
    on: frozenset[str]
    exercised: frozenset[str]
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
    last: bool
    facet: str | None
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
    exercised: str | Iterable[str] = (),
    last: bool = False,
    facet: str | None = None,
) -> Callable[[F], F]:
    """Register the decorated generator function as the rule `id`.

    on        one trigger or several
    eras      of the exchange; what belongs to none has the era its own HTTP head declares, else its channel's
              (unknown era: rules bound to an era stay silent)
    methods   only for exchanges (or notifications) with one of these methods; None: any
    signals   for SIGNAL, ODD_REPLY, AUTH: which
    dirs      "c2s" or "s2c": only for subjects in that direction; None: any
    transports  None: as the catalogue says
    exercised   triggers: every subject of these counts as `ctx.tested()`, also those the rule is never called with
                (for rules on what `screen` sorts out)
    facet     the rule sees this of its subject and nothing else, and asks `ctx` for no memory; see `facets`
    last      run after all others, to give way to what they raised (`ctx.raised`)
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
    counted = frozenset([exercised] if isinstance(exercised, str) else exercised)
    if not triggers | counted <= TRIGGERS:
        raise BadRule(f"{id}: unknown trigger {sorted((triggers | counted) - TRIGGERS)}")
    if facet is not None and (facet not in facets.KEYS or last):
        raise BadRule(f"{id}: {facet!r} is no facet, or the rule has to wait for others")
    wanted = frozenset(signals) if signals else None
    if wanted and not wanted <= _SIGNALS:
        raise BadRule(f"{id}: unknown signal {sorted(wanted - _SIGNALS)}")

    def register(check: F) -> F:
        doc = check.__doc__ or ""
        if sys.flags.optimize > 1:
            doc = id  # under -OO nothing has a docstring
        elif "Why it matters:" not in doc:
            raise BadRule(f"{id}: the docstring says no 'Why it matters:'")
        RULES[id] = Rule(
            id=id,
            level=level,
            fault=fault,
            on=triggers,
            exercised=counted,
            eras=eras,
            methods=frozenset(methods) if methods is not None else None,
            signals=wanted,
            dirs=frozenset(dirs) if dirs else None,
            transports=transports if transports is not None else frozenset(entry["transports"]),
            source=source,
            title=doc.strip().splitlines()[0].rstrip("."),
            doc=doc,
            entry=entry,
            order=len(RULES),
            last=last,
            facet=facet,
            check=check,
        )
        return check

    return register


def load() -> dict[str, Rule]:
    """Import every rule module (once) and return the registry."""
    from mrtrscope import rules

    for module in pkgutil.iter_modules(rules.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{rules.__name__}.{module.name}")
    return RULES


class Group:
    """Rules of one facet that are asked together.

    number   the same for the same rules of the same facet          key   see `facets`
    """

    __slots__ = ("facet", "key", "number", "rules")

    def __init__(self, facet: str, number: int, rules: tuple[Rule, ...]) -> None:
        self.facet = facet
        self.key = facets.KEYS[facet]
        self.number = number
        self.rules = rules


class Selection:
    """The rules for subjects of one kind.

    rules     all of them, in order            counted   place in `Selector.counted` of those exercised anyhow
    alone     those asked about every subject  groups    the others by facet, less
    varied    those of facets that are nearly always another (see `facets.VARIED`)
    number    tells selections apart, and from groups
    """

    __slots__ = ("alone", "counted", "groups", "number", "rules", "varied")

    def __init__(self, rules: tuple[Rule, ...], counted: int, number: int, groups: Iterable[Group]) -> None:
        self.rules = rules
        self.counted = counted
        self.number = number
        self.alone = tuple(r for r in rules if r.facet is None)
        by_facet = list(groups)
        self.groups = tuple(g for g in by_facet if g.facet not in facets.VARIED)
        self.varied = tuple(g for g in by_facet if g.facet in facets.VARIED)


class Selector:
    """Answers which rules can apply: built once, then one dictionary look-up per subject.

    The cost of a message depends on the rules that can apply to it, never on how many there are.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = sorted(rules, key=lambda r: (r.last, r.order))
        self._cache: dict[_Key, Selection] = {}
        self._groups: dict[tuple[Rule, ...], Group] = {}
        self.counted: list[tuple[str, ...]] = [()]
        # Any other name matches as none does: a peer that invents methods cannot make the cache grow.
        self._names = {
            name for r in self._rules for narrow in (r.methods, r.signals) for name in narrow or ()
        }

    def matching(
        self, triggers: tuple[str, ...], dir: str, era: str, transport: str, name: str
    ) -> tuple[Rule, ...]:
        """Rules for any of these triggers, and this direction, era, transport and method (SIGNAL: signal)."""
        return self.select(triggers, dir, era, transport, name).rules

    def select(self, triggers: tuple[str, ...], dir: str, era: str, transport: str, name: str) -> Selection:
        """What is to be done about such a subject."""
        key = (triggers, dir, era, transport, name if name in self._names else "")
        found = self._cache.get(key)
        if found is None:
            rules = tuple(r for r in self._rules if _fits(r, r.on, *key))
            ids = tuple(r.id for r in self._rules if r.exercised and _fits(r, r.exercised, *key))
            if ids not in self.counted:
                self.counted.append(ids)
            number = -1 - len(self._cache)  # below those of groups
            found = self._cache[key] = Selection(rules, self.counted.index(ids), number, self._grouped(rules))
        return found

    def _grouped(self, rules: tuple[Rule, ...]) -> Iterator[Group]:
        for facet in dict.fromkeys(r.facet for r in rules if r.facet is not None):
            those = tuple(r for r in rules if r.facet == facet)
            yield self._groups.setdefault(those, Group(facet, len(self._groups), those))


_Key = tuple[tuple[str, ...], str, str, str, str]


def _fits(
    rule: Rule,
    on: frozenset[str],
    triggers: tuple[str, ...],
    dir: str,
    era: str,
    transport: str,
    name: str,
) -> bool:
    narrow = rule.signals if triggers[0] == SIGNAL else rule.methods
    return (
        not on.isdisjoint(triggers)
        and era in rule.eras
        and (transport in rule.transports or not transport)
        and (rule.dirs is None or not dir or dir in rule.dirs)
        and (narrow is None or name in narrow)
    )
