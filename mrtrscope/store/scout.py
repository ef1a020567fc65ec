"""Goes through what the analysis read, and writes down what is secret in it by its name; see `store.secrecy`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from mrtrscope.store import secrecy
from mrtrscope.store.secret import (
    ANSWERED,
    ASKED,
    COMMON,
    DEEPEST,
    GIVEN_IN,
    INSIDE,
    LONG,
    SHORTEST,
    is_schema,
    is_secret_name,
    is_told,
    says_secret,
)
from mrtrscope.store.text import plain
from mrtrscope.wire.events import Message, NonMessage

if TYPE_CHECKING:
    from mrtrscope.pipeline import Batch
    from mrtrscope.wire.events import Event, HttpExchange

MOST: Final = 200_000  # values of one capture, the first; more are told by their names alone
_KEPT: Final = 20_000  # values known to be in the table
_ADDRESSES: Final = re.compile(r"://[^\s\"'<>\\]{1,2000}")
_LOOKED: Final = 1 << 20  # bytes of a message that are looked through for addresses
_HEADERS: Final = 4_000  # headers that are known to have been looked at: most come with every request
_NAMES: Final = 4_000  # names of members that are known to be harmless
_NAME: Final = 200  # characters of one that is kept
_SAYS: Final = ("format", "writeOnly")  # members of a schema that may say that what is given for it is secret
_NONE: Final[frozenset[str]] = frozenset()
_INSERT = "insert or ignore into secrets values (?, ?, ?, ?, ?)"


class Secrecy:
    """Writes what is secret in each batch into the tables `secrets` and `secret_fields`."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self.forget()

    def forget(self) -> None:
        """What is known of the tables is not so any more."""
        self._scout = Scout(self._learn)
        self._salt: bytes | None = None
        self._room = 0
        self._known: set[str] = set()
        self._found: dict[str, str] = {}

    def _begin(self) -> bytes:
        self._room = MOST - int(self._conn.execute("select count(*) from secrets").fetchone()[0])
        fields = self._conn.execute("select name from secret_fields")
        self._scout.fields = {str(name) for (name,) in fields}
        return secrecy.salt_of(self._conn)

    def write(self, batch: Batch, first: int) -> None:
        """Add what this batch names; `first` is the id of its first message."""
        if self._salt is None:
            self._salt = self._begin()
        look, fields = self._scout.event, self._scout.fields
        for id, (message, _, _) in enumerate(batch.messages, first):
            before = len(fields)
            look(message)
            if len(fields) > before:
                self._write_fields(id)
        for event in batch.events:
            look(event)
        if self._found:
            made = (secrecy.row(self._salt, value, why) for value, why in self._found.items())
            rows = [row for row in made if row is not None]
            self._found.clear()
            if rows and self._room > 0:
                self._room -= self._conn.executemany(_INSERT, rows[: self._room]).rowcount

    def _write_fields(self, since: int) -> None:
        self._conn.executemany(
            "insert or ignore into secret_fields values (?, ?)",
            [(plain(name), since) for name in self._scout.fields],
        )

    def take_back(self, mark: int) -> None:
        """Forget the fields that messages behind this id described. Values will be told the same again."""
        self._conn.execute("delete from secret_fields where since > ?", (mark,))
        self.forget()

    def _learn(self, value: str, why: str) -> None:
        if len(value) <= secrecy.LONGEST and value not in self._known:  # longer ones would only be kept here
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known.add(value)
            self._found[value] = why


