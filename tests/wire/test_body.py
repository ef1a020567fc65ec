"""Content codings are undone piece by piece, a cut stream gives what there is, and no bomb goes off."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope import snapshot
from mrtrscope.wire.body import BOMB_SIZE, HISTORY, KNOWN, Decoder
from mrtrscope.wire.heads import codings, fields_of

from .tools import CHUNKINGS

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # Python < 3.14
    from backports import zstd


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK = {
    "gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress,
    "zstd": zstd.compress, "raw deflate": raw_deflate,
}  # fmt: skip
TEXT = b'event: message\ndata: {"jsonrpc":"2.0"}\n\n' * 200


def decode(names: list[str], chunks: list[bytes]) -> tuple[bytes, str]:
    decoder = Decoder(names)
    data = b"".join(piece for chunk in chunks for piece in decoder.feed(chunk))
    return data, decoder.failed


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("name", PACK)
def test_every_coding(name, chunking) -> None:
    assert decode([name.removeprefix("raw ")], list(chunking(PACK[name](TEXT)))) == (TEXT, "")


@pytest.mark.parametrize("name", PACK)
def test_what_was_flushed_is_read_at_once(name) -> None:
    """As servers send event streams: each event flushed."""
    packers = {
        "gzip": zlib.compressobj(wbits=31), "x-gzip": zlib.compressobj(wbits=31), "deflate": zlib.compressobj(),
        "raw deflate": zlib.compressobj(wbits=-15), "br": brotli.Compressor(), "zstd": zstd.ZstdCompressor(),
    }  # fmt: skip
    packer, decoder = packers[name], Decoder([name.removeprefix("raw ")])
    for n in range(5):
        event = f"data: {n}\n\n".encode()
        if name == "br":
            chunk = packer.process(event) + packer.flush()
        elif name == "zstd":
            chunk = packer.compress(event, packer.FLUSH_BLOCK)
        else:
            chunk = packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(decoder.feed(chunk)) == event


@pytest.mark.parametrize("name", PACK)
def test_a_stream_cut_in_the_middle_keeps_what_could_be_read(name) -> None:
    text = b"".join(b"data: %d\n\n" % n for n in range(40_000))
    data, failed = decode([name.removeprefix("raw ")], [PACK[name](text)[:-500]])
    least = 30_000 if name == "br" else len(text) // 2  # brotli holds back what it may still refer to
    assert text.startswith(data) and len(data) > least
    assert failed == ""


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_several_members_one_behind_the_other(name, subtests) -> None:
    packed = PACK[name](b"one ") + PACK[name](b"two")
    for chunking in CHUNKINGS:
        with subtests.test(chunking=chunking.__name__):
            assert decode([name], list(chunking(packed))) == (b"one two", "")


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_codings_on_top_of_each_other(chunking) -> None:
    packed = zstd.compress(brotli.compress(gzip.compress(TEXT)))
    assert decode(["gzip", "br", "zstd"], list(chunking(packed))) == (TEXT, "")


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_what_is_not_compressed_at_all_is_read_as_it_is(name) -> None:
    plain = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert decode([name], [plain[:1], plain[1:5], plain[5:]])[0] == plain


def test_what_nobody_can_read_says_why() -> None:
    assert decode(["rot13"], [b"abc"]) == (b"", "unknown coding rot13")
    assert decode(["gzip"] * 9, [b"abc"]) == (b"", "9 codings")
    broken = bytearray(gzip.compress(bytes(range(256)) * 4000, 0))
    broken[400_000:400_100] = b"\xff" * 100
    data, failed = decode(["gzip"], [bytes(broken)])
    assert len(data) > 100_000 and failed.startswith("gzip: ")


def test_names_of_codings() -> None:
    headers = [
        ("Content-Encoding", "GZip, identity"),
        ("content-encoding", " br;q=1 "),
        ("Transfer-Encoding", "deflate, chunked"),
    ]
    assert codings(fields_of(headers)) == ["gzip", "br", "deflate"]
    assert codings(fields_of(headers), transfer=False) == ["gzip", "br"]
    assert codings({}) == []


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_bomb_is_stopped_in_little_memory(name) -> None:
    zeros = bytes(300 << 20)
    packed = brotli.compress(zeros, quality=1) if name == "br" else PACK[name](zeros)
    decoder = Decoder([name])
    tracemalloc.start()
    size = sum(len(piece) for piece in decoder.feed(packed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert BOMB_SIZE <= size < BOMB_SIZE * 1.1
    assert "bomb" in decoder.failed
    assert peak < 30 << 20
    assert list(decoder.feed(packed)) == []


@pytest.mark.parametrize("name", [*PACK, "plain"])
def test_a_checkpoint_in_mid_stream(name) -> None:
    packed = PACK.get(name, bytes)(TEXT)
    coding = "gzip" if name == "plain" else name.removeprefix("raw ")
    for cut in (0, 1, 5, len(packed) // 2, len(packed) - 1):
        decoder = Decoder([coding])
        data = b"".join(decoder.feed(packed[:cut]))
        again = snapshot.load(snapshot.dump(decoder, {}), {})
        assert data + b"".join(again.feed(packed[cut:])) == TEXT
        assert (again.failed, again.cut) == ("", False)


def test_a_checkpoint_behind_too_much_says_that_something_is_missing() -> None:
    decoder = Decoder(["gzip"])
    for _ in range(HISTORY // 1000 + 10):
        for _ in decoder.feed(gzip.compress(bytes(range(250)) * 4, 0)):
            pass
    again = snapshot.load(snapshot.dump(decoder, {}), {})
    assert list(again.feed(b"more")) == []
    assert (again.cut, again.failed) == (True, "resumed in mid-stream")


@given(st.sampled_from(sorted(KNOWN)), st.binary(max_size=200), st.binary(max_size=200), st.integers(0, 400))
def test_any_bytes_give_the_same_in_any_chunking(name: str, head: bytes, tail: bytes, cut: int) -> None:
    text = PACK[name](head)[: len(head)] + tail
    whole, failed = decode([name], [text])
    assert decode([name], [text[:cut], text[cut:]])[1] == failed or not failed
    assert bool(whole) <= bool(text)
