"""What `channels` and `list` say below their table about servers, and about addresses that are none."""

from __future__ import annotations

from typing import Any

from mrtrscope import model
from mrtrscope.views.eras import PATHS, lines


def channel(name: str, **more: Any) -> model.Channel:
    told = {"transport": "http", "era": "", "messages": 0, "operations": 0, "findings": 0}
    return model.Channel(name=name, **{**told, **more})


def test_documents_and_steps_of_an_authorization_share_a_line() -> None:
    seen = [
        channel("http://a:1/.well-known/oauth-protected-resource/mcp"),
        channel("http://as:2/.well-known/oauth-authorization-server", messages=1),  # a refusal without an id
        channel("http://a:1/mcp", era="legacy", operations=3, speaks={"2025-11-25": 3}),
        channel("http://as:2/token"),
    ]
    assert list(lines(seen)) == [
        "http://a:1/mcp speaks 2025-11-25; its handshake was not seen",
        "no revision was told at http://a:1: /.well-known/oauth-protected-resource/mcp",
        "no revision was told at http://as:2: /.well-known/oauth-authorization-server and /token",
    ]


def test_what_was_asked_keeps_its_own_line() -> None:
    """A server that answers nothing is still a server, and so is a process."""
    tried = [model.Tried(t=0, what="initialize", offered="2025-11-25", outcome="HTTP 404", chosen="", n=1)]
    assert list(lines([channel("http://a:1/mcp", operations=1)])) == [
        "http://a:1/mcp spoke no revision that was told"
    ]
    assert list(lines([channel("http://a:1/mcp", tried=tried)])) == [
        "http://a:1/mcp spoke no revision that was told; initialize with 2025-11-25 got HTTP 404"
    ]
    assert list(lines([channel("files", transport="stdio")])) == ["files spoke no revision that was told"]


def test_many_addresses_are_not_all_named() -> None:
    (line,) = lines(channel(f"https://a/{n}") for n in range(PATHS + 3))
    assert line == "no revision was told at https://a: /0, /1, /2, /3, /4, /5, /6, /7 and 3 more"
    assert list(lines([channel("https://a")])) == ["no revision was told at https://a: /"]
