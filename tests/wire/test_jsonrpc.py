"""JSON-RPC text is read leniently, exactly, and in time that grows with its length alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.wire import jsonrpc
from mrtrscope.wire.cutter import Origin, Spot, read
from mrtrscope.wire.events import ABSENT, Peer
from mrtrscope.wire.jsonrpc import (
    MAX_DEPTH,
    MAX_SIZE,
    depth,
    elements,
    id_text,
    kind_of,
    parse,
    pieces,
    wide_id,
)


def odd(text: bytes) -> list[tuple[str, str]]:
    return list(parse(text)[1])


@pytest.mark.parametrize("around", ["{}", " {} ", "\t{}\r\n", "\n{}"])
@pytest.mark.parametrize(
    "text", ['{"a":[1,2.5,null,true,"x"]}', "[]", "1", '"x"', "null", '{"a": {"b": "\\u0000\\u001b"}}']
)
def test_sound_json_has_nothing_odd(text, around) -> None:
    assert parse(around.format(text).encode()) == (json.loads(text), (), "", b"")


@pytest.mark.parametrize(
    ("text", "value", "oddities"),
    [
        ('{"a":1,"a":2}', {"a": 2}, [("duplicate-key", "/a")]),
        ('{"a" :1,"a":2}', {"a": 2}, [("duplicate-key", "/a")]),
        ('{"a":1,"\\u0061":2}', {"a": 2}, [("duplicate-key", "/a")]),
        ('{"a":"\\u0022:","b":1,"b":1}', {"a": '":', "b": 1}, [("duplicate-key", "/b")]),
        (
            '{"p":[0,{"x/y":{"k":1,"k":1,"k":1}}]}',
            {"p": [0, {"x/y": {"k": 1}}]},
            [("duplicate-key", "/p/1/x~1y/k")],
        ),
        ('{"a":{"b":1,"b":2},"a":3}', {"a": 3}, [("duplicate-key", "/…/b"), ("duplicate-key", "/a")]),
        ('\ufeff{"a":1}', {"a": 1}, [("bom", "")]),
        ('{"a":"\\ud83d"}', {"a": "\ud83d"}, [("lone-surrogate", "")]),
        ('{"a":"\\udcaf x"}', {"a": "\udcaf x"}, [("lone-surrogate", "")]),
        ('{"\\ud83d":1}', {"\ud83d": 1}, [("lone-surrogate", "")]),
        ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}, []),
        ('{"a":"\\\\ud83d"}', {"a": "\\ud83d"}, []),
        (
            '{"a":-Infinity,"b":Infinity}',
            {"a": float("-inf"), "b": float("inf")},
            [("nan", "-Infinity"), ("nan", "Infinity")],
        ),
        ("1e400", float("inf"), []),
        ("123456789012345678901234567890", 123456789012345678901234567890, []),
    ],
)
def test_what_was_odd_is_said(text, value, oddities) -> None:
    assert parse(text.encode()) == (value, tuple(oddities), "", b"")


def test_nan_and_bad_utf8() -> None:
    value, oddities, why, _ = parse(b'{"a":NaN}')
    assert (str(value["a"]), oddities, why) == ("nan", (("nan", "NaN"),), "")
    assert parse(b'{"a":"x\xffy\xc3("}') == ({"a": "x\ufffdy\ufffd("}, (("invalid-utf8", "byte 7"),), "", b"")


@pytest.mark.parametrize(
    "text", ["", " ", "x", "{", '{"a":}', "{'a':1}", '{"a":1,}', "+1", '"\n"', "\ufeff", "]", "nul"]
)
def test_what_is_no_json(text) -> None:
    assert parse(text.encode())[0] is ABSENT
    assert parse(text.encode())[2] == "not-json"


def test_bad_utf8_behind_the_value_is_not_of_the_value() -> None:
    assert parse(b'{"a":1} \xff\xc3(') == ({"a": 1}, (), "", b"\xff\xc3(")
    assert parse(b'{"a":"\xff"} \xff') == ({"a": "\ufffd"}, (("invalid-utf8", "byte 6"),), "", b"\xff")
    assert parse(b"\xff")[1:] == ((("invalid-utf8", "byte 0"),), "not-json", b"")


def test_text_behind_the_value_is_handed_back() -> None:
    assert parse(b'{"a":1}\r\n {"b":2}\n') == ({"a": 1}, (), "", b'{"b":2}\n')
    assert parse(b"42 is the answer")[::3] == (42, b"is the answer")


@pytest.mark.parametrize("digits", [4000, 4001, 4300, 4301, 100_000])
@pytest.mark.parametrize("form", ["{}", "-{}", '{{"id":{}}}', "{}.5", "{}e5", "1e{}"])
def test_numbers_of_very_many_digits_neither_hang_nor_raise(digits, form) -> None:
    text = form.format("7" * digits).encode()
    begin = time.process_time()
    value, _, why, rest = parse(text)
    assert (why, rest) == ("", b"")
    json.dumps(value)
    assert time.process_time() - begin < 10


def test_wide_ids_stay_different() -> None:
    texts = [
        "9007199254740993",
        "9007199254740992",
        "9007199254740993.0",
        '"9007199254740993"',
        "1" * 5000,
        "1" * 4999 + "2",
    ]
    ids = [parse(text.encode())[0] for text in texts]
    assert len({id_text(id) for id in ids}) == len(texts)
    assert [wide_id(id) for id in ids] == [True, False, False, False, True, True]


def test_id_texts_keep_the_type() -> None:
    ids = [
        1,
        "1",
        True,
        1.0,
        None,
        "",
        0,
        False,
        "null",
        "true",
        -1,
        [1],
        {"b": 1, "a": 2},
        1.5,
        "é",
        "\ud83d",
    ]
    texts = [id_text(id) for id in ids]
    assert texts == [
        "1", '"1"', "true", "1.0", "null", '""', "0", "false", '"null"', '"true"', "-1", "[1]", '{"a":2,"b":1}', "1.5",
        '"\\u00e9"', '"\\ud83d"',
    ]  # fmt: skip
    assert id_text(ABSENT) is None
    assert id_text("x" * 5000) != id_text("x" * 4999 + "y")
    assert len(id_text("x" * 10_000_000) or "") < 100


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"x"}', "request"),
        ('{"jsonrpc":"2.0","id":null,"method":"x"}', "request"),
        ('{"jsonrpc":"2.0","method":"x"}', "notification"),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', "response"),
        ('{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "response"),
        ('{"jsonrpc":"2.0","error":{}}', "error"),
        ('{"jsonrpc":"1.0","id":1,"method":5}', "request"),
        ('{"id":1,"method":"x"}', "request"),
        ('{"method":"x","params":{}}', "notification"),
        ('{"id":1,"result":{}}', "response"),
        ('{"id":1,"error":{"code":-32600,"message":""}}', "error"),
        ('{"jsonrpc":"2.0","id":null}', ""),
        ('{"jsonrpc":"2.0"}', ""),
        ('{"method":"GET","path":"/"}', ""),
        ('{"error":"invalid_token","error_description":"x"}', ""),
        ('{"result":"ok"}', ""),
        ("{}", ""),
    ],
)
def test_kinds(text, kind) -> None:
    assert kind_of(json.loads(text)) == kind


def test_in_an_http_error_only_what_surely_is_json_rpc_counts() -> None:
    assert kind_of({"id": 1, "error": {"code": -32600, "message": "x"}}, sure=True) == "error"
    assert kind_of({"id": 1, "error": "x"}, sure=True) == ""
    assert kind_of({"id": 1, "method": "x"}, sure=True) == ""
    assert kind_of({"jsonrpc": "2.0", "error": "x"}, sure=True) == "error"


def test_elements_of_an_array_as_they_were_written() -> None:
    text = b' \t[ {"a" :1.0} ,[2],\n"x]" , null,{"b":"\\u0041"}]\n'
    assert elements(text) == [b'{"a" :1.0}', b"[2]", b'"x]"', b"null", b'{"b":"\\u0041"}']
    assert elements(b'["\xff", "\xc3\xa9"]') == [b'"\xff"', b'"\xc3\xa9"']
    assert elements(b"[]") == []
    assert elements(b"[" + b"7" * 5000 + b",1]") == [b"7" * 5000, b"1"]


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 199, 201, 300, MAX_DEPTH])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
def test_deep_text_is_read_up_to_the_limit(levels, left, right) -> None:
    value, _, why, _ = parse((left * levels + "1" + right * levels).encode())
    for _ in range(levels):
        value = value[0] if left == "[" else value["a"]
    assert (value, why) == (1, "")


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 5000, 100_000, 2_000_000])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}"), ("[", ""), ('{"a":[', "]}")])
def test_deeper_text_is_kept_and_not_parsed(levels, left, right) -> None:
    assert parse((left * levels + "1" + right * levels).encode())[::2] == (ABSENT, "too-deep")


def test_brackets_in_strings_and_side_by_side_are_not_deep() -> None:
    text = ('{"a":"' + "[" * 1000 + '\\"[","b":[' + ",".join(["[]"] * 1000) + "]}").encode()
    assert parse(text)[2] == ""
    assert depth(text + b"[") <= MAX_DEPTH


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":"' + b"x" * (MAX_SIZE + 1) + b'"}',
        b"[" + b"{}," * (1 << 21) + b"{}]",
        b"[" + b"0," * (1 << 23) + b"0]",
    ],
    ids=["long", "many objects", "many numbers"],
)
def test_more_than_fits_is_kept_and_not_parsed(text) -> None:
    assert parse(text)[::2] == (ABSENT, "too-long")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":"' + b'\\"' * (1 << 23),
        b'"' + b"\\" * (1 << 24),
        b"[" * (1 << 20) + b'"',
        (b'"' + b"[" * 1000) * 4000,
        b'{"a":1' + b',"a":1' * 200_000 + b"}",
        b'{"a":"\xff' + b"\\u0000" * (1 << 20) + b'"}',
        b"{" + b",".join(b'"%d":{}' % n for n in range(300_000)) + b',"1":{}}',
        b"-" * (1 << 24),
        b" " * (1 << 24),
        (b'{"jsonrpc":"2.0","method":"x"}' * 50_000),
    ],
    ids=[
        "escapes",
        "backslashes",
        "open",
        "quotes",
        "one key",
        "nul",
        "many keys",
        "minus",
        "space",
        "values",
    ],
)
def test_no_text_is_slow(text) -> None:
    begin = time.process_time()
    parse(text)
    assert time.process_time() - begin < 20  # a reader that is quadratic in any of these needs minutes


def test_a_flood_of_repeated_keys_is_noted_in_bounds() -> None:
    text = b"[" + b",".join(b'{"k%d":1,"k%d":1}' % (n, n) for n in range(5000)) + b"]"
    assert len(odd(text)) == 16


@given(
    st.binary(max_size=60)
    | st.text(alphabet='{}[]":,\\u0019aNe.-\x00\ud800 ', max_size=60).map(
        lambda t: t.encode("utf-8", "surrogatepass")
    )
)
def test_any_bytes_are_read_without_an_exception(text: bytes) -> None:
    value, oddities, why, rest = parse(text)
    assert (value is ABSENT) == bool(why)
    assert all(type(part) is str for pair in oddities for part in pair)
    assert len(rest) <= 3 * len(text)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.booleans(), st.sampled_from([None, 1]))
def test_what_python_writes_is_read_as_it_was(
    value: Any, ascii: bool, compact: bool, indent: int | None
) -> None:
    separators = (",", ":") if compact else None
    text = json.dumps(value, ensure_ascii=ascii, separators=separators, indent=indent).encode(
        "utf-8", "surrogatepass"
    )
    found, oddities, why, rest = parse(text)
    assert (found, why, rest) == (value, "", b"")
    assert {name for name, _ in oddities} <= {"lone-surrogate"}


@given(st.dictionaries(st.text('ab":\\/é', max_size=3), JSON, min_size=1), st.data())
def test_a_repeated_key_is_always_found(value: dict[str, Any], draw: st.DataObject) -> None:
    key = draw.draw(st.sampled_from(sorted(value)))
    pairs = [*value.items(), (key, draw.draw(JSON))]
    text = "{" + ",".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in pairs) + "}"
    assert "duplicate-key" in {name for name, _ in odd(text.encode())}


def test_few_texts_are_read_without_pydantic_and_give_the_same_values() -> None:
    code = (
        "import sys\n"
        "from mrtrscope.wire import jsonrpc\n"
        "with jsonrpc.few():\n"
        "    values = [jsonrpc.parse(text)[0] for text in eval(sys.argv[1])]\n"
        "    sound = jsonrpc.sound(b'[1]'), jsonrpc.sound(b'[1'), jsonrpc.sound(b'[1] 2')\n"
        "loaded = 'pydantic_core' in sys.modules\n"
        "again = [jsonrpc.parse(text)[0] for text in eval(sys.argv[1])]\n"
        "print(repr((values == again, sound, loaded, 'pydantic_core' in sys.modules)))\n"
    )
    texts = [b'{"a":[1,2.5,"\\u00e9",null]}', b'{"a":1,"a":2}', b"[1e3, 12345678901234567890]", b'"x"', b"{}"]
    done = subprocess.run(
        [sys.executable, "-c", code, repr(texts)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.stdout == "(True, (True, False, False), False, True)\n", done.stderr


@given(
    st.lists(
        st.sampled_from([b"{}", b' {"a": 1}', b"[1]\r", b"\xef\xbb\xbf{}", b'"\xff"', b"\n", b"x"]),
        max_size=8,
    )
)
def test_pieces_joined_are_the_text(parts: list[bytes]) -> None:
    text = b"".join(parts)
    found = pieces(text, 3)
    assert b"".join(found) in (text, b"" if text.isspace() else text)
    assert len(found) <= 4 and all(not parse(piece)[3] for piece in found[:3][:-1])


def test_values_behind_one_another_are_each_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_bytes = []

    def counting(text: bytes) -> Any:
        read_bytes.append(len(text))
        return parse(text)

    monkeypatch.setattr(jsonrpc, "parse", counting)
    one = b'{"jsonrpc":"2.0","method":"n"}'
    raw = one * 500 + b'{"jsonrpc":"2.0","method":"m","params":[' + b"[]," * 50_000 + b"1]}"
    origin = Origin("j.mrj", "1i", "c2s", "s", Peer("p", "stdio"))
    assert len(read(origin, Spot(1, 0, 0, ()), raw)) == 501
    assert sum(read_bytes) < 3 * len(raw)


def test_depth_is_told_within_a_few_times_the_text() -> None:
    text = b'{"a":' * 200_000
    tracemalloc.start()
    try:
        assert depth(text) == 200_000
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()
