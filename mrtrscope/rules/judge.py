"""The judge: gives each thing that happened to the rules that can apply to it, and collects what they find.

The pipeline calls `on_message` for every message, `on_event` for everything that is none, `on_settled` when
an operation came to its end, and `present` when somebody asks how things stand now. Lasting findings and
counts are fetched by `take`.

A subject that the recorder cut, that a person edited, or that the recording proxy said itself is shown to no
rule: what is ours is blamed on nobody. An exception out of a rule is our bug: it costs that rule's word on
that subject, never the message, and is counted in `failures`; where `strict` is set (tests) it is raised.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from mrtrscope.link.discovery import version_of
from mrtrscope.link.facts import A2A, LEGACY, META_VERSION, MODERN, UNKNOWN, Exchange, Operation
from mrtrscope.link.memory import DictMemory, Memory
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import Channel, is_legacy, is_modern, session_version
from mrtrscope.rules import registry as reg
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import Group, Rule, Selection, Selector
from mrtrscope.rules.screen import screen
from mrtrscope.wire.events import Event, Message, NonMessage, Signal

# What a message is to its exchange; the pipeline says which.
ROLES = frozenset({reg.REQUEST, reg.RESULT, reg.FAULT, reg.EXTRA, reg.STRAY, reg.NOTIFICATION, reg.INVALID})

BATCHES_ALLOWED = "2025-03-26"
SOUND = 8192  # how many looks of facets are remembered
MANY = 50  # findings of one rule about one subject; a peer decides how many keys a message has

# Triggers by the bits of `screen`, in their order.
_GROUPS = (
    reg.FORM, reg.WITH_META, reg.META, reg.TRACE, reg.DECLARATION, reg.RESULT_FORM, reg.RICH, reg.SHAPE,
)  # fmt: skip
_SCREENED = [
    tuple(g for bit, g in enumerate(_GROUPS) if bits >> bit & 1) for bits in range(1 << len(_GROUPS))
]


class _Sound:
    """What the rules of a facet saw and found nothing in.

    tested   (order of a rule, how often it was exercised by it), for those that were
    counts   whose counts it was seen for last          times   how often, since they were counted last
    """

    __slots__ = ("counts", "tested", "times")

    def __init__(self, tested: tuple[tuple[int, int], ...], counts: list[int]) -> None:
        self.tested = tested
        self.counts = counts
        self.times = 0

    def count(self) -> None:
        """Bring the counts up to date."""
        for order, n in self.tested:
            self.counts[order] += n * self.times
        self.times = 0


class Judge:
    """Runs the rules.

    rules      default: all registered ones
    memory     handed to rules as `ctx.memory`, to read what `link` keeps for ever
    findings   lasting findings since the last `take()`
    failures   rule id -> [how often it raised, what it said first, key of that subject]
    """

    strict = False  # raise what a rule raises; tests set it on the class

    def __init__(self, rules: Iterable[Rule] | None = None, memory: Memory | None = None) -> None:
        chosen = list(reg.load().values() if rules is None else rules)
        self._select = Selector(chosen)
        self.findings: list[Finding] = []
        self._ids = {rule.order: rule.id for rule in chosen}
        self._since = {rule.id: str(rule.entry["since"]) for rule in chosen if "since" in rule.entry}
        self._counts: dict[str, list[int]] = {}  # channel -> how often exercised, by the order of the rule
        self._passed: dict[tuple[str, int], int] = {}  # (channel, place in `counted`) -> how often
        self.failures: dict[str, list[Any]] = {}
        self._sound: dict[
            Hashable, _Sound
        ] = {}  # by facet, or all facets of a selection, and what its rules saw
        self._seen: list[_Sound] = []  # those of them that were seen again since they were counted last
        self._ctx = Context()
        self._ctx.given = {}
        self._ctx.memory = DictMemory() if memory is None else memory
        self._ctx.lasting = True

    def on_message(self, message: Message, role: str, exchange: Exchange | None, channel: Channel) -> None:
        """Judge one message; `role` is what it is to `exchange` (one of `ROLES`, or "" for none)."""
        if silent(message):
            return
        triggers = _triggers(message, role, exchange)
        name = exchange.method if exchange is not None and role != reg.NOTIFICATION else message.method or ""
        self._enter(message, exchange, channel)
        self._run(triggers, message, message.dir, name)

    def on_event(self, event: NonMessage | Signal, exchange: Exchange | None, channel: Channel) -> None:
        """Judge what is no message; `exchange` is that of its stream or HTTP exchange, when there is one."""
        if silent(event):
            return
        self._enter(event, exchange, channel)
        if isinstance(event, Signal):
            self._run(_signal_triggers(event), event, event.dir, event.what)
        else:
            self._run((reg.NON_MESSAGE,), event, event.dir, exchange.method if exchange is not None else "")

    def on_settled(self, operation: Operation, channel: Channel) -> None:
        """Judge an operation that came to its end."""
        self._enter_operation(operation, channel)
        self._run((reg.SETTLED,), operation, "", operation.method)

    def present(
        self,
        operations: Iterable[tuple[Operation, Channel]],
        channels: Iterable[Channel],
        lines: Iterable[tuple[NonMessage, Channel]] = (),
    ) -> list[Finding]:
        """How things stand: findings about operations still open, about channels, and about lines of text that
        may still turn out to be parts of a message. Nothing is kept."""
        lasting, counts = self.findings, self._counts
        self.findings, self._counts, self._ctx.lasting = [], {}, False
        try:
            for operation, channel in operations:
                self._enter_operation(operation, channel)
                self._run((reg.PRESENT,), operation, "", operation.method)
            for channel in channels:
                self._enter_channel(channel)
                self._run((reg.CHANNEL_PRESENT,), channel, "", "")
            for line, channel in lines:
                self.on_event(line, None, channel)
            found = self.findings
        finally:
            self.findings, self._counts, self._ctx.lasting = lasting, counts, True
        for finding in found:
            finding.provisional = True
        return found

    def take_back(self, keys: list[str]) -> None:
        """These were changed on their way by a person: what was found about them and is not taken yet is forgotten."""
        about = set(keys)
        self.findings = [f for f in self.findings if f.at not in about and about.isdisjoint(f.also)]

    def take(self) -> tuple[list[Finding], dict[tuple[str, str], int]]:
        """Lasting findings and counts since the last call; forgets them."""
        for sound in self._seen:
            sound.count()
        self._seen.clear()
        tested = {
            (channel, self._ids[order]): times
            for channel, counts in self._counts.items()
            for order, times in enumerate(counts)
            if times
        }
        for (channel, place), times in self._passed.items():
            for id in self._select.counted[place]:
                tested[channel, id] = tested.get((channel, id), 0) + times
        found, self.findings = self.findings, []
        self._counts.clear()
        self._passed.clear()
        return found, tested

    def _counts_of(self, channel: Channel) -> list[int]:
        counts = self._counts.get(channel.name)
        if counts is None:
            counts = self._counts[channel.name] = [0] * (max(self._ids, default=0) + 1)
        return counts

    def _enter(self, event: Event, exchange: Exchange | None, channel: Channel) -> None:
        ctx = self._ctx
        ctx.subject = event
        ctx.exchange = exchange
        ctx.channel = channel
        ctx.counts = self._counts_of(channel)
        ctx.asked = ctx.answered = None
        ctx.looks = {}
        channel.last = ctx.now = event.t
        ctx.transport = "stdio" if event.http is None and channel.transport == "stdio" else "http"
        if exchange is None:
            ctx.link = ctx.ask = ctx.operation = None
            ctx.era, ctx.version = era_of(event, channel), ""
        else:
            ctx.link, ctx.operation = exchange.link, exchange.operation
            ctx.ask = exchange.link.ask if exchange.link is not None else None
            ctx.era, ctx.version = exchange.era, exchange.version

    def _enter_operation(self, operation: Operation, channel: Channel) -> None:
        self._enter_channel(channel)
        last, ctx = operation.last, self._ctx
        ctx.operation, ctx.now = operation, operation.t_end or operation.t
        if last is not None:
            ctx.subject, ctx.exchange, ctx.link = last.request, last, last.link
            ctx.ask = last.link.ask if last.link is not None else None
            ctx.era, ctx.version = last.era, last.version

    def _enter_channel(self, channel: Channel) -> None:
        ctx = self._ctx
        ctx.subject = ctx.exchange = ctx.link = ctx.ask = ctx.operation = ctx.asked = ctx.answered = None
        ctx.counts = self._counts_of(channel)
        ctx.channel, ctx.transport, ctx.now = channel, channel.transport, 0
        ctx.era, ctx.version = channel_era(channel), ""

    def _run(self, triggers: tuple[str, ...], subject: Any, dir: str, name: str) -> None:
        ctx = self._ctx
        raised: list[Finding] = []
        ctx.raised = raised
        chosen = self._select.select(triggers, dir, ctx.era, ctx.transport, name)
        if chosen.counted and ctx.lasting:
            passed = (ctx.channel.name, chosen.counted)
            self._passed[passed] = self._passed.get(passed, 0) + 1
        groups = chosen.groups
        if groups:
            keys = [group.key(subject, ctx) for group in groups]
            sound = self._sound.get((chosen.number, *keys))
            if sound is None:
                self._ask_groups(chosen, keys, subject, raised)
            else:
                self._again(sound)
                if None in keys:
                    for group, key in zip(groups, keys, strict=True):
                        if key is None:
                            self._ask(group.rules, subject, raised)
        for group in chosen.varied:
            key = group.key(subject, ctx)
            if key is None:
                self._ask(group.rules, subject, raised)
            else:
                self._ask_once(group, key, subject, raised)
        self._ask(chosen.alone, subject, raised)
        if raised:
            self.findings.extend(self._of_its_revision(raised, subject))

    def _of_its_revision(self, raised: list[Finding], subject: Any) -> list[Finding]:
        """Without what the revision that was agreed on does not say yet."""
        version = self._revision(subject)
        return [one for one in raised if not version or self._since.get(one.rule, "") <= version]

    def _revision(self, subject: Any) -> str:
        """The revision that a session of an earlier one agreed on, "" when it is not known, or no earlier one."""
        ctx = self._ctx
        if isinstance(subject, Channel):
            return str(subject.facts.get("auth_version", "")) if ctx.era != MODERN else ""
        http = subject.http if isinstance(subject, Signal) else None
        if ctx.era != LEGACY and (http is None or "auth" not in http.facts):
            return ""
        if http is not None and "auth" in http.facts and not ctx.version:
            return version_of(ctx.memory, http.facts["auth"])
        return ctx.version or (session_version(ctx.memory, subject) if isinstance(subject, Event) else "")

    def _ask_groups(
        self, chosen: Selection, keys: list[Hashable | None], subject: Any, raised: list[Finding]
    ) -> None:
        """Ask the rules of all facets; where none found anything, that is remembered of all together."""
        tested: list[tuple[int, int]] = []
        all_sound = True
        for group, key in zip(chosen.groups, keys, strict=True):
            if key is None:
                self._ask(group.rules, subject, raised)
                continue
            sound = self._ask_once(group, key, subject, raised)
            if sound is None:
                all_sound = False
            else:
                tested += sound.tested
        if all_sound:
            self._keep((chosen.number, *keys), tested)

    def _ask_once(self, group: Group, key: Hashable, subject: Any, raised: list[Finding]) -> _Sound | None:
        """Ask the rules of a facet, unless they found nothing in what looked alike; what they tested counts anyhow.
        Returned is what is remembered, None when there is something to find."""
        sound = self._sound.get((group.number, key))
        if sound is not None:
            self._again(sound)
            return sound
        counts = self._ctx.counts
        found, failed = len(raised), len(self.failures)
        before = [counts[rule.order] for rule in group.rules]
        self._ask(group.rules, subject, raised)
        if len(raised) != found or len(self.failures) != failed:
            return None
        now = [(rule.order, counts[rule.order] - n) for rule, n in zip(group.rules, before, strict=True)]
        return self._keep((group.number, key), [(order, n) for order, n in now if n])

    def _keep(self, look: Hashable, tested: list[tuple[int, int]]) -> _Sound:
        if len(self._sound) >= SOUND:
            self._sound.clear()
        sound = self._sound[look] = _Sound(tuple(tested), self._ctx.counts)
        return sound

    def _again(self, sound: _Sound) -> None:
        """What is remembered was seen once more."""
        counts = self._ctx.counts
        if sound.counts is not counts:
            sound.count()
            sound.counts = counts
        if not sound.times:
            self._seen.append(sound)
        sound.times += 1

    def _ask(self, rules: tuple[Rule, ...], subject: Any, raised: list[Finding]) -> None:
        ctx = self._ctx
        for rule in rules:
            ctx.rule = rule
            try:
                room = MANY
                for finding in rule.check(subject, ctx):
                    raised.append(finding)
                    room -= 1
                    if not room:
                        finding.text += "; and more like it here"
                        break
            except Exception as error:
                if self.strict:
                    raise
                self._failed(rule, error)

    def _failed(self, rule: Rule, error: Exception) -> None:
        at = self._ctx.subject.key if self._ctx.subject is not None else self._ctx.channel.name
        said = self.failures.setdefault(rule.id, [0, f"{type(error).__name__}: {error}"[:200], at])
        said[0] += 1


def silent(event: Event) -> bool:
    """True for what nobody may be blamed for: cut, edited by a person, or said by the recording proxy."""
    return event.cut or event.edited or (event.http is not None and event.http.ours and event.dir == "s2c")


def _triggers(message: Message, role: str, exchange: Exchange | None) -> tuple[str, ...]:
    """What a message sets off. Rounds have triggers of their own: ordinary calls never meet those rules."""
    if message.batch is not None and (exchange is None or exchange.version != BATCHES_ALLOWED):
        return (reg.BATCH,)
    triggers: tuple[str, ...] = (reg.ANY_MESSAGE, role)
    if role == reg.REQUEST:
        if is_retry(message, exchange):
            triggers += (reg.RETRY,)
    elif role in (reg.RESULT, reg.FAULT):
        if message.result.get("resultType") == "input_required":
            triggers += (reg.ASKED,)
        if exchange is not None and is_retry(exchange.request, exchange):
            triggers += (reg.RETRY_ANSWERED,)
    bits = screen(message)
    if bits:
        triggers += _SCREENED[bits]
    if exchange is not None and exchange.remarks is not None and role != reg.NOTIFICATION:
        triggers += (reg.REMARKED,)
    if message.http is not None and "head" in message.http.facts:
        triggers += (reg.ODD_HEAD,)
    return triggers if message.batch is None else (*triggers, reg.BATCH)


def _signal_triggers(signal: Signal) -> tuple[str, ...]:
    triggers: tuple[str, ...] = (reg.SIGNAL,)
    if signal.http is not None:
        facts = signal.http.facts
        if "reply" in facts and signal.dir == "s2c":
            triggers += (reg.ODD_REPLY,)
        if "auth" in facts:
            triggers += (reg.AUTH,)
    return triggers


def is_retry(request: Message, exchange: Exchange | None) -> bool:
    """The request carries answers or a state, or was linked to a question without."""
    if exchange is not None and exchange.link is not None:
        return True
    params = request.params
    return "inputResponses" in params or "requestState" in params


def era_of(event: Event, channel: Channel) -> str:
    """The era of something that belongs to no exchange: what it declares itself, else its channel's."""
    if isinstance(event, Message) and event.dir == "c2s" and is_modern(event.meta.get(META_VERSION)):
        return MODERN
    if event.http is not None:
        if A2A in event.http.facts:
            return A2A
        declared = event.http.request_header("mcp-protocol-version")
        if is_modern(declared):
            return MODERN
        if is_legacy(declared):
            return LEGACY
    run = run_of(channel, event)  # another process may be of another era
    return _only_era(run.modern, run.initialized)


def channel_era(channel: Channel) -> str:
    """Purely modern, purely legacy, or not to be told."""
    return _only_era(channel.modern, channel.initialized)


def _only_era(modern: int, initialized: int) -> str:
    if modern and not initialized:
        return MODERN
    return LEGACY if initialized and not modern else UNKNOWN
