"""`replay drive`: tasks that are polled, arguments in headers, credentials, and somebody who is asked at a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.cli import run
from mrtrscope.recorder import Journal
from mrtrscope.replay.served import Posts
from tests.conftest import LIMIT, ROOT, mrtrscope
from tests.replay.test_drive import driven, verdicts
from tests.replay.world import (
    PYTHON,
    Value,
    asks,
    call,
    capture,
    request,
    result,
    said,
    serve_command,
    talk,
    url_of,
)

pytestmark = pytest.mark.live

ODD = [PYTHON, str(ROOT / "tests" / "peers" / "odd_server.py")]
SECRET = "Bearer ann-0123456789abcdef"


def with_a_task(folder: Path) -> Path:
    """A client that polled twice while it worked, and a third time when it was done."""
    made = {
        "taskId": "t",
        "status": "working",
        "createdAt": "2026-11-29T19:05:15Z",
        "ttlMs": 1000,
        "pollIntervalMs": 20,
    }
    done = {**made, "status": "completed"}
    text = {"resultType": "complete", "content": [{"type": "text", "text": "slow"}]}
    return capture(
        folder, call(1, "a", {"x": 1}), result(1, **made | {"resultType": "task"}),
        request(2, "tasks/get", taskId="t"), result(2, **made),
        request(3, "tasks/get", taskId="t"), result(3, **made),
        request(4, "tasks/get", taskId="t"), result(4, **done, result=text),
    )  # fmt: skip


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_task_is_polled_until_it_is_where_it_was(tmp_path: Path, transport: str) -> None:
    recorded = with_a_task(tmp_path / "recorded")
    if transport == "stdio":
        got = driven(recorded, tmp_path / "own", "--", *ODD, "slow")
    else:
        with url_of([*ODD, "slow", "--http"]) as url:
            got = driven(recorded, tmp_path / "own", "--target", url)
    assert set(verdicts(got).values()) == {"passed"}
    assert sum(len(one["rounds"]) for one in got["operations"]) == 4
    found = json.loads(mrtrscope("check", tmp_path / "own", "--format", "json").stdout)["findings"]
    assert not [f for f in found if f["level"] == "must" and f["party"] == "client" and "name" in f["rule"]]


@pytest.mark.parametrize(("mode", "path"), [("other", "/result/result"), ("stuck", "/result/status")])
def test_a_task_with_another_end_is_red(tmp_path: Path, mode: str, path: str) -> None:
    recorded = with_a_task(tmp_path / "recorded")
    got = driven(recorded, tmp_path / "own", "--timeout", "3", "--", *ODD, mode)
    rounds = [r for one in got["operations"] for r in one["rounds"]]
    assert [r["verdict"] for r in rounds] == ["passed", "passed", "passed", "differs"]
    assert any(d["path"].startswith(path) for d in rounds[3]["differences"])


def test_arguments_in_headers_are_those_of_today(tmp_path: Path) -> None:
    """The official server says what came; an edited argument is in its header, too."""
    with url_of([PYTHON, str(ROOT / "tests" / "peers" / "header_server.py")]) as url:
        where = url.removeprefix("http://").partition("/")[0]
        relay = [
            PYTHON,
            "-m",
            "mrtrscope",
            "relay",
            "--capture",
            str(tmp_path / "recorded"),
            "--target",
            where,
        ]
        with url_of([*relay, "--listen", "127.0.0.1:0"], stream="stderr", marker="127.0.0.1:") as at:

            async def visit(client: Any) -> str:
                await client.list_tools()
                got = await client.call_tool("ship", {"region": "Ålesund", "fast": True})
                return str(got.content[0].text)

            first = talk(f"http://{at.rstrip(',')}/mcp", visit)
        assert json.loads(first) == {"region": "=?base64?w4VsZXN1bmQ=?=", "fast": "true"}
        got = driven(tmp_path / "recorded", tmp_path / "own", "--target", url)
        assert set(verdicts(got).values()) == {"passed"}
        ship = next(one["op"] for one in got["operations"] if one["name"] == "tools/call ship")
        edits = ["--set", "/params/arguments/region=west", "--set", "/params/arguments/fast=false"]
        got = driven(tmp_path / "recorded", tmp_path / "own", "--only", ship, *edits, "--target", url)
    now = {d["path"]: d["now"] for d in got["operations"][0]["rounds"][0]["differences"]}
    assert now["/result/content/0/text/#/region"] == '"west"'
    assert now["/result/content/0/text/#/fast"] == '"false"'


# -- credentials


def over_http(folder: Path, url: str, authorization: str) -> Path:
    """A capture of one call over HTTP, made with a credential and a cookie."""
    made = Journal.create(str(folder), "addon", url)
    posts = Posts(made)
    headers = [("Authorization", authorization), ("Cookie", "crumb=0123456789abcdef"), ("X-Team", "blue")]
    number = posts.request(
        conn=1, client="127.0.0.1:5", upstream=url, method="POST", url=url, headers=headers,
        body=json.dumps(call(1, "a")).encode(),
    )  # fmt: skip
    posts.head(number, 200, "OK", [("content-type", "application/json")])
    posts.data(number, json.dumps(said(1, "x")).encode())
    posts.ended(number)
    made.close()
    return folder


@contextmanager
def listener(status: int = 200, location: str = "") -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that keeps the headers of what it gets: its URL, and those."""
    got: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            id = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["id"]
            got.append({k.lower(): v for k, v in self.headers.items()})
            body = json.dumps(said(id, "x")).encode()
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def drive(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """`replay drive` in this process: exit code and stderr."""

    def call(*args: str | Path) -> tuple[int, str]:
        code = run(["replay", "drive", *map(str, args)])
        return code, capsys.readouterr().err

    return call


Drive = Callable[..., tuple[int, str]]


def test_recorded_credentials_go_back_and_to_this_machine(tmp_path: Path, drive: Drive) -> None:
    with listener() as (url, got):
        for where in (url, "https://api.example.org/mcp"):
            recorded = over_http(tmp_path / where[:5], where, SECRET)
            assert drive(recorded, "--capture", tmp_path / "own", "--target", url)[0] == 0
    assert [one["authorization"] for one in got] == [SECRET] * 2
    assert [one["cookie"] for one in got] == ["crumb=0123456789abcdef"] * 2


def test_recorded_credentials_are_never_sent_to_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drive: Drive
) -> None:
    """A server on this machine stands in for a foreign one: it is said not to be here."""
    monkeypatch.setattr("mrtrscope.link.origins.surely_loopback", lambda host: False)
    recorded = over_http(tmp_path / "recorded", "https://api.example.org/mcp", SECRET)
    with listener() as (url, got):
        code, err = drive(recorded, "--capture", tmp_path / "own", "--target", url)
        assert code == 0
        assert "The recorded credentials are not sent to 127.0.0.1, which they are not from" in err
        code, _ = drive(
            recorded, "--capture", tmp_path / "own", "--target", url, "--header", "Authorization: Bearer mine"
        )
        assert code == 0
    assert "authorization" not in got[0]
    assert got[1]["authorization"] == "Bearer mine"
    assert not any("cookie" in one for one in got)
    assert [one["x-team"] for one in got] == ["blue"] * 2
    journals = b"".join(p.read_bytes() for p in (tmp_path / "own" / "journals").iterdir())
    assert SECRET.encode() not in journals


