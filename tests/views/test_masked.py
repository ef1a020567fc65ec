"""A secret planted in every position is in no output, unless --raw asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse, model
from mrtrscope.cli import run
from mrtrscope.store.reader import Store
from mrtrscope.views.masked import _together
from tests.captures import journal, recorded

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
HEADER, QUERY, USER, COOKIE = "hd7qmKw81xPz", "qy3vUe92Lmnb", "ui5tRw38Zxcv", "ck9pLo47Mnbv"
FIELD, ANSWER, PIN, STDERR, TARGET = "bd2rTy61Qwer", "an8sDf45Ghjk", "73915", "se4wXc29Vbnm", "tg6yHn83Ujmk"
BASIC = "dXNlcjpwdzEyMzQ1Ng=="
SENT = (HEADER, QUERY, USER, COOKIE, FIELD, ANSWER, PIN, TARGET, BASIC)
SECRETS = (*SENT, STDERR)


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": META, **params}}


def http(capture: Path) -> Path:
    """A transcript of HTTP exchanges with secrets in heads, addresses and bodies."""
    url = f"https://kari:{USER}@s.example/mcp?access_token={QUERY}"
    heads = [
        ["Authorization", f"Bearer {HEADER}"],
        ["Cookie", f"sid={COOKIE}"],
        ["Content-Type", "application/json"],
    ]
    asks = {
        "k": {
            "method": "elicitation/create",
            "params": {
                "message": "?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"password": {"type": "string"}, "pin": {"type": "integer"}},
                },
            },
        }
    }
    given = {"k": {"action": "accept", "content": {"password": ANSWER, "pin": int(PIN)}}}
    call = {"name": "login", "arguments": {"api_key": FIELD, "again": f"it is {FIELD}"}}
    link = f"https://x.example/a?token={TARGET}"
    turns: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (request(1, "tools/call", **call), {"resultType": "input_required", "inputRequests": asks}),
        (request(2, "tools/call", **call, inputResponses=given), {"resultType": "complete", "content": []}),
        (request(3, "resources/read", uri=link), {"resultType": "complete", "contents": [{"uri": link, "text": "x"}]}),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"t": n, "t_end": n + 0.5, "conn": "1",
         "request": {"method": "POST", "url": url, "headers": heads, "body": json.dumps(sent)},
         "response": {"status": 200, "headers": [["Content-Type", "application/json"], ["Set-Cookie", f"sid={COOKIE}"]],
                      "chunks": [{"t": n + 0.4, "data": json.dumps({"jsonrpc": "2.0", "id": n, "result": got})}],
                      "end": True}}
        for n, (sent, got) in enumerate(turns, 1)
    ]  # fmt: skip
    rows[2]["request"]["headers"] = [["Authorization", f"Basic {BASIC}"], *heads[1:]]
    capture.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return capture


def stdio(capture: Path) -> Path:
    """A process that tells a secret on stderr and in the place of a message."""
    call = request(1, "tools/call", name="login", arguments={"password": FIELD})
    made = journal(
        capture, [(10, "c2s", json.dumps(call).encode()), (20, "s2c", f"password: {STDERR}".encode())]
    )
    made.append("0e", "data", made._mono + 30_000, f"connecting with token={STDERR}\n".encode())
    made.close()
    return capture


def loud(store: Store) -> Iterator[model.Finding]:
    """Findings that repeat every secret, in every place that a rule may put it, at the message that has it."""
    for n, secret in enumerate(SENT):
        for path, saw in (("arguments/x", secret), ("x", {"a": [secret]}), ("password", f"[{secret}]")):
            yield model.Finding(
                id=f"{n}{path}", rule="mrtr/new-request-id", level="must", keyword="must", party="client", at="m1",
                also=["m3", "m5"], operation="op2", channel="https://s.example/mcp", t=1.0, saw=saw, expected=secret,
                text=f"a value came: {secret}", path=path, rule_source="x",
                source=model.Source(file="a.jsonl", line=1),
            )  # fmt: skip


FORMS = ("text", "json", "sarif", "junit", "github")
CHECKS = [["check", f"--format={form}"] for form in FORMS]
LISTS = [[verb, f"--format={form}"] for verb in ("list", "messages", "channels") for form in ("text", "json")]
SHOWS = [["show", id] for id in ("op1", "op2", "m1", "m3", "m5", "f1", "f2", "f3")]


def printed(capsys: pytest.CaptureFixture[str], capture: Path, command: list[str], *more: str) -> str:
    assert run([command[0], str(capture), *command[1:], *more]) in (0, 1, 2)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return out + err


@pytest.mark.parametrize("command", [*CHECKS, *LISTS, *SHOWS], ids=" ".join)
@pytest.mark.parametrize("kind", [http, stdio])
def test_no_output_tells_a_secret(
    kind: Any, command: list[str], tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    if command[0] == "check" and kind is http:
        monkeypatch.setattr(Store, "findings", lambda self: loud(self))
    out = printed(capsys, kind(tmp_path / "a"), command)
    assert [secret for secret in SECRETS if secret in out] == []
    assert kind is stdio or command[0] != "check" or "‹hidden" in out or "\\u2039hidden" in out


@pytest.mark.parametrize("command", CHECKS, ids=" ".join)
def test_raw_hides_nothing(command: list[str], tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Store, "findings", lambda self: loud(self))
    out = printed(capsys, http(tmp_path / "a"), command, "--raw", "--all")
    folds = command[1] in ("--format=sarif", "--format=junit", "--format=github")
    assert [secret for secret in SENT if secret not in out] == [] or folds
    assert SECRETS[0] in out and "hidden" not in out


def test_a_baseline_is_for_everybody_and_fits_the_same_findings(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Store, "findings", lambda self: loud(self))
    capture, file = http(tmp_path / "a"), tmp_path / "accepted.json"
    printed(capsys, capture, ["check"], "--write-baseline", str(file))
    text = file.read_text(encoding="utf-8")
    assert [secret for secret in SECRETS if secret in text] == []
    assert printed(capsys, capture, ["check"], "--baseline", str(file)).startswith("No findings")


def test_ordinary_values_stay(tmp_path: Path, capsys: Any) -> None:
    lines = [request(1, "tools/call", name="count", arguments={"maxTokens": 500, "city": "Bergen"}),
             {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such token count: 500"}}]  # fmt: skip
    sides = zip((10, 20), ("c2s", "s2c"), lines, strict=True)
    journal(tmp_path, [(t, side, json.dumps(line).encode()) for t, side, line in sides]).close()
    for command in (["list"], ["messages"], ["check"], ["show", "op1"]):
        assert "hidden" not in printed(capsys, tmp_path, command)


def test_lines_of_a_process_are_read_where_they_stand(tmp_path: Path) -> None:
    recorded(tmp_path / "a", requests=400)
    with analyse.bring_up_to_date(tmp_path / "a") as store:
        assert list(_together(store, ["m500", "m3", "m4", "m90"])) == [["m3", "m4", "m90"], ["m500"]]
    with analyse.bring_up_to_date(http(tmp_path / "b")) as store:
        assert list(_together(store, ["m5", "m1"])) == [["m5", "m1"]]
