"""Servers on the official SDK that ask before they pay, each protecting its state in another way.

python tests/peers/mrtr_server.py MODE [--http] [OPTION…]        stdio, or HTTP with its URL on stdout

sealed   the SDK as it is: sealed by a key of this process, bound to tool and arguments
plain    the state is JSON that anybody can read and write
loose    signed, and bound to nothing: neither tool nor arguments nor principal nor time
right    sealed under a key that outlives the process, bound to request and principal, short-lived, good for one use;
         answers are looked at

--changed    `pay` says something else in the end          --fresh-keys   questions get another key each time
--late       `pay` answers with a second question           --hidden       says nothing of destructive tools
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ToolAnnotations,
)

MODE = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "sealed"
KEY = b"a key for tests, known to everybody who reads this"
Ctx = Context[Any, Any]


def principal(ctx: Any) -> str | None:
    headers = getattr(ctx.request, "headers", None)
    return None if headers is None else headers.get("authorization", "nobody")


security = RequestStateSecurity(keys=[KEY], ttl=4.0, bind_principal=principal) if MODE == "right" else None
server = MCPServer("cashier", version="1.0", log_level="CRITICAL", request_state_security=security)
if MODE in ("plain", "loose"):
    kept = [m for m in server._lowlevel_server.middleware if not isinstance(m, RequestStateBoundary)]
    server._lowlevel_server.middleware[:] = kept
used: set[str] = set()


def seal(known: dict[str, Any]) -> str:
    text = json.dumps({**known, "nonce": secrets.token_hex(8)})
    if MODE != "loose":
        return text
    return text.encode().hex() + "." + hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def unseal(state: str) -> dict[str, Any]:
    text = state
    if MODE == "loose":
        payload, _, tag = state.partition(".")
        try:
            text = bytes.fromhex(payload).decode()
        except ValueError:
            text = ""
        if not hmac.compare_digest(tag, hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()):
            raise MCPError(code=-32602, message="requestState rejected")
    try:
        found = json.loads(text)
    except ValueError:
        raise MCPError(code=-32602, message="requestState rejected") from None
    if MODE == "right":
        if found["nonce"] in used:
            raise MCPError(code=-32602, message="requestState was used before")
        used.add(found["nonce"])
    return dict(found)


def asks(message: str, field: str, kind: str, key: str, **known: Any) -> InputRequiredResult:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    form = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))
    if "--fresh-keys" in sys.argv:
        key = f"{key}-{secrets.token_hex(4)}"
    return InputRequiredResult(input_requests={key: form}, request_state=seal({**known, "key": key}))


def check_client(ctx: Ctx) -> None:
    capabilities = ctx.client_capabilities
    if MODE == "right" and (capabilities is None or capabilities.elicitation is None):
        raise MCPError(code=-32021, message="this needs elicitation")


def answer(ctx: Ctx, key: str, field: str, kind: type) -> tuple[str, Any]:
    """("accept", value), ("decline", None), ("cancel", None), or ("none", None): nothing that could be an answer."""
    got = (ctx.input_responses or {}).get(key)
    if not isinstance(got, ElicitResult):
        return "none", None
    found = (got.content or {}).get(field)
    if got.action == "accept" and MODE == "right" and type(found) is not kind:
        return "none", None
    return got.action, found


async def confirmed(what: str, ctx: Ctx) -> str | InputRequiredResult:
    question = ("?", "ok", "boolean", "confirm")
    if ctx.request_state is None:
        check_client(ctx)
        return asks(f"{what}{question[0]}", *question[1:], what=what)
    known = unseal(ctx.request_state)
    action, ok = answer(ctx, str(known.get("key")), "ok", bool)
    if action == "none" and MODE == "right":
        return asks(f"{what}?", *question[1:], what=what)
    if action != "accept":
        return f"did not {what}"
    if "--late" in sys.argv and "late" not in known:
        return asks("Really?", "ok", "boolean", "really", what=what, late=True)
    again = " again" if "--changed" in sys.argv else ""
    return f"{known.get('what')}: done{again}" if ok else f"did not {what}"


@server.tool()
async def pay(to: str, amount: int, ctx: Ctx) -> str | InputRequiredResult:
    """Pay somebody."""
    return await confirmed(f"pay {amount} to {to}", ctx)


@server.tool()
async def owe(to: str, amount: int, ctx: Ctx) -> str | InputRequiredResult:
    """Write down a debt."""
    return await confirmed(f"owe {amount} to {to}", ctx)


@server.tool(annotations=None if "--hidden" in sys.argv else ToolAnnotations(destructive_hint=True))
async def erase(ctx: Ctx) -> str | InputRequiredResult:
    """Forget all debts."""
    return await confirmed("erase", ctx)


@server.tool()
async def status() -> str:
    """How it stands, as JSON."""
    return json.dumps({"open": 2, "by": ["a", "b"]})


def main() -> None:
    if "--http" not in sys.argv:
        server.run("stdio")
        return
    from mrtrscope.demo import server as demo

    demo.bakery = server
    demo.serve_http(0)


if __name__ == "__main__":
    main()
