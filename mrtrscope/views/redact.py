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
    r"|(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"  # user:password@ in an address
    r"|(?i:(?<=[?&])(?:access_token|token|api_key|apikey|key|secret|password|signature|sig|code)=)[^\s&#]+"
)


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

    def stand_in(self, value: str, why: str) -> str:
        """The stand-in of a value, the same each time."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = f"‹hidden {len(self._numbers) + 1}›"
            self.hidden[known] = why
        return known

    def text(self, text: str) -> str:
        """Running text with the secrets in it replaced."""
        if self.raw or len(text) < 8:
            return text
        return _SECRET_VALUES.sub(lambda m: self.stand_in(m[0], "looks like a credential"), text)

    def named(self, name: str, value: Any) -> Any:
        """The value of a member of this name: hidden as a whole when the name says so, else looked through."""
        if self.raw:
            return value
        if (
            is_secret_name(name)
            and value not in (None, "", True, False)
            and not isinstance(value, (dict, list))
        ):
            return self.stand_in(str(value), f"value of {name[:80]}")
        return self.value(value, secret=is_secret_name(name))

    def value(self, value: Any, depth: int = 0, secret: bool = False) -> Any:
        """A JSON value with everything secret in it replaced; what is deeper than 64 levels is left out."""
        if self.raw:
            return value
        if isinstance(value, str):
            return self.stand_in(value, "inside a hidden member") if secret and value else self.text(value)
        if depth > 64:
            return "…"
        if isinstance(value, dict):
            return {self.text(str(k)): self._member(str(k), v, depth, secret) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(v, depth + 1, secret) for v in value]
        return self.stand_in(str(value), "inside a hidden member") if secret and value is not None else value

    def _member(self, name: str, value: Any, depth: int, secret: bool) -> Any:
        if isinstance(value, dict) and _is_schema(value):
            return self.value(value, depth + 1, secret)  # a form field of that name, not its value
        if isinstance(value, (dict, list)):
            return self.value(value, depth + 1, secret or is_secret_name(name))
        return self.value(value, depth + 1, True) if secret else self.named(name, value)


_KINDS = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def _is_schema(value: dict[str, Any]) -> bool:
    """True for the description of a form field."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in _KINDS