def test_a_redirect_is_not_followed_with_them(tmp_path: Path, drive: Drive) -> None:
    with listener() as (elsewhere, got), listener(307, elsewhere) as (url, first):
        recorded = over_http(tmp_path / "recorded", url, SECRET)
        assert drive(recorded, "--capture", tmp_path / "own", "--target", url)[0] == 0
    assert [one["authorization"] for one in first] == [SECRET]
    assert got == []


def test_credentials_that_were_taken_out_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drive: Drive
) -> None:
    with listener() as (url, got):
        recorded = over_http(tmp_path / "recorded", url, "Bearer [REDACTED]")
        arguments = (recorded, "--capture", tmp_path / "own", "--target", url)
        code, err = drive(*arguments)
        assert code == 0
        assert (
            "Credentials were taken out of this capture; give yours with --header 'Authorization: …'" in err
        )
        assert "$MRTRSCOPE_AUTHORIZATION" in err
        assert drive(*arguments, "--header", "Authorization: Bearer mine")[1] == ""
        monkeypatch.setenv("MRTRSCOPE_AUTHORIZATION", "Bearer of-the-environment")
        assert drive(*arguments)[1] == ""
    assert [one.get("authorization") for one in got] == [None, "Bearer mine", "Bearer of-the-environment"]


