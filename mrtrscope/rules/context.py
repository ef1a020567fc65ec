"""What a rule reads, and the finding it yields. A rule keeps no state of its own and asks no clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mrtrscope.link.facts import Ask, Exchange, Link, Operation
from mrtrscope.link.memory import Memory, digest
from mrtrscope.rules.catalogue import SEVERITY
from mrtrscope.wire.events import Event

if TYPE_CHECKING:
    from mrtrscope.link.session import Channel
    from mrtrscope.rules.registry import Rule

SAW_LIMIT = 2000  # characters of `saw` and `expected` that a finding keeps


class Finding:
    """One rule, one subject, the party at fault, what was seen, what was expected.

    id        stable over re-reading: digest of rule, subject and path
    level     "must", "should" or "info"        keyword   as in the catalogue ("must-not", …, "advisory")
    party     "client", "server" or "either"
    at        key of the message or other event it is about     also   keys of others it names
    operation key of the operation, "" when there is none
    saw, expected   JSON values or text, bounded, None when there is nothing to say
    text      one sentence: what is wrong here
    provisional   True: an answer to finish(), may be gone when more traffic comes
    path      what told it apart from other findings of the rule at this subject (a JSON path, a header name)
    because   id of the finding whose consequence this one is, "" when it stands by itself
    """

    __slots__ = (
        "also", "at", "because", "channel", "expected", "id", "keyword", "level", "operation", "party",
        "path", "place", "provisional", "rule", "saw", "t", "text",
    )  # fmt: skip

    id: str
    rule: str
    level: str
    keyword: str
    party: str
    at: str
    also: tuple[str, ...]
    operation: str
    channel: str
    t: int
    saw: Any
    expected: Any
    path: str
    text: str
    place: dict[str, int] | None
    provisional: bool
    because: str


class Context:
    """Handed to every rule; the fields below are set anew for each subject.

    exchange   the exchange that the subject belongs to, None when there is none
    link, ask  of that exchange: how it was linked as a retry, and the result it takes up (None: no retry,
               or ambiguous)
    channel    facts about the server side: see `link.session.Channel`
    era, version   of the exchange, else of the channel ("unknown" / "")
    transport  "http" or "stdio"
    now        time of the subject, microseconds
    subject    what the running rule was called with; None for a channel (an operation: its last request)
    raised     findings about this subject so far, of other rules too
    asked, answered   for `questions`: the questions and answers of this subject, None before somebody wanted them
    looks      what `facets` made of this subject so far
    given      what `facets` made of the answers that requests gave, until these are answered; by key of the exchange
    lasting    False while somebody asks how things stand now (PRESENT): what is found is not kept
    memory     what `link` keeps for ever, to read
    """

    __slots__ = (
        "answered", "ask", "asked", "channel", "counts", "era", "exchange", "given", "lasting", "link", "looks",
        "memory", "now", "operation", "raised", "rule", "subject", "transport", "version",
    )  # fmt: skip

    exchange: Exchange | None
    link: Link | None
    ask: Ask | None
    operation: Operation | None
    channel: Channel
    era: str
    version: str
    transport: str
    now: int
    subject: Event | None
    raised: list[Finding]
    lasting: bool
    memory: Memory
    rule: Rule
    asked: Any
    answered: Any
    looks: dict[str, bytes | None]
    given: dict[str, bytes | None]
    counts: list[int]

    def tested(self) -> None:
        """The sentence of the running rule applies here and can be decided: it counts as exercised."""
        self.counts[self.rule.order] += 1

    def first(self, *what: str) -> bool:
        """Whether the running rule asks this for the first time on this channel: "report once per server".

        What is asked about is remembered for ever, except while `lasting` is False.
        """
        key = digest(self.rule.id, self.channel.name, *what)
        if self.memory.get("once", key) is not None:
            return False
        if self.lasting:
            self.memory.set("once", key, "1")
        return True

    def finding(
        self,
        subject: Event,
        *,
        saw: Any = None,
        expected: Any = None,
        also: Iterable[Event | str | None] = (),
        text: str | None = None,
        path: str = "",
        level: str | None = None,
        fault: str | None = None,
        because: str | Finding = "",
    ) -> Finding:
        """A finding of the running rule about `subject`.

        also    events or their keys; None is passed over
        text    default: the title of the rule
        path    tells findings of one rule at one subject apart (a JSON path, a header name)
        level   "info" where the detection of the catalogue says so; default by the keyword
        fault   where the rule's party is "either" and the culprit is known
        because the finding that this one follows from, or its id (see `finding_id`)
        """
        rule = self.rule
        found = Finding()
        found.rule = rule.id
        found.keyword = rule.level
        found.level = level or SEVERITY[rule.level]
        found.party = fault or rule.fault
        found.at = subject.key
        found.id = finding_id(rule.id, subject.key, path)
        found.also = tuple(a if isinstance(a, str) else a.key for a in also if a is not None)
        found.operation = self.operation.key if self.operation is not None else ""
        found.channel = subject.channel
        found.t = subject.t
        found.place = subject.place
        found.path = path
        found.saw = bounded(saw)
        found.expected = bounded(expected)
        found.text = text or rule.title
        found.provisional = False
        found.because = because if isinstance(because, str) else because.id
        return found


def finding_id(rule: str, subject: str, path: str = "") -> str:
    """The id that a finding of this rule at this subject has, whether or not there is one."""
    # surrogates: a member name out of the traffic may hold a lone one
    text = f"{rule}\0{subject}\0{path}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def bounded(value: Any) -> Any:
    """The value when its JSON text is short, else the beginning of that text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= SAW_LIMIT else f"{value[:SAW_LIMIT]}… ({len(value)} characters)"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= SAW_LIMIT else f"{text[:SAW_LIMIT]}… ({len(text)} characters)"
