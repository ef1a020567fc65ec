"""What is secret in a message by the names of its members, and in a head by the names of its headers.

Names alone decide here. `store.scout` goes through messages with them, `views.redact` shows what they leave over, and
hides besides what looks like a credential wherever it stands.
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
ERROR_CODE: Final = re.compile(r"-\d{5}")  # of an error; a code that opens something is text
SHORTEST: Final = 5  # characters of a value that is looked for in other places
LONG: Final = 8  # characters of a part of a header, a query or a form that is looked for elsewhere
DEEPEST: Final = 64  # levels of a message that are looked through
ASKED, ANSWERED = "inputRequests", "inputResponses"
GIVEN_IN: Final = (
    "arguments",
    "content",
)  # members whose members are what was given for the fields of a form
KINDS: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
# Words of the protocol: hidden where they stand inside a secret, but not wherever else they stand.
COMMON: Final = KINDS | {
    "accept", "decline", "cancel", "elicitation/create", "sampling/createMessage", "roots/list", "complete", "text",
    "input_required", "image", "audio", "assistant", "password", "email", "uri", "date", "date-time", True, False,
}  # fmt: skip
INSIDE: Final = "inside a hidden member"


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """True when a member, field or header of this name holds something that must not be shown."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()[:200])
    return bool(_SECRET_NAMES.search(plain)) and not _HARMLESS_NAMES.match(plain)


def is_schema(value: dict[str, Any]) -> bool:
    """True for the description of a form field."""
    kind = value.get("type")
    return isinstance(kind, str) and kind in KINDS


def says_secret(schema: dict[str, Any]) -> bool:
    """True when the description of a form field says that what is given for it is secret."""
    return schema.get("format") == "password" or schema.get("writeOnly") is True


def is_told(name: str, value: Any) -> bool:
    """True when a string or number that is the value of this member is secret."""
    return (
        is_secret_name(name)
        and value not in (None, "", True, False)
        and not (name == "code" and (type(value) in (int, float) or ERROR_CODE.fullmatch(str(value))))
    )
