"""What a token says of itself, where it is a JWT. Nothing is verified, and nothing of it is kept here."""

from __future__ import annotations

import base64
import json
from typing import Any

LIMIT = 16384


def bearer(authorization: str) -> str:
    """The token of an Authorization header with a token, "" for another scheme."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() in ("bearer", "dpop") else ""


def claims(authorization: str) -> dict[str, Any]:
    """The claims of the JWT in an Authorization header; {} for anything else."""
    parts = bearer(authorization).split(".")
    if len(parts) != 3 or len(parts[1]) > LIMIT:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return found if type(found) is dict else {}
