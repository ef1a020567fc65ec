"""`probe client` before the official Python client, as it is: what it notices, where it stops, what it brings back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.journal import read_capture
from mrtrscope.replay import Recording
from mrtrscope.replay.served import Verbatim, text_of
from mrtrscope.replay.ways import BROKEN, CAP, HTTP, KEPT, NOT_MADE, NOT_SEEN, UNSURE, WAYS, together
from mrtrscope.rules.catalogue import ENTRIES
from tests.conftest import LIMIT, ROOT, mrtrscope
from tests.replay.world import PYTHON, YES, asks, call, capture, request, said

CLIENT = [PYTHON, str(ROOT / "tests" / "peers" / "probed_client.py")]
# Without resultType it raises an error: neither goes on with the questions nor takes it for the final result.
OFFICIAL = dict.fromkeys(WAYS, KEPT) | {
    "no-result-type": UNSURE,
    "duplicate-keys": UNSURE,
    "stream-cut": UNSURE,
}
OVER_HTTP = {
    name: verdict if HTTP in WAYS[name].transports else NOT_MADE for name, verdict in OFFICIAL.items()
}


def probe(into: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return mrtrscope("probe", "client", "--capture", into, *options, timeout=280)


def rows(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert done.returncode in (0, 1), done.stderr
    return {row["way"]: row for row in json.loads(done.stdout)["ways"]}


@pytest.mark.live
@pytest.mark.timeout(300)
def test_what_the_official_client_makes_of_it_over_http(tmp_path: Path) -> None:
    got = rows(probe(tmp_path, "--format", "json", "--", *CLIENT, "{url}"))
    assert {way: row["verdict"] for way, row in got.items()} == OVER_HTTP
    assert got["endless"]["saw"] == "gave up after 10 retries"
    assert got["endless-state-only"]["saw"] == "gave up after 10 retries"
    assert "InputRequiredRoundsExceededError" in got["endless"]["ended"]
    assert got["no-result-type"]["saw"] == "did not retry, but did not take it for the end either"
    assert got["state-long"]["saw"] == "came back as it was issued"
    assert got["well-behaved"]["ended"] == "exit code 0"
    assert got["cached-reads"]["saw"] == "asked for either, 2 requests in all"
    assert got["no-mode"]["exit"] == 0
    assert "Sampling not supported" in got["undeclared-kinds"]["stderr"][-1]
    listed = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    assert len(listed) >= 3 * sum(verdict != NOT_MADE for verdict in OVER_HTTP.values()) - 1
    assert mrtrscope("diagram", tmp_path, listed[2]["id"], "--format", "text").returncode == 0


@pytest.mark.live
@pytest.mark.timeout(300)
def test_the_same_on_stdio(tmp_path: Path) -> None:
    ways = [
        "endless",
        "unknown-result-type",
        "duplicate-keys",
        "state-not-ascii",
        "late-after-cancel",
        "list-asks",
        "stream-cut",
        "cached-reads",
        *(name for name in WAYS if name.startswith("probe-")),
    ]
    got = rows(probe(tmp_path, "--only", ",".join(ways), "--format", "json", "--", *CLIENT, "{server}"))
    assert {way: row["verdict"] for way, row in got.items()} == {way: OFFICIAL[way] for way in ways}
    assert got["probe-1234"]["saw"] == got["probe-unanswered"]["saw"] == "fell back to the handshake"
    assert got["stream-cut"]["ended"].endswith("Connection closed")
    listed = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    assert {op["channel"] for op in listed} == {"well-behaved", *ways}


@pytest.mark.live
@pytest.mark.timeout(300)
def test_half_a_line_is_all_that_comes_of_a_cut_on_stdio(tmp_path: Path) -> None:
    argv = [PYTHON, "-m", "mrtrscope", "probe", "misbehave", "stream-cut", "--capture", str(tmp_path)]
    asked = json.dumps(call(1, "probe")).encode() + b"\n"
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(asked)
        process.stdin.flush()
        came = process.stdout.read()  # until the server closes it; its input is still open
        assert process.wait(LIMIT) == 0
    assert came.startswith(b'{"jsonrpc":"2.0","id":1,"result":')
    assert not came.endswith((b"}", b"\n"))
    (step,) = Recording.load(tmp_path).steps
    assert step.exchange.answer is None


@pytest.mark.live
@pytest.mark.timeout(300)
def test_what_a_client_said_is_in_the_report_and_in_the_capture(tmp_path: Path) -> None:
    """It works where nothing is wrong, else it complains, and names a secret."""
    client = (
        "import os, subprocess, sys\n"
        f"done = subprocess.run([{PYTHON!r}, {CLIENT[1]!r}, sys.argv[1]], capture_output=True)\n"
        "if done.returncode:\n"
        "    print('first', 'Authorization: Bearer abcdefghijklmnop0123456789', 'last', sep='\\n', file=sys.stderr)\n"
        "sys.exit(7 * bool(done.returncode))\n"
    )
    done = probe(tmp_path, "--only", "unknown-result-type", "--", PYTHON, "-c", client)
    assert "exit code 7: last" in done.stdout
    said = done.stdout.partition("What the client said last in unknown-result-type:\n")[2].splitlines()
    assert said[0] == "  first"
    assert "abcdefghijklmnop0123456789" not in done.stdout
    kept = b"".join(f.data for f in read_capture(tmp_path) if f.lane.endswith("e"))
    assert kept == b"first\nAuthorization: Bearer abcdefghijklmnop0123456789\nlast\n"
    exits = [json.loads(f.data) for f in read_capture(tmp_path) if f.kind == "exit"]
    assert exits == [{"code": 0}, {"code": 7}]


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_client_that_never_comes_is_one_line(tmp_path: Path) -> None:
    code = "import sys; sys.exit('ImportError: No module named nothing')"
    for where, what in (("{url}", "connect to"), ("{server}", "start")):
        done = probe(tmp_path / what, "--", PYTHON, "-c", code, where)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1] == (
            f"Error: {PYTHON} did not {what} the server: exit code 1, and said: ImportError: No module named nothing."
            " Try the command by itself first."
        )


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_client_that_never_retries_shows_nothing_by_it(tmp_path: Path) -> None:
    code = (
        "import json, sys, urllib.request\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'probe'}}).encode()\n"
        "r = urllib.request.Request(sys.argv[1], body, {'Content-Type': 'application/json'})\n"
        "urllib.request.build_opener(urllib.request.ProxyHandler({})).open(r).read()\n"
    )
    got = rows(probe(tmp_path, "--only", "endless", "--format", "json", "--", PYTHON, "-c", code))
    assert (got["endless"]["verdict"], got["endless"]["saw"]) == (
        UNSURE,
        "did not retry at all; but where nothing is wrong it did not retry",
    )


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_client_that_goes_round_for_ever_is_found_and_ended(tmp_path: Path) -> None:
    """It retries whatever it gets, and is stopped when its time is over."""
    code = (
        "import json, sys, urllib.request\n"
        "n, more = 0, {}\n"
        "while True:\n"
        "    n += 1\n"
        "    body = {'jsonrpc': '2.0', 'id': n, 'method': 'tools/call', 'params': {'name': 'probe', **more}}\n"
        "    r = urllib.request.Request(sys.argv[1], json.dumps(body).encode(), {'Content-Type': 'application/json'})\n"
        "    o = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n"
        "    got = json.load(o.open(r))['result']\n"
        "    more = {'requestState': got.get('requestState', 'x').upper(), 'inputResponses': {}}\n"
    )
    client = ["--format", "json", "--", PYTHON, "-c", code]
    done = probe(
        tmp_path, "--way", "endless,no-result-type", "--way", "state-quotes", "--timeout", "60", *client
    )
    assert done.returncode == 1
    got = rows(done)
    assert {row["verdict"] for row in got.values()} == {BROKEN}
    assert got["endless"]["ended"] == "ended by us, this being enough"
    assert got["state-quotes"]["saw"] == "turned into upper case"


@pytest.mark.live
@pytest.mark.timeout(300)
def test_clients_may_come_by_themselves(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "mrtrscope", "probe", "client", "--capture", str(tmp_path)]
    argv += ["--listen", "127.0.0.1:0", "--way", "endless", "--way", "list-asks", "--format", "json"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stderr
        urls = [process.stderr.readline().split()[0] for _ in range(2)]
        subprocess.run([*CLIENT, urls[0]], capture_output=True, timeout=240)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert {row["way"]: (row["verdict"], row["saw"]) for row in json.loads(out)["ways"]} == {
        "endless": (KEPT, "gave up after 10 retries"),
        "list-asks": (NOT_SEEN, "the client sent no tools/list"),
    }


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_a_way_names_a_rule_and_says_json(way: Any) -> None:
    assert way.rule in ENTRIES
    json.loads(text_of({"result": way.answer({}, 0)}))
    assert way.transports


def test_a_key_can_be_said_twice() -> None:
    text = text_of(Verbatim.around("7", Verbatim('{"a": 1, "a": 2}')))
    assert text == b'{"jsonrpc": "2.0", "id": "7", "result": {"a": 1, "a": 2}}'


def judged(way: str, folder: Path, *messages: dict[str, Any]) -> tuple[str, str]:
    return WAYS[way].judge(Recording.load(capture(folder, *messages)).steps)


def test_what_is_made_of_what_a_client_did(tmp_path: Path) -> None:
    first = [call(1, "probe"), asks(1, "s")]
    again = [call(2, "probe", inputResponses={"q": YES}, requestState="S"), said(2, "x")]
    assert judged("unknown-result-type", tmp_path / "1", *first) == (KEPT, "did not retry")
    assert judged("unknown-result-type", tmp_path / "2", *first, *again) == (BROKEN, "retried 1 times")
    assert judged("no-mode", tmp_path / "3", *first) == (BROKEN, "did not retry")
    assert judged("undeclared-kinds", tmp_path / "4", *first, *again)[0] == BROKEN
    assert judged("well-behaved", tmp_path / "5", *first, *again)[0] == BROKEN
    assert judged("endless", tmp_path / "6", request(1, "tools/list"))[0] == NOT_SEEN
    read = [request(n, "resources/read", uri=f"probe://{u}") for n, u in enumerate("aab")]
    assert judged("cached-reads", tmp_path / "8", *read[:2])[0] == UNSURE
    assert judged("cached-reads", tmp_path / "9", *read) == (KEPT, "asked for either, 3 requests in all")
    asked = (
        request(1, "server/discover"),
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1234, "message": "x"}},
    )
    alone = judged("probe-1234", tmp_path / "10", *asked)
    assert alone == (UNSURE, "sent no initialize; a client of 2026-07-28 alone need not")
    back = judged("probe-32601", tmp_path / "11", *asked, request(2, "initialize", meta={}))
    assert together({"probe-1234": alone}) == {"probe-1234": alone}
    assert together({"probe-1234": alone, "probe-32601": back}) == {
        "probe-1234": (BROKEN, "did not fall back, though it does after another error"),
        "probe-32601": (KEPT, "fell back to the handshake"),
    }
    many = [
        m
        for n in range(2, CAP + 4)
        for m in (call(n, "probe", inputResponses={}, requestState="s"), asks(n, "s"))
    ]
    assert judged("endless", tmp_path / "7", *first, *many) == (BROKEN, f"{CAP + 2} retries, and no end")


MISTAKES = [
    ([], "say which client: its command behind --, or --listen HOST:PORT"),
    (["--listen", "127.0.0.1:0", "--", "x"], "say which client"),
    (["--way", "x", "--", "y"], "There is no way 'x'; there are: well-behaved, endless"),
    (["--listen", "0.0.0.0:0"], "cannot serve on 0.0.0.0:0: only loopback addresses"),
    (["--listen", "x"], "--listen x: HOST:PORT is wanted"),
    (
        ["--way", "endless", "--", "no-such-command-anywhere"],
        "no-such-command-anywhere cannot be started: No such file or directory. Say behind -- how the client",
    ),
]


@pytest.mark.parametrize(("options", "says"), MISTAKES, ids=[" ".join(o) for o, _ in MISTAKES])
def test_a_mistake_is_one_line(tmp_path: Path, options: list[str], says: str) -> None:
    done = probe(tmp_path, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"Error: {says}")
    assert os.path.isdir(tmp_path)
