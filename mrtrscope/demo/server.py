"""The demo's server, on the official SDK: tools, a prompt and a resource that ask before they answer.

python -m mrtrscope.demo.server                 stdio
python -m mrtrscope.demo.server --http PORT     Streamable HTTP; says its URL on stdout; ends with its stdin
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

bakery = MCPServer("bakery", version="1.0", log_level="ERROR")

Ctx = Context[Any, Any]


def question(message: str, **fields: dict[str, Any]) -> ElicitRequest:
    """A form with these fields, all of them required."""
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def asks(state: str, **questions: ElicitRequest) -> InputRequiredResult:
    """The result that ends this request early: these questions, and what the retry must bring back."""
    return InputRequiredResult(input_requests=dict(questions), request_state=state)


def answer(ctx: Ctx, key: str) -> dict[str, Any] | None:
    """What was accepted as the answer to this question, None where it was declined or not given."""
    got = (ctx.input_responses or {}).get(key)
    return dict(got.content or {}) if isinstance(got, ElicitResult) and got.action == "accept" else None


def declined(ctx: Ctx, key: str) -> bool:
    got = (ctx.input_responses or {}).get(key)
    return isinstance(got, ElicitResult) and got.action != "accept"


@bakery.tool()
async def book_table(day: str, ctx: Ctx) -> str | InputRequiredResult:
    """Reserve a table: asks once."""
    if ctx.input_responses is None:
        people = {"type": "integer", "title": "How many people?", "minimum": 1, "maximum": 12}
        return asks("table", people=question(f"A table for {day}", people=people))
    if declined(ctx, "people"):
        return f"No table for {day}."
    return f"A table for {(answer(ctx, 'people') or {}).get('people')} on {day}."


@bakery.tool()
async def order_cake(kind: str, ctx: Ctx) -> str | InputRequiredResult:
    """Order a cake: asks for two things, then for one more. What it knows so far travels in requestState."""
    known = json.loads(ctx.request_state or "{}")
    words = answer(ctx, "words")
    if words is not None and {"size", "day"} <= known.keys():
        return f"A {known['size']} {kind} cake for {known['day']}, and on it: {words['words']}"
    known |= {key: given[key] for key in ("size", "day") if (given := answer(ctx, key))}
    sizes = {"type": "string", "enum": ["small", "large", "enormous"]}
    wanted = {
        "size": question(f"How big a {kind} cake?", size=sizes),
        "day": question("When do you need it?", day={"type": "string", "format": "date"}),
    }
    missing = {key: form for key, form in wanted.items() if key not in known}
    if not missing:
        text = {"type": "string", "maxLength": 40}
        missing = {"words": question("What shall be written on it?", words=text)}
    return asks(json.dumps(known), **missing)


@bakery.tool()
async def bake(loaves: int, ctx: Ctx) -> str:
    """Bake bread and say how far it is: one streamed answer."""
    for done in range(1, loaves + 1):
        await ctx.report_progress(done, loaves, f"loaf {done} of {loaves}")
        await anyio.sleep(0.03)
    return f"{loaves} loaves, still warm."


@bakery.prompt()
async def invitation(occasion: str, ctx: Ctx) -> str | InputRequiredResult:
    """A text that invites somebody: asks whom."""
    guest = answer(ctx, "guest")
    if guest is None:
        name = {"type": "string", "title": "Name"}
        return asks("guest", guest=question(f"Whom to invite to the {occasion}?", name=name))
    return f"Write to {guest['name']} and invite them to our {occasion}."


@bakery.resource("menu://{season}", mime_type="text/plain")
async def menu(season: str, ctx: Ctx) -> str | InputRequiredResult:
    """What there is: asks what must not be in it."""
    diet = answer(ctx, "diet")
    if diet is None:
        without = {"type": "string", "enum": ["nothing", "nuts", "milk"]}
        return asks("diet", diet=question("What must not be in it?", without=without))
    return f"{season}: plum cake, walnut bread, milk buns (left out: {diet['without']})"


def _end_with_stdin(server: uvicorn.Server) -> None:
    """Whoever started us holds the other end: when it is gone, however it went, so are we."""
    while os.read(0, 1024):
        pass
    server.should_exit = True


def serve_http(port: int) -> None:
    """Serve until stdin ends; the address is one line on stdout. Port 0 is any."""
    app = bakery.streamable_http_app(stateless_http=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        threading.Thread(target=_end_with_stdin, args=[server], daemon=True).start()
        asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--http"]:
        serve_http(int(sys.argv[2]))
    else:
        bakery.run("stdio")
