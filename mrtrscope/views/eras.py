"""One line on what a channel speaks: on what evidence, what was tried before, why its client fell back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.words import series

TIMES = {1: "", 2: ", twice"}
PATHS = 8  # of one origin that are named


def lines(channels: Iterable[model.Channel]) -> Iterator[str]:
    """A line for each channel, and one for all addresses of an origin that carried documents or steps of an
    authorization, but no operation: nobody speaks a revision there."""
    bare: dict[str, list[str]] = {}
    for channel in channels:
        if channel.transport == "http" and not (channel.operations or channel.speaks or channel.tried):
            origin, slash, path = _cut(channel.name)
            bare.setdefault(origin, []).append(slash + path)
        else:
            yield line(channel)
    for origin, paths in bare.items():
        more = [f"{len(paths) - PATHS:,} more"] if len(paths) > PATHS else []
        yield visible(f"no revision was told at {origin}: {series(paths[:PATHS] + more)}")


def _cut(name: str) -> tuple[str, str, str]:
    """Origin, slash and path of a channel's name."""
    scheme, colons, rest = name.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + colons + host, slash or "/", path


def line(channel: model.Channel) -> str:
    """The line, ready to be shown."""
    versions = sorted(channel.speaks, key=lambda v: -channel.speaks[v])
    spoken = f"speaks {series(versions)}" if versions else "spoke no revision that was told"
    parts = [f"{channel.name} {spoken}", _evidence(channel)]
    return visible("; ".join(part for part in [*parts, _before(channel)] if part))


def _evidence(channel: model.Channel) -> str:
    parts = []
    for step in channel.tried:
        if step.outcome != "served":
            continue
        times = TIMES.get(step.n, f", {step.n:,} times")
        if step.what == "initialize":
            same = step.chosen == step.offered
            parts.append(
                f"initialize agreed on {step.chosen}{times}" if same
                else f"initialize offered {step.offered or 'none'} and got {step.chosen or 'none'}{times}"
            )  # fmt: skip
        else:
            listed = f" (it supports {step.chosen})" if step.chosen else ""
            parts.append(f"server/discover was answered{times}{listed}")
    if parts:
        return series(parts)
    if channel.era == "modern":
        return "every request says so, nothing was asked before"
    return "its handshake was not seen" if channel.era == "legacy" else ""


def _before(channel: model.Channel) -> str:
    """What was tried in vain; with a handshake behind it, that is why the client fell back."""
    vain = [step for step in channel.tried if step.outcome != "served"]
    if not vain:
        return ""
    words = series([_vain(step) for step in vain])
    fell = [s for s in channel.tried if s.what == "initialize" and s.outcome == "served" and s.t > vain[0].t]
    if vain[0].what == "server/discover" and fell:
        return f"{words}, so its client fell back to initialize"
    return words


def _vain(step: model.Tried) -> str:
    offered = f" with {step.offered}" if step.offered else ""
    return f"{step.what}{offered} got {step.outcome}{TIMES.get(step.n, f', {step.n:,} times')}"
