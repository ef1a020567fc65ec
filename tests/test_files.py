"""Files that are there when they are whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrtrscope.files import new_file, write_file


@pytest.fixture
def usual_rights() -> Iterator[None]:
    """Files are made as with the umask that most have."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("before", [None, b"before"])
def test_nothing_of_it_is_seen_before_the_end(before: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "page"
    if before is not None:
        path.write_bytes(before)
    with new_file(path) as file:
        file.write(b"half")
        file.flush()
        assert (path.read_bytes() if path.exists() else None) == before
        file.write(b" and half")
    assert path.read_bytes() == b"half and half" and os.listdir(tmp_path) == ["page"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_broke_off_leaves_what_was_there(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"before")
    with pytest.raises(error), new_file(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["page"]


@pytest.mark.usefixtures("usual_rights")
def test_rights(tmp_path: Path) -> None:
    fresh, kept, secret = tmp_path / "fresh", tmp_path / "kept", tmp_path / "secret"
    for path, mode in ((kept, 0o640), (secret, 0o644)):
        path.touch()
        path.chmod(mode)
    write_file(fresh, b"x")
    write_file(kept, b"x")
    write_file(secret, b"x", private=True)
    assert [rights(path) for path in (fresh, kept, secret)] == [0o644, 0o640, 0o600]


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    for text in (b"made", b"made anew"):
        write_file(link, text)
        assert link.is_symlink() and not target.is_symlink() and target.read_bytes() == text


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_file(path, b"x", private=True)
    assert os.read(reader, 10) == b"x" and stat.S_ISFIFO(path.lstat().st_mode)
    os.close(reader)


@pytest.mark.skipif(not os.path.islink("/dev/stdout"), reason="no /dev/stdout here that is a link")
def test_a_file_that_is_open_as_a_device_stays_the_same_file(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        write_file(Path(f"/dev/fd/{out.fileno()}"), b"x")
        assert (tmp_path / "out").stat().st_ino == os.fstat(out.fileno()).st_ino
    assert (tmp_path / "out").read_bytes() == b"x"


@pytest.mark.parametrize("name", ["no/page", ".", "page/below"])
def test_what_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "page").touch()
    with pytest.raises(OSError) as raised:
        write_file(tmp_path / name, b"x")
    assert raised.value.filename == str(tmp_path / name) and raised.value.strerror
    assert os.listdir(tmp_path) == ["page"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_in_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    path, protected = tmp_path / "page", tmp_path / "protected"
    path.write_bytes(b"before")
    protected.touch(0o400)
    with pytest.raises(PermissionError):
        write_file(protected, b"x")
    tmp_path.chmod(0o500)
    try:
        write_file(path, b"x")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == b"x"
