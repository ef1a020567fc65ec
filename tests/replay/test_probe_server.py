"""`probe server` against four servers on the official SDK: what each keeps and breaks, checked by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.replay import Recording
from mrtrscope.replay.attempts import ATTEMPTS, Retry
from mrtrscope.replay.probe_choose import choose
from mrtrscope.rules.catalogue import ENTRIES
from tests.conftest import SAMPLES, mrtrscope
from tests.replay.world import PYTHON, YES, asks, call, capture, cashier, paid, said, serve_command, url_of

KEPT, BROKEN, UNSURE, NOT_MADE = "kept", "broken", "cannot tell", "not made"

SEALED = {
    "as-recorded": KEPT,
    "state-invented": KEPT,
    "state-changed": KEPT,
    "state-extended": KEPT,
    "state-truncated": KEPT,
    "state-reencoded": KEPT,
    "state-dropped": KEPT,  # taken for a fresh call
    "replayed": UNSURE,  # taken: the SDK leaves single use to whoever needs it
    "after-a-wait": UNSURE,  # good for ten minutes
    "other-tool": KEPT,
    "other-arguments": KEPT,
    "other-principal": NOT_MADE,
    "other-connection": UNSURE,  # the key is the process's own
    "answer-missing": UNSURE,  # the tool takes it for a refusal
    "answer-unasked": KEPT,
    "answer-of-another-kind": UNSURE,  # the tool takes it for a refusal
    "answer-off-schema": BROKEN,  # ["neither"] is as good as true to a tool that does not look
    "answer-decline": KEPT,
    "answer-cancel": KEPT,
    "without-session": NOT_MADE,
    "undeclared": BROKEN,  # the tool asks whatever the client declared
    "undeclared-on-retry": KEPT,  # there is nothing left to ask
    "header-apart": NOT_MADE,
    "method-apart": NOT_MADE,
    "same-id": KEPT,
    "other-client-name": KEPT,
    "task-of-another": UNSURE,  # there is no task
}
PLAIN = SEALED | {
    "state-changed": BROKEN,
    "state-reencoded": BROKEN,
    "other-tool": BROKEN,
    "other-arguments": BROKEN,
    "other-connection": KEPT,
}
LOOSE = SEALED | {"other-tool": BROKEN, "other-arguments": BROKEN, "other-connection": KEPT}
RIGHT = SEALED | {
    "replayed": KEPT,
    "after-a-wait": KEPT,
    "other-connection": KEPT,
    "answer-missing": KEPT,
    "answer-of-another-kind": KEPT,
    "answer-off-schema": KEPT,
    "undeclared": KEPT,
}
OVER_HTTP = {"header-apart": KEPT, "method-apart": KEPT, "other-connection": KEPT}
AS_BOB = ["--header", "Authorization: Bearer ann", "--as", "Authorization: Bearer bob"]


@pytest.fixture(scope="module")
def purchase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield paid(tmp_path_factory.mktemp("purchase"), tools=("pay", "owe", "erase", "status"))


def probe(capture: Path, into: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return mrtrscope("probe", "server", capture, "--capture", into, *options, timeout=280)


def op_of(capture: Path, target: str) -> str:
    ops = json.loads(mrtrscope("list", capture, "--format", "json").stdout)["operations"]
    return next(str(op["id"]) for op in ops if op["target"] == target)


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    got = json.loads(done.stdout)
    assert got["broken"] == sum(one["verdict"] == BROKEN for one in got["attempts"])
    assert done.returncode == (1 if got["broken"] or not got["worked"] else 0)
    return {one["attempt"]: one["verdict"] for one in got["attempts"]}


@pytest.mark.live
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("mode", "expected"), [("sealed", SEALED), ("plain", PLAIN), ("loose", LOOSE), ("right", RIGHT)]
)
def test_what_a_server_on_stdio_keeps(
    tmp_path: Path, purchase: Path, mode: str, expected: dict[str, str]
) -> None:
    wait = "4.2" if mode == "right" else "0.1"
    only = ["--only", op_of(purchase, "pay"), "--wait", wait, "--format", "json"]
    assert verdicts(probe(purchase, tmp_path, *only, "--", *cashier(mode))) == expected


@pytest.mark.live
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        # Without a token verifier anybody is served.
        ("sealed", SEALED | OVER_HTTP | {"other-principal": UNSURE}),
        ("plain", PLAIN | OVER_HTTP | {"other-principal": UNSURE}),
        ("loose", LOOSE | OVER_HTTP | {"other-principal": UNSURE}),
        ("right", RIGHT | OVER_HTTP | {"other-principal": KEPT}),
    ],
)
def test_what_a_server_over_http_keeps(
    tmp_path: Path, purchase: Path, mode: str, expected: dict[str, str]
) -> None:
    wait = "4.2" if mode == "right" else "0.1"
    only = ["--only", op_of(purchase, "pay"), "--wait", wait, "--format", "json", *AS_BOB]
    with url_of([*cashier(mode), "--http"]) as url:
        assert verdicts(probe(purchase, tmp_path, *only, "--target", url)) == expected


@pytest.mark.live
def test_a_breach_is_in_the_table_drawn_and_recorded(tmp_path: Path, purchase: Path) -> None:
    options = ["--attempt", "other-tool", "--only", op_of(purchase, "pay")]
    done = probe(purchase, tmp_path, *options, "--", *cashier("plain"))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].endswith("tools/call pay, round 2")
    row = next(line for line in lines if line.startswith("other-tool"))
    assert "broken" in row
    assert "mrtr/state-bound-to-request (should)" in row
    assert "1 kept, 1 broken, 0 cannot tell, 0 not made." in lines
    picture = done.stdout.partition("other-tool: the state on another tool")[2]
    assert "requestState" in picture or "state" in picture
    assert "1 to try, beginning with " in done.stderr
    listed = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    assert [op["channel"] for op in listed] == ["mrtr_server"] * len(listed), "as wrap calls it"
    assert mrtrscope("show", tmp_path, listed[-1]["id"]).returncode == 0


@pytest.mark.live
def test_a_server_that_does_not_work_is_not_judged(tmp_path: Path, purchase: Path) -> None:
    options = ["--only", f"{op_of(purchase, 'pay')},state-changed", "--format", "json"]
    refuses = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    error = {'code': -32603, 'message': 'out of order'}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': error}), flush=True)\n"
    )
    done = probe(purchase, tmp_path, *options, "--", PYTHON, "-c", refuses)
    assert verdicts(done) == {"as-recorded": UNSURE}
    assert done.returncode == 1


@pytest.mark.live
def test_a_state_that_influences_nothing_need_not_be_protected(tmp_path: Path) -> None:
    """A server that never looks at what comes back, played by hand: any state does."""
    code = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if 'id' not in m: continue\n"
        "    done = 'inputResponses' in m['params']\n"
        "    r = {'resultType': 'complete', 'content': [{'type': 'text', 'text': 'x'}]} if done else "
        "{'resultType': 'input_required', 'inputRequests': {'q': {'method': 'roots/list'}}, 'requestState': 'constant'"
        "}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n"
    )
    recorded = capture(
        tmp_path / "recorded", call(1, "a", {"x": 1}), asks(1, "s", q={"method": "roots/list"}),
        call(2, "a", {"x": 1}, inputResponses={"q": {"roots": []}}, requestState="s"), said(2, "x"),
    )  # fmt: skip
    got = verdicts(probe(recorded, tmp_path / "own", "--format", "json", "--", PYTHON, "-c", code))
    assert {got[name] for name in got if name.startswith("state-")} == {UNSURE}
    assert got["state-changed"] == UNSURE
    assert got["other-arguments"] == UNSURE


def test_destructive_tools_are_left_out_unless_named(purchase: Path) -> None:
    recording = Recording.load(purchase)
    chosen, left = choose(recording)
    assert [one.retry.name for one in chosen] == ["tools/call pay", "tools/call owe"]
    erase = op_of(purchase, "erase")
    assert left == [f"{erase} tools/call erase looks destructive; name it with --only {erase} to probe it"]
    chosen, left = choose(recording, [erase])
    assert ([one.retry.name for one in chosen], left) == (["tools/call erase"], [])
    assert chosen[0].other is not None
    assert chosen[0].other.name == "tools/call pay"


def test_retries_with_something_wrong_are_no_model(tmp_path: Path) -> None:
    recording = Recording.load(SAMPLES / "sample-stdio")
    chosen, _ = choose(recording)
    assert [(one.retry.op, one.retry.name, one.round) for one in chosen] == [
        ("op3", "tools/call book_table", 2),
        ("op4", "tools/call order_cake", 2),
        ("op4", "tools/call order_cake", 3),
        ("op5", "prompts/get invitation", 2),
        ("op6", "resources/read menu://spring", 2),
    ]
    assert [(one.retry.op, one.round) for one in choose(recording, round=3)[0]] == [("op4", 3)]
    assert choose(recording, ["op11", "op12", "op13"]) == ([], [])


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_an_attempt_names_a_rule_and_changes_something_or_says_why_not(attempt: Any) -> None:
    assert attempt.rule in ENTRIES
    first = call(1, "pay", {"to": "ann", "n": 1})
    body = call(2, "pay", {"to": "ann", "n": 1}, inputResponses={"q": YES}, requestState="v1.abcdefgh-_")
    from tests.replay.world import FORM

    retry = Retry(body, first, {"q": FORM})
    retry.http, retry.as_headers, retry.wait, retry.other = True, {"Authorization": "x"}, 1.0, ("owe", {}, {})
    retry.minted = {"Mcp-Session-Id": "x"}
    before = json.dumps([retry.body, retry.first, retry.headers, retry.apart, retry.twice])
    assert attempt.change(retry) == ""
    after = json.dumps([retry.body, retry.first, retry.headers, retry.apart, retry.twice])
    assert (before == after) == (attempt.name in ("as-recorded", "after-a-wait"))
    bare = Retry({"id": 2, "params": {"name": "a"}}, {"id": 1, "params": {}}, {})
    why = attempt.change(bare)
    assert why or attempt.name in ("as-recorded", "other-connection", "answer-unasked", "same-id")


def test_a_dry_run_says_what_would_be_sent(tmp_path: Path, purchase: Path) -> None:
    done = probe(purchase, tmp_path / "own", "--dry-run", "--attempt", "state-changed", "--", "server")
    assert done.returncode == 0
    assert [line.partition(" ")[2] for line in done.stdout.splitlines()] == [
        "tools/call pay, round 2: state-changed: one character of the state changed; the server should refuse it",
        "tools/call owe, round 2: state-changed: one character of the state changed; the server should refuse it",
    ]
    assert not (tmp_path / "own").exists()


MISTAKES = [
    (
        ["--target", "http://192.0.2.1/mcp"],
        "192.0.2.1 is not this machine: a probe sends forged requests; say --i-own",
    ),
    (["--target", "http://example.org/mcp"], "example.org is not this machine"),
    (["--attempt", "x", "--", "server"], "There is no attempt 'x'; there are: as-recorded, state-invented"),
    (["--as", "x", "--", "server"], "--header 'x': 'NAME: VALUE' is wanted"),
    ([], "say which server"),
]


@pytest.mark.parametrize(("options", "says"), MISTAKES, ids=[" ".join(o) for o, _ in MISTAKES])
def test_a_mistake_is_one_line(tmp_path: Path, purchase: Path, options: list[str], says: str) -> None:
    done = probe(purchase, tmp_path, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"Error: {says}")


def test_a_capture_without_questions_cannot_be_probed(tmp_path: Path) -> None:
    recorded = capture(tmp_path, call(1, "a"), said(1, "x"))
    done = probe(recorded, tmp_path / "own", "--", *serve_command(recorded, tmp_path))
    assert done.returncode == 2
    assert "no operation in it that asked, was answered, and may be probed" in done.stderr
