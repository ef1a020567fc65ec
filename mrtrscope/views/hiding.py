"""Credentials in transcripts that are handed on: replaced by a digest, equal for equal ones, salted per capture."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mrtrscope.store.secret import is_secret_name
from mrtrscope.views.redact import Redactor

SCHEMES = ("bearer", "basic", "digest", "dpop", "negotiate")


class Hiding:
    """Hides credentials and cookies in the heads of HTTP exchanges, and in addresses.

    salt   of the capture: without it nobody can try passwords against a digest, with it equal values stay equal
    """

    def __init__(self, headers: dict[str, Any]) -> None:
        self._salt = hashlib.blake2b(json.dumps(headers, sort_keys=True).encode(), digest_size=16).digest()
        self._text = Redactor()

    def line(self, line: dict[str, Any]) -> dict[str, Any]:
        """A line of a transcript without them."""
        request, response = line.get("request"), line.get("response")
        if not request:
            return line
        url = self._text.text(request["url"])
        line = line | {"request": request | {"url": url, "headers": self._heads(request["headers"])}}
        if response:
            line["response"] = response | {"headers": self._heads(response["headers"])}
        return line

    def _heads(self, headers: list[list[str]]) -> list[list[str]]:
        return [[name, self._hidden(value) if is_secret_name(name) else value] for name, value in headers]

    def _hidden(self, value: str) -> str:
        scheme, _, rest = value.partition(" ")
        kept = f"{scheme} " if rest and scheme.lower() in SCHEMES else ""
        data = value.encode("utf-8", "surrogatepass")
        return f"{kept}hidden-{hashlib.blake2b(data, digest_size=8, key=self._salt).hexdigest()}"