class Scout:
    """Goes through messages and heads, and tells each value that is secret by its name, and why.

    fields   names of form fields of which a schema said that they are secret
    """

    def __init__(self, learn: Callable[[str, str], None], fields: set[str] | None = None) -> None:
        self._learn = learn
        self.fields = set() if fields is None else fields
        self._headers: set[tuple[str, str]] = set()
        self._names: set[str] = set()  # of members, known to be harmless

    def event(self, event: Event) -> None:
        """A message, or what stood in the place of one, and the heads around it."""
        if isinstance(event, Message):
            body = event.body
            if type(body) is dict:
                if not self._harmless(body):
                    self._members(body, 0, False, "")
            elif type(body) is list:
                self.value(body)
            if b"://" in event.raw and b"=" in event.raw:
                for match in _ADDRESSES.finditer(event.raw[:_LOOKED].decode("utf-8", "replace")):
                    self._address(f"url{match[0]}")  # which scheme it has is all one
        elif isinstance(event, NonMessage):
            self._pairs(event.raw.decode("utf-8", "backslashreplace"))
        if event.http is not None:
            self._heads(event.http)

    def _harmless(self, body: dict[str, Any]) -> bool:
        """True where no member, however deep, has a name that could tell a secret: nearly always, and soon seen."""
        names, fields, within = self._names, self.fields, [body]
        for value in within:
            if not names.issuperset(value) and not self._harmless_names(value):
                return False
            if fields and not fields.isdisjoint(value):
                return False
            for item in value.values():
                if type(item) is dict:
                    within.append(item)
                elif type(item) is list:
                    for one in item:
                        if type(one) is dict:
                            within.append(one)
                        elif type(one) is list:
                            return False
        return True

    def _harmless_names(self, value: dict[str, Any]) -> bool:
        if len(self._names) >= _NAMES:
            self._names.clear()
        for name in value:
            if name in _SAYS or is_secret_name(name):
                return False
            if len(name) <= _NAME:
                self._names.add(name)
        return True

    def _heads(self, http: HttpExchange) -> None:
        seen = self._headers
        for name, value in (("", http.url), *http.request_headers, *http.response_headers):
            if (name, value) not in seen:
                if len(value) <= secrecy.LONGEST:  # others are as good as never the same
                    if len(seen) >= _HEADERS:
                        seen.clear()
                    seen.add((name, value))
                if name:
                    self.header(name, value)
                else:
                    self._address(value)

    def header(self, name: str, value: str) -> None:
        """One header."""
        if not is_secret_name(name):
            if "://" in value:
                self._address(value)
            return
        if value.endswith("…") or value.startswith("\0"):
            return  # of a checkpoint: what it was is not known any more
        why = f"value of {name[:80]}"
        self._told(value, why)
        for part in value.split(";"):  # a cookie's value, or what follows the scheme
            secret = part.strip().partition("=" if "cookie" in name.lower() else " ")[2]
            if len(secret) >= LONG:
                self._told(secret, why)

    def _address(self, text: str) -> None:
        if "@" not in text and "=" not in text:
            return
        try:
            url = urlsplit(text)
            password = url.password
        except ValueError:
            return
        if password:
            self._told(unquote(password), "password in an address")
        self._pairs(url.query)

    def _pairs(self, text: str) -> None:
        """A query, or a form."""
        if "=" in text and " " not in text:
            for name, value in parse_qsl(text[:100_000]):
                if is_secret_name(name) and len(value) >= LONG:
                    self._told(value, f"value of {name[:80]}")

    def value(self, value: Any, depth: int = 0, secret: bool = False, within: str = "") -> None:
        """A JSON value. secret: it stands inside a hidden one; within: name of the member that it is the value of."""
        if type(value) is dict:
            self._members(value, depth, secret, within)
        elif type(value) is list:
            if depth <= DEEPEST:
                for item in value:
                    self.value(item, depth + 1, secret)
        elif secret:
            self._inside(value)

    def _members(self, value: dict[str, Any], depth: int, secret: bool, within: str) -> None:
        if depth > DEEPEST:
            return
        hidden = self.fields if within in GIVEN_IN else _NONE
        for name, item in value.items():
            if type(item) is dict:
                self._member(name, item, depth, secret or name in hidden, within)
            elif type(item) is list:
                self.value(item, depth + 1, secret or name in hidden or is_secret_name(name), name)
            elif secret or name in hidden:
                self._inside(item)
            elif is_secret_name(name) and is_told(name, item):
                self._told(str(item), f"value of {name[:80]}")

    def _member(self, name: str, value: dict[str, Any], depth: int, secret: bool, within: str) -> None:
        """An object that is the value of a member, or the description of a form field of this name."""
        if is_schema(value):
            told = says_secret(value)
            if told:
                self.fields.add(name)
            self._members(value, depth + 1, secret, "")
            if "default" in value and (told or is_secret_name(name)):
                self.value(value["default"], depth + 2, True)
        elif within == ASKED:
            self._members(value, depth + 1, secret, name)  # a question for a secret is none
        elif within == ANSWERED and is_secret_name(name):
            for key, item in value.items():
                inside = secret or key != "action"
                if type(item) is dict:
                    self._member(key, item, depth + 1, inside, name)
                else:
                    self._members({key: item}, depth + 1, inside, name)
        else:
            self._members(value, depth + 1, secret or is_secret_name(name), name)

    def _inside(self, value: Any) -> None:
        if value not in (None, "") and value not in COMMON:
            self._told(str(value), INSIDE)

    def _told(self, value: str, why: str) -> None:
        if len(value) >= SHORTEST:
            self._learn(value, why)
