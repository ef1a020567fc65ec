"""Names of `_meta` keys, with what the page says of each part."""

from __future__ import annotations

import pytest

from mrtrscope.rules.keys import NAME, OFFICIAL, ORDER, PREFIX, RESERVED, faults


@pytest.mark.parametrize(
    "key",
    [
        "progressToken", "traceparent", "a", "9", "a.b-c_d9", "com.acme/trace", "com.acme/", "c-2.d/x",
        "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/related-task", "com.example.mcp/x",
        "io.modelcontextprotocol/skills",
        "mcp/x", "localhost/x", "acme.tools/x",
    ],
)  # fmt: skip
def test_a_sound_key(key: str) -> None:
    assert faults(key) == frozenset()


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("/x", {PREFIX}), ("a..b/x", {PREFIX}), ("-a/x", {PREFIX}), ("a-/x", {PREFIX}), ("9a/x", {PREFIX}),
        ("a b/x", {PREFIX}), ("a/b/c", {PREFIX}), ("é/x", {PREFIX}), ("a\n/x", {PREFIX}),
        ("_x", {NAME}), ("x_", {NAME}), ("x y", {NAME}), ("com.acme/.x", {NAME}), ("x\n", {NAME}), ("ü", {NAME}),
        ("acme.com/x", {ORDER}), ("acme.IO/x", {ORDER}), ("com.mcp/x", {RESERVED}),
        ("dev.modelcontextprotocol.x/y", {RESERVED}), ("io.modelcontextprotocol/new", {OFFICIAL}),
        ("acme.mcp.com/x", {ORDER, RESERVED}), ("acme.com/_x", {ORDER, NAME}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_key(key: str, what: set[str]) -> None:
    assert faults(key) == what
