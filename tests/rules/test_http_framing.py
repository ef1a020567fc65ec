"""HTTP that is damaged is told as that, and what cannot be read because of it is not judged as JSON-RPC."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mrtrscope import analyse
from mrtrscope.recorder import Journal

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
}


def request(id: int, more: bytes = b"", length: int | None = None) -> bytes:
    params = {"name": "x", "arguments": {}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nMcp-Method: tools/call\r\n"
        b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Name: x\r\n"
    )
    return head + more + b"Content-Length: %d\r\n\r\n" % (len(body) if length is None else length) + body


def body(id: int) -> bytes:
    content = [{"type": "text", "text": "as long as it has to be to be cut"}]
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
    result = {"resultType": "complete", "content": content, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


def answer(headers: str, text: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}\r\n".encode() + text


TEXT, LONG = body(1), len(body(1))
ZIPPED = gzip.compress(TEXT)
SOUND = answer(f"Content-Length: {LONG}\r\n", TEXT)
ANSWERS = {
    "two lengths, the first too short": (
        f"Content-Length: {LONG - 40}\r\nContent-Length: {LONG}\r\n", TEXT,
        f"Content-Length says {LONG - 40} and {LONG}",
    ),
    "two lengths, the first too long": (
        f"Content-Length: {LONG + 40}\r\nContent-Length: {LONG}\r\n", TEXT,
        f"Content-Length says {LONG + 40} and {LONG}",
    ),
    "two in one line": (
        f"Content-Length: {LONG - 40}, {LONG}\r\n", TEXT, f"Content-Length says {LONG - 40} and {LONG}",
    ),
    "too short": (
        f"Content-Length: {LONG - 40}\r\n", TEXT, "bytes that are no HTTP follow where it should end",
    ),
    "no number": ("Content-Length: many\r\n", TEXT, "Content-Length is no number"),
    "a chunk that is too short": (
        "Transfer-Encoding: chunked\r\n", b"%x\r\n" % (LONG - 40) + TEXT + b"\r\n0\r\n\r\n",
        "its chunks cannot be read",
    ),
    "a length beside chunks": (
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"%x\r\n" % LONG + TEXT + b"\r\n0\r\n\r\n",
        "Content-Length stands beside Transfer-Encoding",
    ),
    "no gzip": (
        "Content-Encoding: gzip\r\nContent-Length: 20\r\n", b"\x1f\x8b\x08\0" + b"\xff" * 16,
        "the body is not in the coding gzip that its head names",
    ),
    "gzip that breaks off": (
        f"Content-Encoding: gzip\r\nContent-Length: {len(ZIPPED) - 20}\r\n", ZIPPED[:-20],
        "the coding of the body breaks off",
    ),
}  # fmt: skip


def found(capture: Path, *turns: tuple[bytes, bytes]) -> list[tuple[str, str, str]]:
    """Rule, party and what was seen, of a relayed connection: what is about JSON-RPC, and about HTTP."""
    made = Journal.create(str(capture), "relay", "h:1", upstream="h:1", target="h:1")
    made.append("0c", "open", made._mono, b'{"client":"127.0.0.1:5"}')
    for n, (asked, answered) in enumerate(turns, 1):
        made.append("0c", "data", made._mono + n * 10**9, asked)
        made.append("0s", "data", made._mono + n * 10**9 + 10**6, answered)
    end = made._mono + 10**11
    made.append("0s", "end", end, b'{"by":"server"}')
    made.append("0c", "end", end + 1000, b'{"by":"server"}')
    made.close()
    with analyse.bring_up_to_date(capture) as store:
        return [
            (f.rule, f.party, f.saw)
            for f in store.findings()
            if f.rule == "http/framing" or (f.rule.startswith("jsonrpc/") and f.level != "info")
        ]


def test_what_is_sound_is_not_noted(tmp_path: Path) -> None:
    second = answer(f"Content-Length: {LONG}\r\nContent-Length: {LONG}\r\n", body(2))
    assert found(tmp_path, (request(1), SOUND), (request(2), second)) == []


@pytest.mark.parametrize("name", ANSWERS)
def test_a_damaged_answer_is_told_as_that(name: str, tmp_path: Path) -> None:
    headers, text, why = ANSWERS[name]
    got = found(
        tmp_path,
        (request(1), answer(headers, text)),
        (request(2), answer(f"Content-Length: {LONG}\r\n", body(2))),
    )
    assert got == [("http/framing", "server", why)]


def test_an_answer_whose_length_reaches_into_the_next(tmp_path: Path) -> None:
    longer = answer(f"Content-Length: {LONG + 40}\r\n", TEXT)
    got = found(tmp_path, (request(1), longer), (request(2), answer(f"Content-Length: {LONG}\r\n", body(2))))
    assert [one[:2] for one in got] == [("http/framing", "server")]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (request(1, b"Content-Length: 100\r\n"), "Content-Length says 100 and "),
        (request(1, length=100), "bytes that are no HTTP follow where it should end"),
    ],
)
def test_a_damaged_request_is_told_as_that_and_its_answer_is_no_stray(
    asked: bytes, why: str, tmp_path: Path
) -> None:
    ((rule, party, saw),) = found(tmp_path, (asked, SOUND))
    assert (rule, party) == ("http/framing", "client") and saw.startswith(why)


def test_text_that_is_no_json_in_sound_http_is_still_none(tmp_path: Path) -> None:
    broken = answer(f"Content-Length: {LONG - 40}\r\n", TEXT[:-40])
    got = found(tmp_path, (request(1), broken))
    assert [one[:2] for one in got] == [("jsonrpc/valid-json", "server")]
