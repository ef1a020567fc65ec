"""The content view "MCP", through mitmproxy's own registry."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import contentviews, ctx, http, tcp
from mitmproxy.contentviews import Metadata, prettify_message
from mitmproxy.options import Options
from mitmproxy.test import tflow

from tests.conftest import ROOT


@pytest.fixture(scope="module", autouse=True)
def view() -> Iterator[contentviews.Contentview]:
    sys.path.insert(0, str(ROOT / "addons"))
    try:
        import mrtrscope_view
    finally:
        sys.path.remove(str(ROOT / "addons"))
    view = mrtrscope_view.McpContentview(lambda: "my-capture")
    contentviews.add(view)
    known = Options()
    known.add_option("protobuf_definitions", str | None, None, "")  # views look at it, so it must be there
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctx, "options", known, raising=False)
        yield view


def shown(kind: str, body: bytes, name: str = "auto") -> tuple[str | None, str]:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response = http.Response.make(200, body, {"Content-Type": kind})
    result = prettify_message(flow.response, flow, name)
    return result.view_name, result.text


def test_a_message() -> None:
    body = b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"\xc3\xa9"}}'
    assert shown("application/json", body) == (
        "MCP",
        '# request "a" tools/call\n{\n  "jsonrpc": "2.0",\n  "id": "a",\n  "method": "tools/call",\n'
        '  "params": {\n    "name": "é"\n  }\n}',
    )


@pytest.mark.parametrize(
    ("body", "label"),
    [
        (b'{"jsonrpc":"2.0","method":"notifications/progress"}', "notification notifications/progress"),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', "error, answer to 1"),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', "answer to 1"),
        (b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}', "input_required, answer to 1"),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}}]', "batch of 1"),
    ],
)
def test_messages_are_named(body: bytes, label: str) -> None:
    assert shown("application/json", body)[1].splitlines()[0] == f"# {label}"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_stream_event_by_event(end: bytes) -> None:
    lines = [
        b": hello",
        b"",
        b"event: message",
        b"id: 7",
        b'data: {"jsonrpc":"2.0",',
        b'data: "id":1,"result":{}}',
        b"",
        b"data: no json",
        b"",
        b"",
    ]
    assert shown("text/event-stream; charset=utf-8", end.join(lines)) == (
        "MCP",
        "# event 1\n# comment: hello\n\n"
        '# event 2\n# event: message\n# id: 7\n# answer to 1\n{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": {}\n}\n\n'
        "# event 3\nno json",
    )


def test_other_traffic_is_left_to_other_views() -> None:
    assert shown("application/json", b'{"a": 1}')[0] != "MCP"
    assert shown("text/html", b"<p>")[0] != "MCP"
    assert shown("application/json", b"")[0] != "MCP"


def test_a_stdio_line() -> None:
    flow = tflow.ttcpflow()
    flow.messages = [tcp.TCPMessage(True, b'{"jsonrpc":"2.0","id":1,"method":"x"}\nnoise\n')]
    result = prettify_message(flow.messages[0], flow)
    assert result.view_name == "MCP"
    assert result.text.startswith('# request 1 x\n{\n  "jsonrpc"')
    assert result.text.endswith("}\n\nnoise")


def test_what_was_streamed_and_not_kept_is_said_where_it_can_be() -> None:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.request.headers["Content-Type"] = "application/json"
    flow.request.content = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
    flow.response.raw_content = None
    assert prettify_message(flow.request, flow).text.endswith("not kept here: mrtrscope messages my-capture")
    flow.comment = "operation 12, round 1 of 2"
    assert prettify_message(flow.request, flow).text.endswith("not kept here: mrtrscope show my-capture op12")


def test_a_long_body_is_shown_in_part() -> None:
    text = shown("text/event-stream", b"data: x\n\n" * 200_000)[1]
    assert "# 751,424 more bytes: mrtrscope messages my-capture" in text


@given(st.binary(max_size=200), st.sampled_from(["application/json", "text/event-stream", "text/plain", ""]))
def test_no_bytes_make_it_fail(view: contentviews.Contentview, body: bytes, kind: str) -> None:
    metadata = Metadata(content_type=kind)
    assert isinstance(view.prettify(body, metadata), str)
    assert view.render_priority(body, metadata) in (-1, 2)


def test_deep_nesting_is_text(view: contentviews.Contentview) -> None:
    body = b"[" * 100_000
    assert view.prettify(body, Metadata(content_type="application/json")) == body.decode()
