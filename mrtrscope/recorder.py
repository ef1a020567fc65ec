"""The writing side of a journal: one append for what one read brought, and nothing that can fail towards
the traffic.

A journal is one file, ``CAPTURE/journals/<utc start>-<name>-<pid>.mrj``: a line of JSON, then records, each
an ASCII line ``<lane> <kind> <microseconds since start> <length>``, that many bytes, a newline. `journal`
reads it.

Nothing that `append` meets can reach its caller: a full disk, a closed file, a bug are counted, and stand
in the file as a gap on their lane as soon as writing works again. A record is written whole or taken back,
so that a full disk tears no hole into the file. A disk that blocks holds the traffic, as a pipe would.

Which file that is, and when another is begun, is the business of `parts`.

Standard library only, and only what starts fast: processes that carry traffic import this.
"""

import os
import time
from _thread import allocate_lock
from errno import EBADF

from mrtrscope.frames import GAP
from mrtrscope.parts import Parts, make_private, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
MAX_RECORD = 1 << 26  # more bytes than this in one append become several records
ROTATE = 1 << 30
_SMALL = 1 << 14  # up to here one buffer is cheaper than a vector of three
_LOOK = 1_000_000_000  # nanoseconds of traffic between two looks after the file

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def boot_id() -> str:
    """Names this run of the machine: monotonic times can be compared where it is equal. "" when unknown."""
    try:
        fd = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 64).decode("ascii").strip()
        finally:
            os.close(fd)
    except (OSError, ValueError):
        from mrtrscope.darwin import boot_session

        return boot_session()


