"""Which findings a run of `check` is about, and what stands for one across recordings."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator

from mrtrscope import model

_LOOPBACK = re.compile(r"^(https?://)(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?", re.IGNORECASE)


class UnknownRule(ValueError):
    """A `--select` or `--ignore` names what is neither a rule nor an area."""


class Selection:
    """By rule or area (`mrtr/new-request-id`, `mrtr`, `mrtr/*`), and by the party at fault.

    select   only these (none: all)       ignore   not these       party   "client", "server" or None for both
    known    ids of all rules; a name that fits none of them raises `UnknownRule`
    """

    def __init__(
        self, select: Iterable[str], ignore: Iterable[str], party: str | None, known: Iterable[str]
    ) -> None:
        ids = frozenset(known)
        self._wanted = _rules(select, ids)
        self._unwanted = _rules(ignore, ids) or frozenset()
        self._party = party

    def __contains__(self, finding: model.Finding) -> bool:
        if self._wanted is not None and finding.rule not in self._wanted:
            return False
        if finding.rule in self._unwanted:
            return False
        return self._party is None or finding.party in (self._party, "either")


def _rules(names: Iterable[str], known: frozenset[str]) -> frozenset[str] | None:
    wanted = {name for given in names for name in given.replace(",", " ").split()}
    if not wanted:
        return None
    found: set[str] = set()
    for name in wanted:
        area = name.removesuffix("/*")
        fitting = {id for id in known if id in (name, area) or id.startswith(f"{area}/")}
        if not fitting:
            names = sorted({*known, *(id.partition("/")[0] for id in known)})
            near = difflib.get_close_matches(name, names, 3, 0.6)
            near = near or [id for id in names if name.rpartition("/")[2][:8] in id][:3]
            hint = f"; did you mean {', '.join(near)}?" if near else "; `mrtrscope rules` lists them"
            raise UnknownRule(f"no rule or area is called {name!r}{hint}")
        found |= fitting
    return frozenset(found)


def fingerprint(finding: model.Finding, method: str, target: str) -> str:
    """What stands for a finding in another recording of the same thing: no time, id, port or message number in it."""
    parts = (finding.rule, finding.party, channel_name(finding.channel), method, target, finding.path)
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def channel_name(channel: str) -> str:
    """The channel without the port that a server on this machine happened to get."""
    return _LOOPBACK.sub(r"\1loopback", channel)


class Folded:
    """Findings that say the same: the first of them, how many there are, what stands for them elsewhere."""

    __slots__ = ("count", "finding", "fingerprint", "method", "target")

    def __init__(self, finding: model.Finding, fingerprint: str, method: str, target: str) -> None:
        self.finding = finding
        self.fingerprint = fingerprint
        self.method = method
        self.target = target
        self.count = 1


def fold(findings: Iterable[model.Finding], about: dict[str, tuple[str, str]]) -> Iterator[Folded]:
    """One for each fingerprint, in the order of the first; first faults before their consequences.

    about   operation -> (method, target)
    """
    found: dict[str, Folded] = {}
    for finding in findings:
        method, target = about.get(finding.operation or "", ("", ""))
        mark = fingerprint(finding, method, target)
        if mark in found:
            found[mark].count += 1
        else:
            found[mark] = Folded(finding, mark, method, target)
    first = [f for f in found.values() if not f.finding.because]
    yield from first
    yield from (f for f in found.values() if f.finding.because)
