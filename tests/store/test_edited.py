"""A message that a person changed at the proxy: marked, both texts at hand, nobody blamed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyser, cli
from mrtrscope.analyse import bring_up_to_date
from mrtrscope.store.bodies import fetch
from mrtrscope.wire.events import Message
from tests.captures import call, content, journal

CAME = b'{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"came"}}'
SENT = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"was-passed-on"}}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}'


def rows(capture: Path) -> dict[str, Any]:
    with bring_up_to_date(capture) as store:
        return content(store)


@pytest.mark.parametrize("looks", [False, True], ids=["at once", "after it was judged"])
def test_what_was_edited_is_marked_and_blamed_on_nobody(
    tmp_path: Path, looks: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    made = journal(tmp_path, [(1, "c2s", CAME)], how="addon")
    if looks:
        assert "m1" in {f["at"] for f in rows(tmp_path)["findings"]}
    made.append("0i", "sent", made._mono + 2_000, SENT + b"\n")
    made.append("0o", "data", made._mono + 3_000, ANSWER + b"\n")
    made.append("0i", "data", made._mono + 4_000, call(2) + b"\n")
    made.close()
    found = rows(tmp_path)
    assert [(m["oddities"], m["size"]) for m in found["messages"]] == [
        (["edited"], len(SENT)), ([], len(ANSWER)), ([], len(call(2))),
    ]  # fmt: skip
    assert not [f for f in found["findings"] if f["at"] == "m1" or "m1" in f["also"]]
    with bring_up_to_date(tmp_path) as store:
        messages = fetch(store, ["m1", "m2", "m3"])
        first, third = messages["m1"], messages["m3"]
        assert isinstance(first, Message) and isinstance(third, Message)
        assert (first.before, first.raw, first.edited) == (CAME, SENT, True)
        assert (third.before, third.raw, third.edited) == (b"", call(2), False)
    assert cli.run(["show", str(tmp_path), "op1"]) == 0
    said = capsys.readouterr().out
    came, passed = said.index('"name": "came"'), said.index('"name": "was-passed-on"')
    assert said.index("as it came:") < came < said.index("as it was passed on, edited at the proxy:") < passed


def test_it_is_the_same_whenever_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = journal(tmp_path, [(1, "c2s", CAME)], how="addon")
    made.append("0i", "sent", made._mono + 2_000, SENT + b"\n")
    made.append("0o", "data", made._mono + 3_000, ANSWER + b"\n")
    made.close()
    whole = rows(tmp_path)
    (tmp_path / "scope.db").unlink()
    monkeypatch.setattr(analyser, "BATCH", 1)
    assert rows(tmp_path) == whole


def test_a_line_that_was_edited_away(tmp_path: Path) -> None:
    """Nothing was passed on in its place: the mark alone tells."""
    made = journal(tmp_path, [(1, "c2s", CAME)], how="addon")
    made.append("0i", "sent", made._mono + 2_000, b"")
    made.close()
    (message,) = rows(tmp_path)["messages"]
    assert (message["oddities"], message["size"]) == (["edited"], len(CAME))