def pid_namespace() -> str:
    """Names the space that process ids count in, so that a container's are not taken for ours."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def safe_name(channel: str) -> str:
    """The channel as part of a file name."""
    return "".join(c if c in _SAFE else "_" for c in channel)[:60].strip("._-") or "unnamed"


class Journal:
    """Writes one journal. Safe to use from several threads; `append` never raises.

    lost_bytes, lost_frames   what could not be kept since the start        why   what hindered it last
    told          is told the folder, and why nothing is kept at present; "" when that is over
    """

    def __init__(
        self, folder: str, stem: str, header: dict[str, object], *, rotate: int, max_size: int | None
    ) -> None:
        self.lost_bytes = 0
        self.lost_frames = 0
        self.told: Callable[[str, str], None] | None = None
        self._folder = folder
        self._mono = int(str(header["mono"]))
        self._look = self._mono + _LOOK
        self._max = max_size
        self._lock = allocate_lock()
        self._gaps: dict[str, list[int]] = {}
        self.why = ""
        self._stopped = False
        self._closed = False
        self._file = Parts(folder, stem, header, rotate, max_size)

    @classmethod
    def create(
        cls,
        capture_dir: str,
        how: str,
        channel: str,
        *,
        rotate: int = ROTATE,
        max_size: int | None = None,
        **header: object,
    ) -> "Journal":
        """Begin a journal in a capture folder, made when missing; OSError when it cannot be written.

        `max_size` is in bytes, over all parts; when it is reached recording stops with a gap.
        """
        folder = os.path.join(capture_dir, "journals")
        make_private(capture_dir)
        make_private(folder)
        mono, wall, pid = time.monotonic_ns(), time.time_ns(), os.getpid()
        now = time.gmtime(wall // 1_000_000_000)
        start = f"{time.strftime('%Y%m%dT%H%M%S', now)}.{wall // 1_000_000 % 1000:03d}Z"
        stem = f"{start}-{safe_name(channel)}-{pid}"
        first: dict[str, object] = {"mrj": 1, "boot": boot_id(), "mono": mono, "wall": wall, "how": how}
        first |= {"channel": channel, "pid": pid, "namespace": pid_namespace(), **header}
        return cls(folder, stem, first, rotate=rotate, max_size=max_size)

    def append(self, lane: str, kind: str, t_ns: int, data: bytes) -> None:
        """Keep what one read brought; `t_ns` is monotonic_ns() as the read returned. One write, never raises."""
        try:
            size = len(data)
            t = (t_ns - self._mono) // 1000
            head = f"{lane} {kind} {t if t > 0 else 0} {size}\n".encode()
            total = len(head) + size + 1
            with self._lock:
                if t_ns > self._look:
                    self._look_after(t_ns)
                file = self._file
                if file.size + total < file.until:
                    if size < _SMALL:
                        done = os.write(file.fd, b"%b%b\n" % (head, data))
                    else:
                        done = os.writev(file.fd, (head, data, b"\n"))
                    if done == total:
                        file.size += total
                        file.number += 1
                        return
                    file.take_back()
                    self._lose(lane, size, "disk full")
                else:
                    self._append_slowly(lane, kind, t if t > 0 else 0, data)
        except OSError as e:
            self._failed(lane, data, e.strerror or type(e).__name__, e.errno == EBADF)
        except Exception as e:
            self._failed(lane, data, type(e).__name__, False)

    def append_many(self, records: "list[tuple[str, str, int, bytes]]") -> None:
        """Keep several records (lane, kind, t_ns, data), in one write where `append` would need one; never raises."""
        left = records
        try:
            chunks: list[bytes] = []
            for lane, kind, t_ns, data in records:
                t = (t_ns - self._mono) // 1000
                chunks += (f"{lane} {kind} {t if t > 0 else 0} {len(data)}\n".encode(), data, b"\n")
            blob = b"".join(chunks)
            with self._lock:
                if t_ns > self._look:
                    self._look_after(t_ns)
                file = self._file
                if file.size + len(blob) < file.until:
                    if os.write(file.fd, blob) == len(blob):
                        file.size += len(blob)
                        file.number += len(records)
                        return
                    file.take_back()
                    for lane, _, _, data in records:
                        self._lose(lane, len(data), "disk full")
                    return
            for at, record in enumerate(records):
                left = records[at + 1 :]
                self.append(*record)
        except OSError as e:
            for lane, _, _, data in left:
                self._failed(lane, data, e.strerror or type(e).__name__, e.errno == EBADF)
        except Exception as e:
            for lane, _, _, data in left:
                self._failed(lane, data, type(e).__name__, False)

    def close(self) -> None:
        """End the journal; what is still counted as lost is written down when that is possible."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._gaps:
                    self._file.write(self._gap_records((time.monotonic_ns() - self._mono) // 1000))
            except OSError:
                pass
            self._file.close()

    def _look_after(self, t_ns: int) -> None:
        """A file that somebody removes or cuts short takes what is written all the same."""
        from mrtrscope.renewal import lost_of

        self._look = t_ns + _LOOK
        lost = None if self._stopped else lost_of(self._file)
        if lost is not None:
            self._lose("0z", *lost)
            self._file.let_go()

    def _failed(self, lane: str, data: bytes, why: str, closed: bool) -> None:
        try:
            with self._lock:
                if closed:
                    self._file.fd = -1  # the number may soon be somebody else's: never write to it again
                self._lose(lane, len(data), why)
        except Exception:
            self.lost_frames += 1

    @property
    def path(self) -> str:
        """The file being written."""
        return self._file.path

    @property
    def kept(self) -> int:
        """Bytes written so far, in all parts."""
        return self._file.base + self._file.size

    def _tell(self, why: str) -> None:
        try:
            if self.told is not None:
                self.told(self._folder, why)
        except Exception:
            self.told = None  # whoever listened is gone

    def _lose(self, lane: str, size: int, why: str, frames: int = 1) -> None:
        self.lost_bytes += size
        self.lost_frames += frames
        if not self._gaps and not self._stopped and not self._closed:
            self._tell(why)
        gap = self._gaps.setdefault(lane, [0, 0])
        gap[0] += size
        gap[1] += frames
        if not self._stopped:
            self.why = why
        self._file.until = 0  # the next append takes the slow way

    def _append_slowly(self, lane: str, kind: str, t: int, data: bytes) -> None:
        """Everything that is not the usual case; called with the lock held, raises OSError."""
        if self._closed or self._stopped:
            self._lose(lane, len(data), "closed")
            return
        file = self._file
        if file.fd < 0 and not file.reopen():
            self._lose(lane, len(data), self.why or "cannot write")
            return
        pieces = [data[i : i + MAX_RECORD] for i in range(0, len(data), MAX_RECORD)] or [data]
        chunks = self._gap_records(t) if self._gaps else []
        for piece in pieces:
            chunks += (f"{lane} {kind} {t} {len(piece)}\n".encode(), piece, b"\n")
        total = sum(map(len, chunks))
        if file.exceeds(total):
            self._stop(t)
            self._lose(lane, len(data), "closed")
            return
        if file.is_full(total):
            file.begin()
        file.write(chunks)
        if self._gaps:
            self._tell("")
        self._gaps.clear()
        file.number += len(chunks) // 3
        file.set_until()

    def _gap_records(self, t: int) -> list[bytes]:
        chunks = []
        for lane, (size, frames) in self._gaps.items():
            body = to_json({"bytes": size, "frames": frames, "why": self.why}).encode()
            chunks += [f"{lane} {GAP} {max(t, 0)} {len(body)}\n".encode(), body, b"\n"]
        return chunks

    def _stop(self, t: int) -> None:
        """The user's limit is reached: say so once, for all lanes, and record no more."""
        self._stopped = True
        self.why = f"recording stopped at --max-size {self._max}"
        body = to_json({"bytes": 0, "frames": 0, "why": self.why}).encode()
        self._tell(self.why)
        self._file.write([f"0z {GAP} {t} {len(body)}\n".encode(), body, b"\n"])
