"""The frame: what was observed on one lane, untouched. Everything else is computed from frames.

A *lane* is one ordered byte stream. Its name is ``<number><role>``, where the role is one letter:

    i   a child's stdin            c2s      c   bytes of a TCP connection, client to server   c2s
    o   a child's stdout           s2c      s   bytes of a TCP connection, server to client   s2c
    e   a child's stderr           s2c      q   one HTTP request                              c2s
    z   the recorder itself        -        a   the answer to the HTTP request of that number s2c

The number of ``i``, ``o`` and ``e`` is that of the process, of ``c`` and ``s`` that of the connection, of ``q`` and
``a`` that of the HTTP exchange; numbers are unique within a journal.

A *kind* says what the payload is:

    data   bytes as one read brought them
    sent   bytes that were passed on *instead of* the data frame before it on this lane (somebody edited them)
           on an HTTP lane of the addon, also after its end: what was passed on instead of the whole body
    open   JSON object about the lane: addresses, connection, flow, upstream
    head   JSON object: the head of an HTTP request (lane q) or answer (lane a)
    end    the lane ended; JSON object, all optional ``{"by": "client"|"server"|"us"|"upstream"|"open", "error": text}``
    gap    JSON object, what the recorder lost: ``{"bytes": n, "frames": n, "why": text}``
    exit   JSON object, a process ended: ``{"code": n}`` or ``{"signal": n}``; where the recorder itself was sent a
           signal that ends, ``{"sent": n, "ago": µs, "by": "client"|"terminal"|"other"}`` with it: which, how long
           before, who sent it (the process that started the recorder; a key; another process; absent when unknown)
    note   JSON object, said by the recorder about itself; on a lane q, ``{"edited": head}``: the head passed on

This module imports nothing, so that the processes that carry traffic may use it.
"""

DATA, SENT, OPEN, HEAD, END, GAP, EXIT, NOTE = "data", "sent", "open", "head", "end", "gap", "exit", "note"
KINDS = frozenset({DATA, SENT, OPEN, HEAD, END, GAP, EXIT, NOTE})

ENDED = ("code", "signal", "sent", "ago", "by")  # members of an exit

C2S, S2C = "c2s", "s2c"
DIRECTION = {"i": C2S, "c": C2S, "q": C2S, "o": S2C, "s": S2C, "a": S2C, "e": S2C, "z": S2C}


class Frame:
    """One record of a journal, or what a transcript says in its place.

    journal  name of the journal or transcript it was read from
    offset   where it begins there, bytes in a journal, else the running number; with `journal` its permanent key
    number   how many frames of this journal came before it
    t        microseconds since the Unix epoch on the capture's own clock (never stepped; see `journal`)
    lane, kind, data   as above
    place    where it stands in a transcript (``{"line": n}`` or ``{"flow": n}``), None for a journal
    """

    __slots__ = ("data", "journal", "kind", "lane", "number", "offset", "place", "t")

    def __init__(
        self,
        journal: str,
        offset: int,
        number: int,
        t: int,
        lane: str,
        kind: str,
        data: bytes,
        place: dict[str, int] | None = None,
    ) -> None:
        self.journal = journal
        self.offset = offset
        self.number = number
        self.t = t
        self.lane = lane
        self.kind = kind
        self.data = data
        self.place = place

    @property
    def key(self) -> str:
        """The permanent key, ``journal:offset``."""
        return f"{self.journal}:{self.offset}"

    def __repr__(self) -> str:
        return f"Frame({self.key} {self.lane} {self.kind} t={self.t} {self.data[:60]!r})"
