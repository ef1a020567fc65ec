"""Every readable form is told by its content; what cannot be read is refused with a reason."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from mrtrscope.analyse import bring_up_to_date
from mrtrscope.frames import DATA
from mrtrscope.recorder import Journal
from mrtrscope.sources import SourceError, open_source
from mrtrscope.wire.events import Message, NonMessage
from tests.sources.tools import COUNTS, TRANSCRIPTS, counts, events_of, read
from tests.wire.tools import answer, post, result, rpc


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("how", ["plain", "gz", "other name"])
def test_transcripts(name: str, how: str, tmp_path: Path) -> None:
    path = TRANSCRIPTS / name
    if how == "gz":
        path = tmp_path / "x.bin"
        path.write_bytes(gzip.compress((TRANSCRIPTS / name).read_bytes()))
    elif how == "other name":
        path = tmp_path / "x.har"
        shutil.copy(TRANSCRIPTS / name, path)
    assert counts(events_of(path)) == COUNTS[name]


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_stdio_transcript(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "files.p0.jsonl",
        {"t": 2, "dir": "s2c", "line": result(1).decode()}, {"t": 1, "dir": "c2s", "line": rpc(1).decode()},
        {"t": 3, "dir": "s2c", "b64": "/3t9", "nonl": True}, {"t": 3, "dir": "stderr", "line": "log"},
        {"t": 4, "dir": "s2c", "line": "}"}, {"t": 5, "dir": "s2c", "line": result(2).decode(), "nonl": True},
    )  # fmt: skip
    events = events_of(path)
    found = [e for e in events if type(e) is Message]
    assert [(e.t, e.dir, e.id, e.place) for e in found] == [
        (1_000_000, "c2s", 1, {"line": 1}), (2_000_000, "s2c", 1, {"line": 0}), (5_000_000, "s2c", 2, {"line": 5}),
    ]  # fmt: skip
    assert {(e.channel, e.peer.whole) for e in found} == {("files.p0", True)}
    assert [(e.raw, e.t, e.place) for e in events if type(e) is NonMessage] == [
        (b"\xff{}}", 4_000_000, {"line": 2})
    ]


def test_an_http_transcript(tmp_path: Path) -> None:
    request = {"method": "POST", "url": "http://h/mcp", "headers": [["A", "b"]], "body": rpc(1).decode()}
    response = {"status": 200, "headers": [["Content-Type", "application/json"]]}
    path = lines(
        tmp_path / "x.jsonl",
        {
            "t": 1,
            "flow": 7,
            "conn": 3,
            "request": request,
            "t_req_end": 2,
            "response": response | {"t": 3, "chunks": [{"t": 4, "data": result(1).decode()}]},
            "t_end": 5,
            "closed_by": "server",
        },
        {
            "t": 1.5,
            "flow": 9,
            "conn": 3,
            "request": request,
            "response": None,
            "closed_by": "client",
            "error": "gone",
        },
        {
            "t": 6,
            "request": request,
            "response": response | {"chunks": [{"t": 7, "data_b64": "bnVsbA=="}], "end": "aborted_by_client"},
        },
        {"t": 8, "request": request, "response": None},
    )
    events = events_of(path)
    found = [e for e in events if type(e) is Message]
    assert [(e.t / 1e6, e.dir, e.place, e.peer.id) for e in sorted(found, key=lambda e: e.order)] == [
        (1.5, "c2s", {"flow": 9}, "x:3"), (2, "c2s", {"flow": 7}, "x:3"), (4, "s2c", {"flow": 7, "event": 0}, "x:3"),
        (6, "c2s", {"flow": 3}, "x:3q"), (8, "c2s", {"flow": 4}, "x:4q"),
    ]  # fmt: skip
    https = {e.http.number: e.http for e in events if e.http}
    assert [(n, h.closed_by, h.error, (h.t_end or 0) / 1e6) for n, h in sorted(https.items())] == [
        (3, "client", "aborted by the client", 7), (4, "open", "", 0), (7, "server", "", 5), (9, "client", "gone", 1.5),
    ]  # fmt: skip


def test_lines_that_make_no_sense_are_passed_over_and_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(
        b'{"t":1,"dir":"c2s","line":"{}"}\nnonsense\n\n{"t":"x","dir":"c2s","line":5}\n{"dir":"up"}\n[1]\n'
    )
    with open_source(path) as source:
        assert len(read(source)) == 2
        assert source.trouble == [
            f"{path}: line 2 is no JSON object; passed over", f"{path}: line 4 has no known dir; passed over",
            f"{path}: line 6 is no JSON object; passed over",
        ]  # fmt: skip


def test_a_compressed_file_that_was_cut_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    whole = gzip.compress(b"".join(b'{"t":%d,"dir":"c2s","line":"{}"}\n' % n for n in range(40_000)), 1)
    path.write_bytes(whole[: len(whole) // 2])
    with open_source(path) as source:
        assert 10_000 < len(list(source.frames())) < 30_000
        assert len(source.trouble) == 1 and "cut behind line" in source.trouble[0]


def test_a_har_file(tmp_path: Path) -> None:
    headers = [
        {"name": "Content-Type", "value": "application/json"},
        {"name": "Content-Encoding", "value": "br"},
    ]
    entry = {
        "startedDateTime": "2026-11-29T19:00:11.500Z", "time": 30, "connection": "443",
        "timings": {"blocked": -1, "send": 10, "wait": 15, "receive": 5},
        "request": {"method": "POST", "url": "https://h/mcp", "httpVersion": "HTTP/2", "headers": headers[:1],
                    "postData": {"text": rpc(1).decode()}},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/2", "headers": headers,
                     "content": {"text": "eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6e319", "encoding": "base64"}},
    }  # fmt: skip
    failed = entry | {"response": {"status": 0, "_error": "net::ERR_FAILED"}}
    path = tmp_path / "x"
    path.write_text(
        "\ufeff" + json.dumps({"log": {"version": "1.2", "entries": [entry, failed, {}]}}, indent=1),
        encoding="utf-8",
    )
    with open_source(path) as source:
        assert source.kind == "HAR"
        events = read(source)
        assert source.trouble == [f"{path}: entry 2 has no request; passed over"]
    found = [e for e in events if type(e) is Message]
    began = 1_795_978_811_500_000
    assert [(e.t - began, e.dir, e.id, e.channel, e.peer.id) for e in found] == [
        (10_000, "c2s", 1, "https://h/mcp", "x:1"), (10_000, "c2s", 1, "https://h/mcp", "x:1"),
        (30_000, "s2c", 1, "https://h/mcp", "x:1"),
    ]  # fmt: skip
    assert [e.http.error for e in events if e.http and e.http.number == 2][-1] == "net::ERR_FAILED"


def test_a_har_file_that_is_one_long_line(tmp_path: Path) -> None:
    request = {"method": "POST", "url": "https://h/mcp", "headers": [], "postData": {"text": rpc(1).decode()}}
    entries = [{"startedDateTime": "2026-11-29T19:00:11.500Z", "request": request}] * 9000
    path = tmp_path / "x"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}), encoding="utf-8")
    assert path.stat().st_size > 1 << 20
    with open_source(path) as source:
        assert source.kind == "HAR"
        assert sum(frame.kind == DATA for frame in source.frames()) >= 9000


def flow_file(path: Path, *flows: Any) -> Path:
    buffer = io.BytesIO()
    for flow in flows:
        FlowWriter(buffer).add(flow)
    path.write_bytes(buffer.getvalue())
    return path


def http_flow() -> Any:
    flow = tflow.tflow(resp=True)
    flow.request.content, flow.response.content = rpc(1), result(1)
    flow.request.url = "http://h:81/mcp"
    flow.request.headers["content-type"] = flow.response.headers["content-type"] = "application/json"
    return flow


MODERN_CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "bake", "arguments": {}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
}  # fmt: skip


def test_mitmproxy_flows(tmp_path: Path) -> None:
    flow, early = http_flow(), http_flow()
    early.id = flow.id
    early.response = None
    lost = tflow.tflow(err=True)
    lost.error.msg = "Client disconnected."
    path = flow_file(tmp_path / "x", early, flow, lost)
    for one in (path, tmp_path / "y.gz"):
        if one != path:
            one.write_bytes(gzip.compress(path.read_bytes()))
        with open_source(one) as source:
            assert source.kind == "mitmproxy flows"
            events = read(source)
        found = [e for e in events if type(e) is Message]
        assert [(e.dir, e.raw, e.channel, e.place) for e in found] == [
            ("c2s", rpc(1), "http://h:81/mcp", {"flow": 1}),
            ("s2c", result(1), "http://h:81/mcp", {"flow": 1, "event": 0}),
        ]
        assert found[0].http is not None and found[0].http.flow == flow.id
        assert [e.http.closed_by for e in events if e.http and e.http.number == 2][-1] == "client"


def test_streams_whose_body_mitmproxy_did_not_keep_are_lost_and_blame_nobody(tmp_path: Path) -> None:
    """A client that leaves an event stream takes its body out of the file; a question may have been in it."""

    def posted(n: int, sent: dict[str, Any], said: dict[str, Any] | None, session: bool = True) -> Any:
        flow = http_flow()
        flow.id = str(n)
        flow.request.content = json.dumps({"jsonrpc": "2.0", **sent}).encode()
        flow.request.timestamp_start = flow.request.timestamp_end = 1000.0 + n
        flow.response.timestamp_start = flow.response.timestamp_end = 1000.2 + n
        flow.response.content = json.dumps({"jsonrpc": "2.0", "id": sent.get("id"), "result": said}).encode()
        flow.response.headers["mcp-session-id"] = "s1"
        if session:
            flow.request.headers["mcp-session-id"] = "s1"
            flow.request.headers["mcp-protocol-version"] = "2025-11-25"
        if said is None:
            flow.response.status_code, flow.response.content = 202, b""
        return flow

    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
    }
    agreed = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    streamed = posted(3, {"id": 3, "method": "tools/call", "params": {"name": "x", "arguments": {}}}, {})
    streamed.response.raw_content = None
    streamed.response.headers["content-type"] = "text/event-stream"
    streamed.error = tflow.terr("Client disconnected.")
    path = flow_file(
        tmp_path / "x.mitm",
        posted(1, {"id": 1, "method": "initialize", "params": hello}, agreed, session=False),
        posted(2, {"method": "notifications/initialized"}, None),
        streamed,
        posted(4, {"id": 77, "result": {"roots": []}}, None),
    )
    with bring_up_to_date(path) as store:
        assert [(o.method, o.outcome) for o in store.operations()] == [
            ("initialize", "complete"),
            ("tools/call", "lost"),
        ]
        assert [f.rule for f in store.findings() if f.rule.startswith("jsonrpc/")] == []
        lost = "select detail from events where what = 'gap'"
        assert "no body" in store.db.conn.execute(lost).fetchone()[0]


def test_a_stream_that_ended_well_and_was_not_kept_blames_nobody(tmp_path: Path) -> None:
    flow = http_flow()
    flow.request.content = json.dumps(MODERN_CALL).encode()
    flow.response.raw_content = None
    flow.response.headers["content-type"] = "text/event-stream"
    entry = {
        "startedDateTime": "2026-07-28T12:00:00.000Z", "time": 30, "timings": {"send": 1, "wait": 5, "receive": 24},
        "request": {
            "method": "POST", "url": "http://h:81/mcp", "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(MODERN_CALL)},
        },
        "response": {
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "text/event-stream"}],
            "content": {"size": 0, "mimeType": "text/event-stream; charset=utf-8", "text": ""},
        },
    }  # fmt: skip
    har = tmp_path / "y.har"
    har.write_text(json.dumps({"log": {"version": "1.2", "creator": {}, "entries": [entry]}}))
    for path in (flow_file(tmp_path / "x.mitm", flow), har):
        with bring_up_to_date(path) as store:
            assert [(o.method, o.outcome) for o in store.operations()] == [("tools/call", "lost")]
            found = [f.rule for f in store.findings()]
            assert "jsonrpc/unanswered-request" not in found and "http/stream-without-response" not in found
            (gap,) = store.db.conn.execute("select detail from events where what = 'gap'").fetchall()
            assert "no body" in gap[0]


def test_mitmproxy_tcp_flows(tmp_path: Path) -> None:
    pipe, relayed = tflow.ttcpflow(messages=True), tflow.ttcpflow(messages=True)
    pipe.messages[0].content, pipe.messages[1].content = rpc(1) + b"\n", result(1) + b"\n"
    relayed.messages[0].content, relayed.messages[1].content = post(rpc(2)), answer(result(2))
    for flow in (pipe, relayed):
        flow.messages = flow.messages[:2]
    found = [e for e in events_of(flow_file(tmp_path / "x", pipe, relayed)) if type(e) is Message]
    assert sorted((e.peer.transport, e.dir, e.id) for e in found) == [
        ("http", "c2s", 2), ("http", "s2c", 2), ("stdio", "c2s", 1), ("stdio", "s2c", 1),
    ]  # fmt: skip


def test_flow_files_that_are_cut_or_lie(tmp_path: Path) -> None:
    path = flow_file(tmp_path / "x", http_flow(), http_flow())
    path.write_bytes(path.read_bytes()[:-10])
    with open_source(path) as source:
        assert sum(type(e) is Message for e in read(source)) == 2
        assert len(source.trouble) == 1
    path.write_bytes(b"999999999999:x")
    with open_source(path) as source, pytest.raises(SourceError, match="no flow in it can be read"):
        read(source)


def capture_of(folder: Path) -> Path:
    journal = Journal.create(str(folder), "wrap", "server", mono=0, wall=10**15)
    journal.append("1i", DATA, 1000, rpc(1) + b"\n")
    journal.append("1o", DATA, 2000, result(1) + b"\n")
    journal.close()
    return Path(journal.path)


def test_captures_and_journals(tmp_path: Path) -> None:
    journal = capture_of(tmp_path / "c")
    for path, kind in (
        (tmp_path / "c", "capture"),
        (tmp_path / "c" / "journals", "capture"),
        (journal, "journal"),
    ):
        with open_source(path) as source:
            assert (source.kind, source.trouble) == (kind, [])
            events = read(source)
        assert [(type(e), e.channel, e.journal) for e in events] == [(Message, "server", journal.name)] * 2


def test_damage_is_told(tmp_path: Path) -> None:
    journal = capture_of(tmp_path / "c")
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b"1i data", b"1i dat?"))
    for path in (tmp_path / "c", journal):
        with open_source(path) as source:
            assert [e.dir for e in read(source) if type(e) is Message] == ["s2c"]
            assert len(source.trouble) == 1 and "damaged record at byte" in source.trouble[0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"hello", "not a capture"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not a capture: binary"),
        (b"SQLite format 3\0", "a database, not a capture; give the capture folder"),
        (b"\xd4\xc3\xb2\xa1\0\0", "a packet capture"),
        (b'{"some": "json"}', "not a capture"),
        (b'{"mrj": 9}\n', "written by a newer mrtrscope"),
        (b'{"mrj": 1, \n', "not a journal"),
        (b"\x1f\x8b\x08broken", "cannot be read"),
        (b"\x1f\x8b", "cannot be read"),
        (b"[1, 2", "broken JSON"),
        (b'{"log": {"entries": 5}}', "no HAR"),
        (b'{"log": ', "broken JSON"),
    ],
)
def test_what_is_no_capture_is_refused_in_a_line(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(SourceError) as refused, open_source(path) as source:
        list(source.frames())
    assert why in str(refused.value) and str(refused.value).startswith(f"{path}: ")


def test_folders_that_are_no_captures(tmp_path: Path) -> None:
    (tmp_path / "empty" / "journals").mkdir(parents=True)
    (tmp_path / "odd" / "journals").mkdir(parents=True)
    (tmp_path / "odd" / "journals" / "x.mrj").write_bytes(b"no journal")
    for path, why in (
        (tmp_path / "none", "no such file or folder"),
        (tmp_path, "no folder named journals"),
        (tmp_path / "empty", "no journal in"),
        (tmp_path / "odd", "no journal in"),
    ):
        with pytest.raises(SourceError, match=why):
            open_source(path)


def test_a_compressed_journal_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(capture_of(tmp_path / "c").read_bytes()))
    with pytest.raises(SourceError, match="gunzip"):
        open_source(path)


@given(
    st.binary(max_size=200)
    | st.text(alphabet='[]{}":,0123456789abtdirequestlog \n', max_size=200).map(str.encode)
)
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    try:
        with open_source(path) as source:
            read(source)
    except SourceError as error:
        assert str(error).startswith(str(path))
