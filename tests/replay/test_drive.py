"""`replay drive` against real servers on the official SDK: green where nothing changed, red where something did."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES, SHARED, free_port, mrtrscope
from tests.replay.test_serve import legacy
from tests.replay.world import PYTHON, cashier, paid, serve_command, served, url_of

pytestmark = pytest.mark.live

BAKERY = [PYTHON, "-m", "mrtrscope.demo.server"]


def drive(capture: Path, into: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return mrtrscope("replay", "drive", capture, "--capture", into, *options, **env)


def driven(capture: Path, into: Path, *options: str) -> dict[str, Any]:
    where = [*options]
    at = where.index("--") if "--" in where else len(where)
    done = drive(capture, into, *where[:at], "--format", "json", *where[at:])
    assert done.returncode in (0, 1), done.stderr
    got: dict[str, Any] = json.loads(done.stdout)
    assert got["ok"] == (done.returncode == 0)
    return got


def verdicts(got: dict[str, Any]) -> dict[str, str]:
    return {one["op"]: one["verdict"] for one in got["operations"]}


@pytest.fixture(scope="module")
def purchase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield paid(tmp_path_factory.mktemp("purchase"), tools=("pay", "owe", "status"))


@pytest.mark.parametrize("sample", ["sample-stdio", "sample-relay"])
def test_a_recording_passes_on_either_transport(tmp_path: Path, sample: str) -> None:
    """Its broken client included: what that did wrong is done again, and refused as it was."""
    got = drive(SAMPLES / sample, tmp_path / "stdio", "--", *BAKERY)
    assert (got.returncode, got.stdout.splitlines()[-1]) == (0, "13 of 13 operations passed.")
    with url_of([*BAKERY, "--http", "0"]) as url:
        got = drive(SAMPLES / sample, tmp_path / "http", "--target", url)
    assert (got.returncode, got.stdout.splitlines()[-1]) == (0, "13 of 13 operations passed.")
    for into in ("stdio", "http"):
        found = json.loads(mrtrscope("check", tmp_path / into, "--format", "json").stdout)["findings"]
        assert sorted(f["rule"] for f in found if f["level"] == "must") == [
            "mrtr/all-keys-answered",
            "mrtr/state-echoed-verbatim",
        ]
        assert (
            len(json.loads(mrtrscope("list", tmp_path / into, "--format", "json").stdout)["operations"]) == 13
        )


@pytest.mark.shared
def test_every_operation_of_the_workload_passes(tmp_path: Path) -> None:
    assert SHARED is not None
    workload = SHARED / "bench" / "workload"
    wrap = f"{PYTHON} -m mrtrscope wrap --capture {tmp_path / 'recorded'} -- {{server}}"
    done = subprocess.run(
        [PYTHON, str(workload / "client.py"), "--n", "28", "--concurrency", "4", "--wrap", wrap],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    got = drive(tmp_path / "recorded", tmp_path / "own", "--", PYTHON, str(workload / "server.py"))
    assert got.stdout.splitlines()[-1] == "30 of 30 operations passed."


def test_a_server_changed_in_one_answer_makes_that_operation_red(tmp_path: Path, purchase: Path) -> None:
    got = driven(purchase, tmp_path, "--", *cashier("sealed", "--changed"))
    assert set(verdicts(got).values()) == {"passed", "differs"}
    red = [one for one in got["operations"] if one["verdict"] != "passed"]
    assert [one["name"] for one in red] == ["tools/call pay", "tools/call owe"]
    assert [r["verdict"] for r in red[0]["rounds"]] == ["passed", "differs"]
    assert red[0]["rounds"][1]["differences"][0] == {
        "path": "/result/content/0/text",
        "recorded": '"pay 7 to ann: done"',
        "now": '"pay 7 to ann: done again"',
    }


def test_a_change_that_is_ignored_passes(tmp_path: Path, purchase: Path) -> None:
    ignored = ["--ignore", "/result/content/*/text", "--ignore", "/result/structuredContent"]
    assert driven(purchase, tmp_path, *ignored, "--", *cashier("sealed", "--changed"))["ok"]


def test_freshly_made_keys_are_answered_by_the_question(tmp_path: Path, purchase: Path) -> None:
    got = driven(purchase, tmp_path, "--", *cashier("sealed", "--fresh-keys"))
    assert set(verdicts(got).values()) == {"passed"}
    renamed = [r["renamed"] for one in got["operations"] for r in one["rounds"] if r["renamed"]]
    assert renamed and all(then != now for names in renamed for then, now in names.items())


def test_a_key_that_the_server_renamed_is_told_in_one_line(tmp_path: Path) -> None:
    from tests.replay.world import FORM, YES, asks, call, capture, said

    def session(folder: Path, key: str) -> Path:
        retry = call(2, "a", inputResponses={key: YES}, requestState="s")
        return capture(folder, call(1, "a"), asks(1, "s", **{key: FORM}), retry, said(2, "x"))

    old, now = session(tmp_path / "old", "day"), session(tmp_path / "now", "day-7f\x1b[2J")
    server = serve_command(now, tmp_path / "theirs", "--stdio", "--answers", "same")
    got = drive(old, tmp_path / "own", "--", *server)
    assert got.returncode == 0
    told = [line.strip() for line in got.stdout.splitlines() if "was asked as" in line]
    assert len(told) == 1 and "\x1b" not in told[0]
    assert told[0].startswith("round 2: 'day' of the recording was asked as 'day-7f")
    assert told[0].endswith("; answered under the key of today")
    got = drive(old, tmp_path / "own", "--format", "junit", "--", *server)
    assert "<system-out>round 2: &#39;day&#39; of the recording" in got.stdout.replace("'", "&#39;")
    got = drive(now, tmp_path / "own", "--", *server)
    assert "was asked as" not in got.stdout  # nothing was renamed


def test_a_question_that_is_new_is_a_difference(tmp_path: Path, purchase: Path) -> None:
    got = driven(purchase, tmp_path, "--", *cashier("sealed", "--late"))
    pay = next(one for one in got["operations"] if one["name"] == "tools/call pay")
    assert [r["verdict"] for r in pay["rounds"]] == ["passed", "differs"]
    assert "/result/inputRequests" in {d["path"] for d in pay["rounds"][1]["differences"]}


def test_a_server_that_no_longer_asks_leaves_the_retry_unsent(tmp_path: Path) -> None:
    """`replay serve` with another recording stands in for it: it answers at once."""
    from tests.replay.world import YES, asks, call, capture, said

    recorded = capture(
        tmp_path / "recorded", call(1, "a"), asks(1, "s"),
        call(2, "a", inputResponses={"q": YES}, requestState="s"), said(2, "x"),
    )  # fmt: skip
    other = capture(tmp_path / "other", call(1, "a"), said(1, "x"))
    got = driven(recorded, tmp_path / "own", "--", *serve_command(other, tmp_path / "theirs", "--stdio"))
    rounds = got["operations"][0]["rounds"]
    assert [r["verdict"] for r in rounds] == ["differs", "not run"]
    assert rounds[1]["why"] == "the server did not ask in the round before"


DEAD = [
    (["--target", "http://127.0.0.1:{port}/mcp"], "Connection refused. Start it, or give another --target."),
    (
        ["--", PYTHON, "-c", "raise SystemExit(3)"],
        "the server ended with exit code 3. It answered nothing; try the command by itself first.",
    ),
    (
        ["--", PYTHON, "-c", "raise ValueError('Bearer sk-live-0123456789abcdef0123')"],
        "the server ended with exit code 1, and said: ValueError: ‹hidden 1›",
    ),
    (
        ["--", "no-such-command-anywhere"],
        "no-such-command-anywhere cannot be started: No such file or directory. Say behind -- how the server",
    ),
]


@pytest.mark.parametrize("verb", [("replay", "drive"), ("probe", "server")], ids=" ".join)
@pytest.mark.parametrize(("options", "why"), DEAD, ids=["refused", "exit", "traceback", "missing"])
def test_a_server_that_is_not_there_is_one_line(
    tmp_path: Path, purchase: Path, verb: tuple[str, str], options: list[str], why: str
) -> None:
    filled = [word.replace("{port}", str(free_port())) for word in options]
    done = mrtrscope(*verb, purchase, "--capture", tmp_path, *filled)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("Error: ")
    assert why in done.stderr
    assert "0123456789abcdef" not in done.stderr


def test_a_server_that_is_silent_is_red_with_its_reason(tmp_path: Path, purchase: Path) -> None:
    got = driven(purchase, tmp_path, "--timeout", "0.5", "--", PYTHON, "-c", "import sys; sys.stdin.read()")
    assert set(verdicts(got).values()) == {"failed"}
    assert {one["rounds"][0]["why"] for one in got["operations"]} == {"no response within 0.5 s"}


def test_a_server_that_dies_later_is_red_with_its_reason(tmp_path: Path, purchase: Path) -> None:
    """It answers one request."""
    code = (
        "import json, sys\n"
        "id = json.loads(sys.stdin.readline())['id']\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': id, 'result': {'resultType': 'complete'}}), flush=True)\n"
        "raise SystemExit(4)\n"
    )
    got = driven(purchase, tmp_path, "--", PYTHON, "-c", code)
    whys = [one["rounds"][0]["why"] for one in got["operations"]]
    assert (whys[0], set(whys[1:])) == ("", {"the server ended with exit code 4"})
    assert not got["ok"]


def test_one_operation_with_edits(tmp_path: Path, purchase: Path) -> None:
    ops = json.loads(mrtrscope("list", purchase, "--format", "json").stdout)["operations"]
    pay = next(op["id"] for op in ops if op["target"] == "pay")
    got = driven(
        purchase, tmp_path, "--only", pay, "--set", "/params/arguments/to=bob", "--", *cashier("sealed")
    )
    (one,) = got["operations"]
    assert one["op"] == pay
    assert [r["verdict"] for r in one["rounds"]] == ["differs", "differs"]
    assert one["rounds"][1]["differences"][0]["now"] == '"pay 7 to bob: done"'


def test_junit_has_a_case_for_each_operation(tmp_path: Path, purchase: Path) -> None:
    done = drive(purchase, tmp_path, "--format", "junit", "--", *cashier("sealed", "--changed"))
    assert done.returncode == 1
    assert '<testsuites name="mrtrscope replay" tests="5" failures="2" errors="0" skipped="0">' in done.stdout
    assert "now &quot;pay" in done.stdout or 'now "pay 7 to ann: done again"' in done.stdout


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_of_an_older_revision_shakes_hands_and_answers(tmp_path: Path, transport: str) -> None:
    recorded, theirs, own = legacy(tmp_path / "recorded"), tmp_path / "theirs", tmp_path / "own"
    for only in ([], ["--only", "op2"]):
        if transport == "stdio":
            got = driven(recorded, own, *only, "--", *serve_command(recorded, theirs, "--stdio"))
        else:
            with served(recorded, theirs) as url:
                got = driven(recorded, own, *only, "--target", url)
        assert set(verdicts(got).values()) == {"passed"}
        assert len(got["operations"]) == (1 if only else 3)


def test_dry_run_sends_nothing_and_hides_secrets(tmp_path: Path, purchase: Path) -> None:
    done = drive(
        purchase, tmp_path / "own", "--dry-run", "--set", "/params/arguments/password=hunter2", "--target", "http://127.0.0.1:9/"
    )  # fmt: skip
    assert done.returncode == 0
    assert "hunter2" not in done.stdout
    assert '"requestState":"the one issued then"' in done.stdout
    assert not (tmp_path / "own").exists()


MISTAKES = [
    ([], "say which server: --target URL, or its command behind --"),
    (["--target", "http://x/", "--", "cat"], "say which server"),
    (["--target", "x"], "--target x: a URL is wanted"),
    (["--only", "op99", "--target", "http://127.0.0.1:9/"], "There is no operation 'op99'; mrtrscope list"),
    (["--set", "x", "--target", "http://127.0.0.1:9/"], "--set x: /params/PATH=VALUE is wanted"),
    (["--header", "x", "--target", "http://127.0.0.1:9/"], "--header 'x': 'NAME: VALUE' is wanted"),
    (["--answers", "/no/file", "--target", "http://127.0.0.1:9/"], "/no/file: No such file"),
    (["--channel", "x", "--target", "http://127.0.0.1:9/"], "There is no channel 'x'; there are: bakery"),
]


@pytest.mark.parametrize(("options", "says"), MISTAKES, ids=[" ".join(o) for o, _ in MISTAKES])
def test_a_mistake_is_one_line(tmp_path: Path, options: list[str], says: str) -> None:
    done = drive(SAMPLES / "sample-stdio", tmp_path, *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"Error: {says}")


def test_a_capture_of_several_servers_wants_one_named(tmp_path: Path) -> None:
    done = drive(SAMPLES / "sample-demo", tmp_path, "--target", "http://127.0.0.1:9/")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "Error: CAPTURE has several servers, say --channel: bakery, http://127.0.0.1:"
    )
    got = drive(SAMPLES / "sample-demo", tmp_path, "--channel", "bakery", "--", *BAKERY)
    assert got.stdout.splitlines()[-1] == "13 of 13 operations passed."


def test_what_one_operation_names_is_hidden_in_the_difference_of_another(tmp_path: Path) -> None:
    from tests.replay.world import call, capture, said

    secret = "kq7XplanetS"
    named = (call(2, "login", {"password": secret}), said(2, "ok"))
    old = capture(tmp_path / "old", call(1, "a"), said(1, f"it opens with {secret}"), *named)
    now = capture(tmp_path / "now", call(1, "a"), said(1, "closed"), *named)
    server = serve_command(now, tmp_path / "theirs", "--stdio")
    for form in ("text", "json", "junit"):
        got = drive(old, tmp_path / form, "--format", form, "--", *server)
        assert got.returncode == 1
        assert secret not in got.stdout and "it opens with " in got.stdout


def test_each_run_without_a_folder_records_into_one_of_its_own(tmp_path: Path) -> None:
    from tests.replay.world import FORM, YES, asks, call, capture, said

    retry = call(2, "a", inputResponses={"q": YES}, requestState="s")
    old = capture(tmp_path / "old", call(1, "a"), asks(1, "s", q=FORM), retry, said(2, "x"))
    server = serve_command(old, tmp_path / "theirs", "--stdio", "--when-used-up", "repeat")
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "MRTRSCOPE_CAPTURE": ""}
    named = []
    for verb in (("replay", "drive"), ("replay", "drive"), ("probe", "server")):
        done = mrtrscope(*verb, old, "--timeout", "20", "--", *server, **env)
        (line,) = [line for line in done.stderr.splitlines() if "recording to" in line]
        named.append(Path(line.partition("recording to ")[2]))
    assert len(set(named)) == 3
    assert [path.name.partition("-drive")[2][:2] for path in named[:2]] in (["", ""], ["", "-2"])
    assert "-probe" in named[2].name
    for path in named:
        assert path.parent == tmp_path / "state" / "mrtrscope" / "captures"
        assert len(list((path / "journals").glob("*.mrj"))) == 1
    mine = tmp_path / "mine"
    mrtrscope("replay", "drive", old, "--", *server, **(env | {"MRTRSCOPE_CAPTURE": str(mine)}))
    assert (mine / "journals").is_dir()