# -- somebody at a terminal


def on_a_terminal(typed: str, *args: str | Path) -> tuple[int, str]:
    """Run a command at a terminal where somebody types; exit code, and all that was to be seen."""
    leader, follower = pty.openpty()
    argv = [PYTHON, "-m", "mrtrscope", *map(str, args)]
    with subprocess.Popen(argv, stdin=follower, stdout=follower, stderr=follower, cwd=ROOT) as child:
        os.close(follower)
        os.write(leader, typed.encode())
        seen = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            seen += more
        code = child.wait(LIMIT)
    os.close(leader)
    return code, seen.decode()


def asked_more(folder: Path) -> tuple[Path, Path]:
    """A recorded session in which one question was asked, and another of a server that asks a second."""
    from tests.replay.world import FORM, YES

    new: Value = {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Which day\x1b[2J?",
            "requestedSchema": {
                "type": "object",
                "properties": {"day": {"type": "string"}, "people": {"type": "integer"}},
            },
        },
    }
    given = {"new": {"action": "accept", "content": {"day": "Friday", "people": 4}}}
    old = capture(
        folder / "old", call(1, "a"), asks(1, "s", q=FORM), call(2, "a", inputResponses={"q": YES}, requestState="s"),
        said(2, "x"),
    )  # fmt: skip
    now = capture(
        folder / "now", call(1, "a"), asks(1, "s", q=FORM, new=new),
        call(2, "a", inputResponses={"q": YES, **given}, requestState="s"), said(2, "x"),
    )  # fmt: skip
    return old, now


def test_who_is_asked_at_a_terminal_answers_field_by_field(tmp_path: Path) -> None:
    old, now = asked_more(tmp_path)
    server = serve_command(now, tmp_path / "theirs", "--stdio", "--answers", "same")
    where = ("replay", "drive", old, "--capture", tmp_path / "own", "--ask", "--", *server)
    code, seen = on_a_terminal("accept\nFriday\n4\n", *where)
    assert code == 1  # a question that is new is a difference
    assert "new: Which day" in seen
    assert "\x1b[2J" not in seen
    assert "accept, decline or cancel" in seen
    sent = [
        step
        for step in json.loads(mrtrscope("messages", tmp_path / "own", "--format", "json").stdout)["messages"]
        if step["kind"] == "request"
    ]
    assert len(sent) == 2
    from mrtrscope.replay import Recording

    answers = Recording.load(tmp_path / "own").steps[1].exchange.answers
    assert answers["new"] == {"action": "accept", "content": {"day": "Friday", "people": 4}}


def test_who_declines_at_a_terminal_is_not_asked_for_fields(tmp_path: Path) -> None:
    from mrtrscope.replay import Recording

    old, now = asked_more(tmp_path)
    server = serve_command(now, tmp_path / "theirs", "--stdio")
    code, seen = on_a_terminal(
        "decline\n", "replay", "drive", old, "--capture", tmp_path / "own", "--ask", "--", *server
    )
    assert code == 1
    assert "(string)" not in seen
    assert Recording.load(tmp_path / "own").steps[1].exchange.answers["new"] == {"action": "decline"}


def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    old, now = asked_more(tmp_path)
    got = driven(old, tmp_path / "own", "--ask", "--", *serve_command(now, tmp_path / "theirs", "--stdio"))
    why = got["operations"][0]["rounds"][1]["why"]
    assert why == "no recorded answer for the question 'new'; give one with --answers FILE or --ask"
