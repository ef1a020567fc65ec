"""Reads one direction of an HTTP/1.1 connection, leniently: what one side sent, however wrong, is what is to be seen.

Feed bytes, get `Piece`s. A head that cannot be read costs that message, not the connection: the bytes up to the next
plausible head come out as JUNK. The reader of the answers must know what was asked (a HEAD has no body, a CONNECT makes
a tunnel): who reads both sides puts the methods of the requests into `methods`.

    START ─▶ HEAD ─▶ LENGTH | CHUNK_SIZE ⇄ CHUNK_DATA ─▶ TRAILERS | UNTIL_CLOSE ─▶ START      LOST ─▶ START
                                                                  OPAQUE: another protocol from here on
"""

from __future__ import annotations

import re
from collections import deque

from mrtrscope.wire.heads import Head

HEAD, DATA, END, JUNK = "head", "data", "end", "junk"

START, LENGTH, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILERS, UNTIL_CLOSE, LOST, OPAQUE = (
    "start", "length", "chunk-size", "chunk-data", "chunk-end", "trailers", "until-close", "lost", "opaque",
)  # fmt: skip

HEAD_LIMIT = 1 << 18
LINE_LIMIT = 1 << 16
HOLD_LIMIT = 1 << 20
PREVIEW = 200
_NOT_YET, _NEVER = -1, -2
_TAIL = 2200  # bytes kept while looking for a head, so that a start line cut by a chunk border is found

_PLAUSIBLE_REQUEST = re.compile(
    rb"(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH|CONNECT|TRACE) [^\s\0]{1,2048} HTTP/1\.[01]\r?\n"
)
_PLAUSIBLE_ANSWER = re.compile(rb"HTTP/1\.[01] [1-5][0-9]{2}(?: [ -~\x80-\xff]{0,128})?\r?\n")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_METHOD_BEGINS = re.compile(rb"[!#-'*+\-.0-9A-Z^-z|~]*(?: |$)")
_BLANK = re.compile(rb"\n\r?\n")


class Piece:
    """What was read. `begin` is the position in the stream of its first byte, `end` of the byte behind it.

    HEAD  `head`          DATA  `data`, bytes of a body          END  the message ended, `whole` says if in good order
    JUNK  bytes that are no HTTP; `data` is their beginning; not `whole`: they go on from a message that broke off
    """

    __slots__ = ("begin", "data", "end", "head", "what", "whole")

    def __init__(
        self, what: str, begin: int, end: int, head: Head | None = None, data: bytes = b"", whole: bool = True
    ) -> None:
        self.what = what
        self.begin = begin
        self.end = end
        self.head = head
        self.data = data
        self.whole = whole


