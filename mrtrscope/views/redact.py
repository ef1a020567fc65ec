"""What must not be shown, found by name and by value, and the numbered stand-ins shown in its place.

Pure: a `Redactor` belongs to one view (a picture, a report); equal values get equal stand-ins in it, so that links can
still be followed, and nothing can be worked back from a number. Verdicts are reached before, on the real values.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

# Names of members, form fields and headers whose value is a secret, however it looks. Matched on the name in lower case
# with everything but letters and digits taken out.
_SECRET_NAMES: Final = re.compile(
    r"passw|passphrase|passcode|(^|[^a-z])pwd|secret|credential|apikey|accesskey|privatekey|signingkey|authorization"
    r"|^auth$|bearer|tokens?$"
    r"|cookie|sessionid$|^sid$|^otp$|^pin$|^pincode$|^cvv2?$|^cvc2?$|cardnumber|^pan$|^iban$|^ssn$|socialsecurity"
    r"|^mfa|onetimecode|verificationcode|clientassertion|^code(verifier)?$|^jwt$|recoverycode|seedphrase|mnemonic"
)
_HARMLESS_NAMES: Final = re.compile(
    r"^(progresstoken|maxtokens|inputtokens|outputtokens|totaltokens|numtokens)$"
)

# Values that are secrets under any name.
_SECRET_VALUES: Final = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"  # JSON Web Token
    r"|\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{35}\b|\bya29\.[\w-]{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"
    r"|(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"  # user:password@ in an address,
    r"|(?<=://)[^\s/@:?#]{12,200}(?=@)"  # or a token alone
    r"|(?i:(?<=[?&])(?:access_token|token|api_key|apikey|key|secret|password|signature|sig|code)=)[^\s&#]+"
)
# Inside running text: a name, a sign, a value. JSON inside a string has its quotes escaped.
_GIVEN: Final = r"""(?!‹hidden)(?P<value>[^\s"',;&\\{}\[\]]{4,})"""
_ASSIGNED: Final = re.compile(
    r"""(?P<before>(?P<name>[\w-]{2,40})(?:\\?["']\s?:\s?\\?["']?|\s?=\s?\\?["']?))""" + _GIVEN
)
_SAID: Final = re.compile(r"""(?P<before>(?P<name>[\w-]{2,40})\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)""" + _GIVEN)
_WHOLE: Final = re.compile(r"-?\d+")
SHORTEST: Final = 5  # characters of a value that is looked for in other places
REMEMBERED: Final = 200  # such values, the latest


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """True when a member, field or header of this name holds something that must not be shown."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()[:200])
    return bool(_SECRET_NAMES.search(plain)) and not _HARMLESS_NAMES.match(plain)


class Redactor:
    """Hides secrets; `raw` hides nothing.

    hidden   stand-in -> what it stands for, in words ("value of password", "JSON Web Token in text"): the list that a
             report prints; never the value
    """

    def __init__(self, raw: bool = False) -> None:
        self.raw = raw
        self.hidden: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._clean: set[str] = (
            set()
        )  # short texts in which there is nothing to hide: most come again and again
        self._told: dict[str, re.Pattern[str]] = {}  # values hidden by name, which may stand elsewhere too

    def stand_in(self, value: str, why: str) -> str:
        """The stand-in of a value, the same each time."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = f"‹hidden {len(self._numbers) + 1}›"
            self.hidden[known] = why
        return known

    def known(self, value: str) -> str | None:
        """The stand-in of a value that was hidden before."""
        return self._numbers.get(value)

    @property
    def count(self) -> int:
        """How many values are hidden so far."""
        return len(self._numbers)

    def learn(self, value: str, why: str) -> str:
        """The stand-in of a value that is secret by its name, and is hidden from now on wherever else it stands."""
        if len(value) >= SHORTEST and value not in self._told:
            # Not inside a longer word: "secret1" in "secret10" is another value.
            before, after = ("(?<!\\w)" * value[0].isalnum(), "(?!\\w)" * value[-1].isalnum())
            self._told[value] = re.compile(before + re.escape(value) + after)
            self._clean.clear()
            if len(self._told) > REMEMBERED:
                del self._told[next(iter(self._told))]
        return self.stand_in(value, why)

    def text(self, text: str) -> str:
        """Running text with the secrets in it replaced."""
        if self.raw or len(text) < SHORTEST or text in self._clean:
            return text
        shown = self._text(text)
        if shown == text and len(text) < 200 and len(self._clean) < 20_000:
            self._clean.add(text)
        return shown

    def _text(self, text: str) -> str:
        for value, pattern in self._told.items():
            if value in text:
                text = pattern.sub(self._numbers[value], text)
        if len(text) < 8:
            return text
        text = _SECRET_VALUES.sub(lambda m: self.stand_in(m[0], "looks like a credential"), text)
        if "=" in text or "':" in text or '":' in text or '" :' in text:
            return _ASSIGNED.sub(self._assigned, text)
        return text

    def prose(self, text: str) -> str:
        """Text that is no JSON (logs, broken messages): also what follows a name and a colon, `password: …`."""
        return text if self.raw else _SAID.sub(self._assigned, self.text(text))

    def _assigned(self, match: re.Match[str]) -> str:
        if not is_secret_name(match["name"]) or (
            match["name"] == "code" and _WHOLE.fullmatch(match["value"])
        ):
            return match[0]  # the code of an error is a number
        return match["before"] + self.stand_in(match["value"], f"value of {match['name']} in text")

    def scalar(self, name: str, value: Any, inside: bool) -> Any:
        """A string, number, true, false or null that is a member of this name, or stands inside a secret member."""
        if self.raw:
            return value
        if inside:
            return value if value in (None, "") else self.learn(str(value), "inside a hidden member")
        if name == "code" and type(value) is int:
            return value  # of an error; a code that opens something is text
        if is_secret_name(name) and value not in (None, "", True, False):
            return self.learn(str(value), f"value of {name[:80]}")
        return self.text(value) if isinstance(value, str) else value

    def named(self, name: str, value: Any) -> Any:
        """The value of a member of this name: hidden as a whole when the name says so, else looked through."""
        if isinstance(value, (dict, list)):
            return self.value(value, secret=is_secret_name(name))
        return self.scalar(name, value, False)

    def value(self, value: Any, depth: int = 0, secret: bool = False) -> Any:
        """A JSON value with everything secret in it replaced; what is deeper than 64 levels is left out."""
        if self.raw:
            return value
        if not isinstance(value, (dict, list)):
            return self.scalar("", value, secret)
        if depth > 64:
            return "…"
        if isinstance(value, dict):
            return {self.text(str(k)): self._member(str(k), v, depth, secret) for k, v in value.items()}
        return [self.value(v, depth + 1, secret) for v in value]

    def _member(self, name: str, value: Any, depth: int, secret: bool) -> Any:
        if isinstance(value, dict) and _is_schema(value):
            return self.value(value, depth + 1, secret)  # a form field of that name, not its value
        if isinstance(value, (dict, list)):
            return self.value(value, depth + 1, secret or is_secret_name(name))
        return self.scalar(name, value, secret)


KINDS: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def _is_schema(value: dict[str, Any]) -> bool:
    """True for the description of a form field."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in KINDS
