"""Heads of HTTP messages: header lines as text, and what they say about the body."""

from __future__ import annotations

import re

_HTTP = re.compile(r"HTTP/1(?:\.[0-9])?")
_METHOD = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]{1,64}")

Headers = list[tuple[str, str]]
Fields = dict[str, list[str]]  # lower-case names to all their values


class Head:
    """A start line and its headers; `odd` says what was wrong with them, as far as it could be read all the same."""

    __slots__ = ("fields", "headers", "http", "method", "odd", "reason", "status", "target")

    def __init__(self) -> None:
        self.http = ""
        self.method = ""
        self.target = ""
        self.status = 0
        self.reason = ""
        self.headers: Headers = []
        self.fields: Fields = {}
        self.odd: list[str] = []

    def read_request(self, line: str) -> bool:
        """Take in a request line; False when it is none. By hand: a pattern could be made to try for hours."""
        front, _, http = line.rpartition(" ")
        method, _, target = front.partition(" ")
        if _HTTP.fullmatch(http) is None or _METHOD.fullmatch(method) is None:
            return False
        self.method, self.target, self.http = method, target.strip(" "), http
        return True

    def read_status(self, line: str) -> bool:
        """Take in a status line; False when it is none."""
        http, _, rest = line.partition(" ")
        rest = rest.lstrip(" ")
        status, after = rest[:3], rest[3:]
        if _HTTP.fullmatch(http) is None or not (status.isascii() and status.isdigit() and len(status) == 3):
            return False
        if after and after[0] not in " \t":
            return False
        self.http, self.status, self.reason = http, int(status), after[1:]
        return True

    def read(self, block: bytes) -> None:
        """Take in the header lines."""
        headers = self.headers
        for raw in block.decode("latin-1").split("\n"):
            line = raw[:-1] if raw[-1:] == "\r" else raw
            if not line:
                continue
            name, colon, value = line.partition(":")
            if line[0] in " \t":
                if headers:
                    name, value = headers[-1]
                    headers[-1] = (name, f"{value} {line.strip(' \t')}".strip())
                    self.odd.append("folded header")
                else:
                    self.odd.append("white space before the first header")
            elif colon:
                headers.append((name.rstrip(" \t"), value.strip(" \t")))
            else:
                self.odd.append("header without colon")
        self.fields = fields_of(headers)

    def transfer(self) -> tuple[bool, bool]:
        """Whether the body is chunked, and whether its end is told by something else than a length."""
        coded = [word for word in words(self.fields, "transfer-encoding") if word != "identity"]
        if coded and coded[-1] != "chunked":
            self.odd.append("transfer-encoding does not end in chunked")
        return bool(coded) and coded[-1] == "chunked", bool(coded)

    def length(self) -> int | None:
        """The first Content-Length that is a number."""
        values = words(self.fields, "content-length")
        lengths = [
            int(value) for value in values if value.isdecimal() and value.isascii() and len(value) < 19
        ]
        if len(lengths) != len(values):
            self.odd.append("content-length is no number")
        if len(set(lengths)) > 1:
            self.odd.append("contradicting content-lengths")
        return lengths[0] if lengths else None

    def framing(self) -> str:
        """What is wrong with how the head tells where the body ends, "" when nothing is."""
        given, coded = self.fields.get("content-length"), "transfer-encoding" in self.fields
        if given is None or (len(given) == 1 and not coded and given[0].isascii() and given[0].isdigit()):
            return ""
        values = words(self.fields, "content-length")
        if len(set(values)) > 1:
            return f"Content-Length says {' and '.join(value[:20] for value in values[:4])}"
        if not all(value.isascii() and value.isdigit() for value in values):
            return "Content-Length is no number"
        return "Content-Length stands beside Transfer-Encoding" if coded else ""

    def upgrades(self) -> bool:
        """Whether another protocol is asked for."""
        return "upgrade" in self.fields and "upgrade" in words(self.fields, "connection")


def fields_of(headers: Headers) -> Fields:
    """Header values by lower-case name."""
    fields: Fields = {}
    for name, value in headers:
        lower = name.lower()
        if lower in fields:
            fields[lower].append(value)
        else:
            fields[lower] = [value]
    return fields


def words(fields: Fields, name: str) -> list[str]:
    """The elements of a header that is a list, in lower case."""
    values = fields.get(name)
    if values is None:
        return []
    return [word for value in values for part in value.lower().split(",") if (word := part.strip())]


def essence(fields: Fields) -> str:
    """The media type without parameters, "" when there is none."""
    values = fields.get("content-type")
    return values[0].split(";", 1)[0].strip().lower() if values else ""


def is_json(kind: str) -> bool:
    """Whether a media type says JSON; "" says nothing, so it may be."""
    return not kind or (kind.startswith(("application/", "text/")) and "json" in kind)


def codings(fields: Fields, transfer: bool = True) -> list[str]:
    """Codings of a body in the order in which they were put on, `chunked` and `identity` left out."""
    found = words(fields, "content-encoding")
    if transfer:
        found += words(fields, "transfer-encoding")
    names = [word.split(";")[0].strip() for word in found]
    return [name for name in names if name and name not in ("identity", "chunked")]


def content_length(fields: Fields) -> int:
    """The Content-Length when it tells where the body ends, else -1."""
    values = fields.get("content-length")
    if values is None or "transfer-encoding" in fields:
        return -1
    value = values[0]
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else -1
