"""One run of a server: what it showed of itself is not held against the run after it, which may be another server.

On stdio a run is a process. Over HTTP nobody sees a server end. There it is another one from the moment at which it
calls itself otherwise than before: another version of a name that was seen (`serverInfo`), or another name where it
introduces itself, in the result of initialize or server/discover. Elsewhere another name is no sign, since a gateway
passes on results that name the server behind it.
A channel has its runs in `Channel.facts["runs"]`, by `Peer.id` on stdio and under "" over HTTP, the last `KEPT`.
"""

from __future__ import annotations

from typing import Any, Protocol

from mrtrscope.link.session import Channel
from mrtrscope.wire.events import HttpExchange, Peer

KEPT = 64
NAMES, NAME_LIMIT = 16, 256


class Run:
    """What is known of one run.

    info     [name, version] as it introduced itself last, None before that
    names    name -> version, of all that its results named
    since    when it began, as far as that can be told over HTTP; what was seen before may be of another server
    modern, initialized   how many modern requests it answered, how many handshakes succeeded; over HTTP these two are
             those of the channel: a server of both eras may call itself otherwise in each
    facts    see `servers`
    """

    __slots__ = ("facts", "info", "initialized", "modern", "names", "since")

    def __init__(self, since: int = 0) -> None:
        self.info: list[str] | None = None
        self.names: dict[str, str] = {}
        self.since = since
        self.modern = 0
        self.initialized = 0
        self.facts: dict[str, Any] = {}


class Placed(Protocol):
    """An event or an exchange."""

    http: HttpExchange | None
    peer: Peer


def run_key(of: Placed) -> str:
    """What tells the runs of a channel apart: the `Peer.id` of a process, "" over HTTP."""
    return of.peer.id if of.http is None and of.peer.transport == "stdio" else ""


def run_of(channel: Channel, of: Placed) -> Run:
    """The run of the server that an event or exchange belongs to."""
    runs = channel.facts.get("runs")
    if runs is None:
        runs = channel.facts["runs"] = {}
    # What happens to a connection has no HTTP exchange either, and is of no run of its own.
    key = run_key(of)
    found: Run | None = runs.get(key)
    if found is None:
        found = runs[key] = Run()
        if len(runs) > KEPT:
            del runs[next(iter(runs))]
    return found


def named(channel: Channel, of: Placed, info: Any, t: int, introduced: bool) -> Run:
    """A result has this for serverInfo; the run that it is of, a new one where a server over HTTP is another.

    introduced   it is the result of initialize or server/discover
    """
    run = run_of(channel, of)
    said = _said(info)
    if said is None:
        return run
    name, version = said
    other = run.names.get(name, version) != version or (introduced and run.info not in (None, said))
    if other and of.http is not None:
        before, run = run, Run(t)
        run.modern, run.initialized = before.modern, before.initialized
        channel.facts["runs"][""] = run
    if introduced:
        run.info = said
    if name in run.names or len(run.names) < NAMES:
        run.names[name] = version
    return run


def _said(info: Any) -> list[str] | None:
    if type(info) is not dict:
        return None
    name, version = info.get("name"), info.get("version")
    if type(name) is not str or type(version) is not str:
        return None
    return [name[:NAME_LIMIT], version[:NAME_LIMIT]]
