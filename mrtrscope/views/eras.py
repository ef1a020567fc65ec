"""One line on what a channel speaks: on what evidence, what was tried before, why its client fell back."""

from __future__ import annotations

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.words import series

TIMES = {1: "", 2: ", twice"}


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