class HttpReader:
    """Reads requests, or with `answers` the answers. Never raises.

    methods   of requests that wait for an answer, oldest first      held   nothing is read until `release` or `tunnel`
    """

    __slots__ = (
        "_at", "_begin", "_broken", "_buffer", "_left", "_position", "_preview", "_scanned", "_trailers", "answers",
        "held", "methods", "state",
    )  # fmt: skip

    def __init__(self, answers: bool = False) -> None:
        self.answers = answers
        self.state = START
        self.held = False
        self.methods: deque[str] = deque()
        self._buffer = bytearray()  # bytes not read yet
        self._position = 0  # in the stream, of its first byte
        self._at = 0  # in the buffer, of the next byte to read
        self._scanned = 0  # up to here no end of a head was found
        self._left = 0  # bytes of the body or chunk still to come
        self._trailers = 0
        self._begin = 0  # of the junk
        self._preview = b""
        self._broken = False  # the last message broke off

    @property
    def needed(self) -> int:
        """Position of the earliest byte that a later piece may begin with."""
        return self._begin if self.state == LOST else self._position

    @property
    def astray(self) -> bool:
        """Whether what stands behind the last message is certainly no head, as far as it is there."""
        if self.state != START or self._at >= len(self._buffer):
            return self.state == LOST
        start = bytes(self._buffer[self._at : self._at + 64]).lstrip(b"\r\n")
        if self.answers:
            return not start.startswith(b"HTTP/"[: len(start)])
        return _METHOD_BEGINS.match(start) is None

    def feed(self, data: bytes) -> list[Piece]:
        """What these bytes complete."""
        pieces: list[Piece] = []
        if self.state == OPAQUE:
            self._position += len(data)
            return pieces
        self._buffer += data
        if self.held:
            if len(self._buffer) > HOLD_LIMIT:
                self.tunnel()
            return pieces
        self._run(pieces)
        return pieces

    def release(self) -> list[Piece]:
        """The answer to a CONNECT or Upgrade was no: what was held is HTTP after all."""
        pieces: list[Piece] = []
        self.held = False
        self._run(pieces)
        return pieces

    def tunnel(self) -> None:
        """From here on it is another protocol."""
        self.held = False
        self.state = OPAQUE
        self._position += len(self._buffer)
        self._buffer.clear()

    def finish(self) -> list[Piece]:
        """The stream ended."""
        pieces: list[Piece] = []
        if self.held:
            pieces += self.release()
        at, state = self._position + len(self._buffer), self.state
        if state == START:
            blank = len(self._buffer) - len(self._buffer.lstrip(b"\r\n"))
            if blank < len(self._buffer):
                self._lose(blank)
                self._end_junk(pieces, at)
        elif state == LOST:
            self._end_junk(pieces, at)
        elif state != OPAQUE:
            pieces.append(Piece(END, at, at, whole=state == UNTIL_CLOSE))
        self.state = OPAQUE
        self._position = at
        self._buffer.clear()
        return pieces

    def gap(self, size: int) -> list[Piece]:
        """The recorder lost `size` bytes (0: nobody knows how many) of this stream."""
        pieces: list[Piece] = []
        if self.state == OPAQUE or self.state == UNTIL_CLOSE:
            return pieces
        if self.state in (LENGTH, CHUNK_DATA) and 0 < size < self._left:
            self._left -= size
            return pieces
        at = self._position + len(self._buffer)
        if self.state == LOST:
            return pieces
        if self.state != START:
            pieces.append(Piece(END, at, at, whole=False))
        self.held = False
        self._broken = True
        self._lose(0)
        return pieces

    # -- the machine ----------------------------------------------------------------------------------------------

    def _run(self, pieces: list[Piece]) -> None:
        while _STEP[self.state](self, pieces):
            pass
        if self._at:
            del self._buffer[: self._at]
            self._position += self._at
            self._scanned = max(0, self._scanned - self._at)
            self._at = 0

    def _start(self, pieces: list[Piece]) -> bool:
        buffer = self._buffer
        at, size = self._at, len(buffer)
        while at < size and buffer[at] in (10, 13):  # left over from a body, or sent to keep the connection
            at += 1
        self._at = at
        if at == size or self.held:
            return False
        line_end = buffer.find(b"\n", at, at + LINE_LIMIT)
        if line_end < 0:
            return size - at >= LINE_LIMIT and self._lose(0, tried=True)
        head = Head()
        if self._scanned < line_end and not self._start_line(head, buffer[at:line_end]):
            return self._lose(0, tried=True)
        blank = _BLANK.search(buffer, max(line_end, self._scanned), at + HEAD_LIMIT)
        if blank is None:
            self._scanned = max(line_end, size - 2)
            if size - at < HEAD_LIMIT:
                return False
            self._lose(0)
            self._at += HEAD_LIMIT  # looking into it for another head would cost as much again for each
            return True
        if not head.http:
            self._start_line(head, buffer[at:line_end])
        self._broken = False
        head.read(bytes(buffer[line_end + 1 : blank.start() + 1]))
        pieces.append(Piece(HEAD, self._position + at, self._position + blank.end(), head))
        self._at = blank.end()
        self._scanned = 0
        self._frame(head, pieces)
        return True

    def _start_line(self, head: Head, raw: bytearray) -> bool:
        line = raw.decode("latin-1").rstrip("\r\t ")
        return head.read_status(line) if self.answers else head.read_request(line)

    def _frame(self, head: Head, pieces: list[Piece]) -> None:
        """How the body of this message is delimited."""
        method = ""
        if self.answers and (head.status >= 200 or head.status == 101):
            method = self.methods.popleft() if self.methods else ""
            if head.status == 101 or (method == "CONNECT" and head.status < 300):
                self.state = OPAQUE
                return
        chunked, coded = head.transfer()
        length = head.length()
        if self.answers and (head.status < 200 or head.status in (204, 304) or method == "HEAD"):
            self._done(pieces)
        elif chunked:
            self.state = CHUNK_SIZE
            if length is not None:
                head.odd.append("content-length beside transfer-encoding")
        elif length is not None and not coded:
            self.state, self._left = LENGTH, length
            if not length:
                self._done(pieces)
        elif self.answers:
            self.state = UNTIL_CLOSE
        else:
            self.held = head.method == "CONNECT" or head.upgrades()
            self._done(pieces)

    def _done(self, pieces: list[Piece], whole: bool = True) -> None:
        at = self._position + self._at
        pieces.append(Piece(END, at, at, whole=whole))
        self.state = START
        self._broken = not whole
        self._scanned = 0

    def _length_body(self, pieces: list[Piece]) -> bool:
        self._take(pieces, self._left)
        if not self._left:
            self._done(pieces)
            return True
        return False

    def _chunk_size(self, pieces: list[Piece]) -> bool:
        line_end = self._line_end(LINE_LIMIT)
        if line_end == _NOT_YET:
            return False
        size_line = _CHUNK_SIZE.match(self._buffer, self._at) if line_end >= 0 else None
        if size_line is None:
            self._done(pieces, whole=False)
            return self._lose(0)
        self._at = size_line.end()
        self._left = int(size_line[1], 16)
        self._trailers = 0
        self.state = CHUNK_DATA if self._left else TRAILERS
        return True

    def _chunk_data(self, pieces: list[Piece]) -> bool:
        self._take(pieces, self._left)
        if not self._left:
            self.state = CHUNK_END
            return True
        return False

    def _chunk_end(self, pieces: list[Piece]) -> bool:
        start = self._buffer[self._at : self._at + 2]
        if start == b"\r\n" or start[:1] == b"\n":
            self._at += 1 if start[:1] == b"\n" else 2
            self.state = CHUNK_SIZE
            return True
        if not start or start == b"\r":
            return False
        self._done(pieces, whole=False)
        return self._lose(0)

    def _trailer_lines(self, pieces: list[Piece]) -> bool:
        line_end = self._line_end(HEAD_LIMIT - self._trailers)
        if line_end == _NOT_YET:
            return False
        if line_end < 0:
            self._done(pieces, whole=False)
            return self._lose(0)
        blank = bytes(self._buffer[self._at : line_end]) in (b"", b"\r")
        self._trailers += line_end + 1 - self._at
        self._at = line_end + 1
        if blank:
            self._done(pieces)
        return True

    def _line_end(self, limit: int) -> int:
        """Where the line ends, _NOT_YET while that is not known, _NEVER when it is longer than the limit."""
        at, size = self._at, len(self._buffer)
        found = self._buffer.find(b"\n", max(at, self._scanned), at + limit)
        if found < 0:
            self._scanned = min(size, at + limit)
            return _NOT_YET if size - at < limit else _NEVER
        return found

    def _until_close(self, pieces: list[Piece]) -> bool:
        self._take(pieces, len(self._buffer))
        return False

    def _take(self, pieces: list[Piece], most: int) -> None:
        size = min(most, len(self._buffer) - self._at)
        if size > 0:
            begin = self._position + self._at
            data = bytes(self._buffer[self._at : self._at + size])
            pieces.append(Piece(DATA, begin, begin + size, data=data))
            self._at += size
            self._left -= size

    # -- lost, and found again --------------------------------------------------------------------------------------

    def _lose(self, skip: int, tried: bool = False) -> bool:
        """Bytes that cannot be read begin `skip` bytes on; `tried`: a head was looked for at the first of them."""
        self._at += skip
        self.state = LOST
        self._begin = self._position + self._at
        self._preview = bytes(self._buffer[self._at : self._at + PREVIEW])
        self._left = 0
        self._scanned = 0
        self._at += tried
        return True

    def _lost(self, pieces: list[Piece]) -> bool:
        """Look for a plausible head. It lies within one line, so that each is looked at once, when it is complete."""
        buffer = self._buffer
        if len(self._preview) < PREVIEW:
            known = self._begin + len(self._preview) - self._position
            self._preview += bytes(buffer[known : known + PREVIEW - len(self._preview)])
        pattern = _PLAUSIBLE_ANSWER if self.answers else _PLAUSIBLE_REQUEST
        while (line_end := buffer.find(b"\n", max(self._at, self._scanned))) >= 0:
            found = pattern.search(buffer, self._at, line_end + 1)
            if found is not None:
                self._at = found.start()
                self._end_junk(pieces, self._position + self._at)
                return True
            self._at = line_end + 1
        self._scanned = len(buffer)
        self._at = max(self._at, len(buffer) - _TAIL)
        return False

    def _end_junk(self, pieces: list[Piece], end: int) -> None:
        if end > self._begin:
            preview = self._preview[: end - self._begin]
            pieces.append(Piece(JUNK, self._begin, end, data=preview, whole=not self._broken))
            if self.answers and not self._broken and self.methods:
                self.methods.popleft()  # it stands where the answer to that request should be
        self.state = START
        self._scanned = 0
        self._preview = b""

    def _opaque(self, pieces: list[Piece]) -> bool:
        self._at = len(self._buffer)
        return False


_STEP = {
    START: HttpReader._start,
    LENGTH: HttpReader._length_body,
    CHUNK_SIZE: HttpReader._chunk_size,
    CHUNK_DATA: HttpReader._chunk_data,
    CHUNK_END: HttpReader._chunk_end,
    TRAILERS: HttpReader._trailer_lines,
    UNTIL_CLOSE: HttpReader._until_close,
    LOST: HttpReader._lost,
    OPAQUE: HttpReader._opaque,
}


def plausible(start: bytes, answers: bool) -> bool:
    """Whether bytes look like the beginning of a request, or of an answer."""
    return (_PLAUSIBLE_ANSWER if answers else _PLAUSIBLE_REQUEST).match(start) is not None
