"""The demo's client, on the official SDK: orders at the bakery and answers its questions as a person would.

python -m mrtrscope.demo.client URL
python -m mrtrscope.demo.client COMMAND ARGS…      starts the server and talks to its stdio
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, Implementation, TextContent

ANSWERS: dict[str, str | int] = {
    "people": 4,
    "size": "large",
    "day": "2027-03-01",
    "words": "For Åsa, 40 today",
    "name": "Åsa",
}
THINKING = 0.15  # seconds that the person behind this client takes to answer


async def person(context: Any, params: ElicitRequestParams) -> ElicitResult:
    """Answer a form, after a moment; a table on a Sunday is not wanted after all."""
    await asyncio.sleep(THINKING)
    assert isinstance(params, ElicitRequestFormParams)
    if "Sunday" in params.message:
        return ElicitResult(action="decline")
    fields = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={f: ANSWERS.get(f, "nuts") for f in fields})


def text(result: Any) -> str:
    return "".join(c.text for c in result.content if isinstance(c, TextContent))


async def visit(target: StdioServerParameters | str) -> dict[str, Any]:
    """Everything this client does; returns what it got, by name."""
    got: dict[str, Any] = {}
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    who = Implementation(name="guest", version="1.0")
    client = Client(target, elicitation_callback=person, read_timeout_seconds=15, client_info=who)
    async with client as bakery:
        got["tools"] = sorted(tool.name for tool in (await bakery.list_tools()).tools)
        got["table"] = text(await bakery.call_tool("book_table", {"day": "Friday"}))
        got["cake"] = text(await bakery.call_tool("order_cake", {"kind": "plum"}))
        prompt = await bakery.get_prompt("invitation", {"occasion": "spring fair"})
        got["invitation"] = prompt.messages[0].content.text  # type: ignore[union-attr]
        menu = await bakery.read_resource("menu://spring")
        got["menu"] = menu.contents[0].text  # type: ignore[union-attr]
        got["bread"] = text(await bakery.call_tool("bake", {"loaves": 5}, progress_callback=on_progress))
        got["progress"] = len(seen)
        two = [bakery.call_tool("book_table", {"day": day}) for day in ("Saturday", "Sunday")]
        got["tables"] = [text(result) for result in await asyncio.gather(*two)]
        got["protocol"] = bakery.protocol_version
    return got


async def _until_told_to_end(target: StdioServerParameters | str) -> dict[str, Any]:
    """As `visit`; SIGTERM and SIGINT end it in good order, the server that it started included."""
    task = asyncio.ensure_future(visit(target))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task


def main(argv: list[str]) -> int:
    target: StdioServerParameters | str = argv[0]
    if len(argv) > 1:
        target = StdioServerParameters(command=argv[0], args=argv[1:], env=dict(os.environ))
    try:
        got = asyncio.run(_until_told_to_end(target))
    except asyncio.CancelledError:
        return 130
    print(json.dumps(got, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
