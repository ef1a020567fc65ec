"""Short forms of HTTP exchanges in cases: requests that are no messages, and refusals that are none.

{"get": "https://as.example/authorize", "query": {"client_id": "c1"}, "status": 302, "reply": {"Location": "…"}}
{"post": "https://as.example/token", "form": {"grant_type": "refresh_token"}, "answer": {"access_token": "…"}}

get, post     the address; also "delete", "put", "options"
query, form, json   an object: of the address; the body of a POST, encoded as a form, or as JSON
headers       of the request: a value, or a list of them
status, reply, answer   of the answer: default 200, no headers, and an object (as JSON) or a text
conn, closed_by, t, expect   as everywhere
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

METHODS = ("get", "post", "delete", "put", "options")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def expanded(line: dict[str, Any]) -> dict[str, Any]:
    """The line with a whole exchange under "http" where it has a short form; others as they are."""
    method = next((m for m in METHODS if m in line), None)
    if method is None:
        return line
    url, body, headers = line[method], "", {"Host": line[method].split("/")[2]}
    if "query" in line:
        url += f"?{urlencode(line['query'])}"
    if "form" in line:
        body, headers["Content-Type"] = urlencode(line["form"]), FORM
    elif "json" in line:
        body, headers["Content-Type"] = json.dumps(line["json"]), JSON
    whole = {
        "conn": line.get("conn", 1),
        "request": {
            "method": method.upper(),
            "url": url,
            "http": "HTTP/1.1",
            "headers": pairs(headers | line.get("headers", {})),
            "body": body,
        },
        "response": response(line.get("status", 200), line.get("reply", {}), line.get("answer")),
        "closed_by": line.get("closed_by", "server"),
    }
    kept: dict[str, Any] = {name: line[name] for name in ("t", "expect") if name in line}
    return {"http": whole, **kept}


def response(status: int, headers: dict[str, Any], answer: Any) -> dict[str, Any]:
    """An answer: an object goes as JSON and says so, text as it stands."""
    wanted = dict(headers)
    if answer is not None and not isinstance(answer, str) and "Content-Type" not in wanted:
        wanted["Content-Type"] = JSON
    text = answer if isinstance(answer, str) or answer is None else json.dumps(answer, ensure_ascii=False)
    return {
        "status": status,
        "headers": pairs(wanted),
        "chunks": [{"data": text}] if text is not None else [],
    }


def pairs(headers: dict[str, Any]) -> list[list[str]]:
    """Headers as a transcript has them; a list is a header that is sent several times."""
    return [[name, v] for name, value in headers.items() for v in (value if type(value) is list else [value])]
