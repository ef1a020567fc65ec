"""What must not be shown, found by name and by value, and the numbered stand-ins shown in its place.

Pure: a `Redactor` belongs to one view (a picture, a report); equal values get equal stand-ins in it, so that links can
still be followed, and nothing can be worked back from a number. Verdicts are reached before, on the real values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Protocol

from mrtrscope.store.secret import (
    ANSWERED,
    ASKED,
    COMMON,
    DEEPEST,
    ERROR_CODE,
    GIVEN_IN,
    INSIDE,
    SHORTEST,
    is_schema,
    is_secret_name,
    is_told,
    says_secret,
)

# Whatever `is_secret_name` says yes to, and a schema that says so of its field, has one of these in it.
_MARKS: Final = (
    "pass", "pwd", "phrase", "secret", "credential", "key", "auth", "bearer", "cookie", "session", "sid", "otp", "pin",
    "cvv", "cvc", "card", "pan", "iban", "ssn", "social", "mfa", "time", "code", "verifi", "assertion", "jwt",
    "mnemonic", "writeonly", "\\u", "%",
)  # fmt: skip

# Values that are secrets under any name.
_OTHER_VALUES: Final = (
    r"\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}\b|\bya29\.[\w-]{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:\b(?:bearer|basic)\s+)(?:[\w.~+/=-]{16,}|(?=[\w.~+/=-]{0,16}\d)[\w.~+/=-]{8,})"  # not "Bearer challenge"
    r"|(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"  # user:password@ in an address,
    r"|(?<=://)[^\s/@:?#]{12,200}(?=@)"  # or a token alone
    r"|(?i:(?<=[?&])(?:access_token|token|api_key|apikey|key|secret|password|signature|sig|code)=)[^\s&#]+"
)
_SECRET_VALUES: Final = re.compile(
    r"eyJ[\w-]{8,}+\.[\w-]{4,}+\.[\w-]*"  # JSON Web Token
    r"|(?P<none>eyJ(?:[\w-]*eyJ)?)"  # where the first eyJ of a word begins none, no other in it does
    r"|" + _OTHER_VALUES
)
_WITHIN: Final = re.compile(_OTHER_VALUES)
# Inside running text: a name, a sign, a value. JSON inside a string has its quotes escaped.
_GIVEN: Final = r"""(?!‹hidden)(?P<value>[^\s"',;&\\{}\[\]]{4,})"""
_ASSIGNED: Final = re.compile(
    r"""(?P<before>(?P<name>[\w-]{2,40})(?:\\?["']\s?:\s?\\?["']?|\s?=\s?\\?["']?))""" + _GIVEN
)
_SAID: Final = re.compile(r"""(?P<before>(?P<name>[\w-]{2,40})\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)""" + _GIVEN)
REMEMBERED: Final = 200_000  # such values, the first
FEW: Final = 24  # values up to which each is looked for; among more only those whose first word is there
_WORD: Final = re.compile(r"\w+")


def may_name_a_secret(text: str) -> bool:
    """False when no name in this JSON text or prose can be that of a secret: most messages need no closer look."""
    text = text.lower()
    return text.count("token") > text.count("progresstoken") or any(mark in text for mark in _MARKS)


class Everywhere(Protocol):
    """What is secret in the whole of a capture (see `store.secrecy.Known`)."""

    @property
    def fields(self) -> frozenset[str]: ...

    def find(self, text: str) -> Iterable[tuple[str, str]]: ...


class Redactor:
    """Hides secrets; `raw` hides nothing.

    known    what is named in messages that are not shown here

    hidden   stand-in -> what it stands for, in words ("value of password", "JSON Web Token in text"): the list that a
             report prints; never the value
    """

    def __init__(self, raw: bool = False, known: Everywhere | None = None) -> None:
        self.raw = raw
        self._everywhere = known
        self.hidden: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        # Short texts in which there is nothing to hide: most come again and again.
        self._clean: set[str] = set()
        # Values hidden by name, which may stand elsewhere too -> what they are.
        self._told: dict[str, str] = {}
        # The same by their first word; "" for those that begin otherwise.
        self._by_word: dict[str, list[str]] = {}
        # names of form fields of which a schema says that they are secret
        self.fields: set[str] = set(known.fields) if known is not None else set()

    def stand_in(self, value: str, why: str) -> str:
        """The stand-in of a value, the same each time."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = f"‹hidden {len(self._numbers) + 1}›"
            self.hidden[known] = why
        return known

    def known(self, value: str) -> str | None:
        """The stand-in of a value that was hidden before, or would be."""
        self._look_up(value)
        return self.stand_in(value, self._told[value]) if value in self._told else self._numbers.get(value)

    @property
    def count(self) -> int:
        """How many values are hidden so far."""
        return len(self._numbers)

    @property
    def known_values(self) -> int:
        """How many values and fields it knows to be secret wherever they stand."""
        return len(self._told) + len(self.fields)

    def learn(self, value: str, why: str) -> str:
        """The stand-in of a value that is secret by its name, and is hidden from now on wherever else it stands."""
        self.remember(value, why)
        return self.stand_in(value, why)

    def remember(self, value: str, why: str) -> None:
        """Have this value hidden wherever it stands; it gets a stand-in when it is shown."""
        if len(value) >= SHORTEST and value not in self._told and len(self._told) < REMEMBERED:
            self._told[value] = why
            word = _WORD.match(value)
            whole = (
                word is not None and value[0].isalnum() and (value[-1].isalnum() or word.end() < len(value))
            )
            self._by_word.setdefault(word[0] if word is not None and whole else "", []).append(value)
            self._clean.clear()

    def text(self, text: str) -> str:
        """Running text with the secrets in it replaced."""
        if self.raw or len(text) < SHORTEST or text in self._clean:
            return text
        shown = self._text(text)
        if shown == text and len(text) < 200 and len(self._clean) < 20_000:
            self._clean.add(text)
        return shown

    def _text(self, text: str) -> str:
        for value in self._standing_in(text):
            text = self._without(value, text)
        if len(text) < 8:
            return text
        text = _SECRET_VALUES.sub(self._looks, text)
        if "=" in text or "':" in text or '":' in text or '" :' in text:
            return _ASSIGNED.sub(self._assigned, text)
        return text

    def _without(self, value: str, text: str) -> str:
        """The text without a value. Not inside a longer word: "secret1" in "secret10" is another value."""
        out: list[str] = []
        done, at = 0, text.find(value)
        while at >= 0:
            end = at + len(value)
            before = at > 0 and value[0].isalnum() and _in_word(text[at - 1])
            after = end < len(text) and value[-1].isalnum() and _in_word(text[end])
            if not (before or after):
                out += [text[done:at], self.stand_in(value, self._told[value])]
                done = end
            at = text.find(value, end if done == end else at + 1)
        return "".join([*out, text[done:]])

    def _looks(self, match: re.Match[str]) -> str:
        if match.re is _SECRET_VALUES and match["none"]:
            return _WITHIN.sub(self._looks, match[0])
        return self.stand_in(match[0], "looks like a credential")

    def _standing_in(self, text: str) -> list[str]:
        """Values told before that may be in the text, the longest first."""
        self._look_up(text)
        if len(self._told) <= FEW:
            found = [value for value in self._told if value in text]
        else:
            words = {"", *_WORD.findall(text)} & self._by_word.keys()
            found = [value for word in words for value in self._by_word[word] if value in text]
        return sorted(found, key=len, reverse=True) if len(found) > 1 else found

    def _look_up(self, text: str) -> None:
        """Remember what is in this text and is named elsewhere in the capture."""
        if self._everywhere is not None:
            for value, why in self._everywhere.find(text):
                self.remember(value, why)

    def leaves(self, text: str) -> bool:
        """True when nothing in this JSON text or prose is to be hidden; False when that needs a closer look."""
        return self.raw or not (
            may_name_a_secret(text)
            or self._standing_in(text)
            or any(name in text for name in self.fields)
            or _SECRET_VALUES.search(text)
        )

    def prose(self, text: str) -> str:
        """Text that is no JSON (logs, broken messages): also what follows a name and a colon, `password: …`."""
        return text if self.raw else _SAID.sub(self._assigned, self.text(text))

    def _assigned(self, match: re.Match[str]) -> str:
        if not is_secret_name(match["name"]) or (
            match["name"] == "code" and ERROR_CODE.fullmatch(match["value"])
        ):
            return match[0]  # the code of an error is a number
        return match["before"] + self.stand_in(match["value"], f"value of {match['name']} in text")

    def scalar(self, name: str, value: Any, inside: bool) -> Any:
        """A string, number, true, false or null that is a member of this name, or stands inside a secret member."""
        if self.raw:
            return value
        if inside:
            if value in (None, ""):
                return value
            hide = self.stand_in if value in COMMON else self.learn
            return hide(str(value), INSIDE)
        if is_told(name, value):
            return self.learn(str(value), f"value of {name[:80]}")
        return self.text(value) if isinstance(value, str) else value

    def named(self, name: str, value: Any) -> Any:
        """The value of a member of this name: hidden as a whole when the name says so, else looked through."""
        if isinstance(value, (dict, list)):
            return self.value(value, secret=is_secret_name(name) or name in self.fields)
        return self.scalar(name, value, name in self.fields)

    def value(self, value: Any, depth: int = 0, secret: bool = False, within: str = "") -> Any:
        """A JSON value with everything secret in it replaced; what is deeper than 64 levels is left out.

        within   name of the member that it is the value of
        """
        if self.raw:
            return value
        if not isinstance(value, (dict, list)):
            return self.scalar("", value, secret)
        if depth > DEEPEST:
            return "…"
        if isinstance(value, dict):
            hidden = self.fields if within in GIVEN_IN else ()
            return {
                self.text(str(k)): self.member(str(k), v, depth, secret or k in hidden, within)
                for k, v in value.items()
            }
        return [self.value(v, depth + 1, secret) for v in value]

    def member(self, name: str, value: Any, depth: int = 0, secret: bool = False, within: str = "") -> Any:
        """The value of a member of this name, or the description of a form field of this name."""
        if isinstance(value, dict) and is_schema(value):
            # A form field of that name, not its value.
            told = says_secret(value)
            if told:
                self.fields.add(name)
            shown = self.value(value, depth + 1, secret)
            if (told or is_secret_name(name)) and "default" in value and isinstance(shown, dict):
                shown["default"] = self.value(value["default"], depth + 2, True)
            return shown
        if isinstance(value, dict) and within == ASKED:
            return self.value(value, depth + 1, secret, name)  # a question for a secret is none
        if isinstance(value, dict) and within == ANSWERED and is_secret_name(name):
            return {
                self.text(str(k)): self.member(str(k), v, depth + 1, secret or k != "action", name)
                for k, v in value.items()
            }
        if isinstance(value, (dict, list)):
            return self.value(value, depth + 1, secret or is_secret_name(name), name)
        return self.scalar(name, value, secret)


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
