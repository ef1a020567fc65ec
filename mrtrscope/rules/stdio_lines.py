"""basic/transports/stdio (message rules): what may stand on a line."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.lines import SPLIT
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import half_response, sender
from mrtrscope.rules.registry import (
    ANY_ERA,
    ANY_MESSAGE,
    CLIENT,
    EITHER,
    FORM,
    MUST_NOT,
    NON_MESSAGE,
    SERVER,
    rule,
)
from mrtrscope.wire.events import Message, NonMessage

PAGE = "2026-07-28/basic/transports/stdio (message rules)"

# What a line is that is no message; lines that were too long or too deep to be read are not judged.
_WHAT = {
    "not-json": "the line is no JSON",
    "not-an-object": "the line is JSON, but no object",
    "empty-batch": "the line is an empty array",
    "not-json-rpc": "the line is a JSON object, but no JSON-RPC message",
    "length-header": "the line is a length header of the Language Server Protocol; MCP ends messages with a newline",
}


@rule("stdio/no-embedded-newline", level=MUST_NOT, fault=EITHER, on=(NON_MESSAGE, FORM), exercised=ANY_MESSAGE,
      eras=ANY_ERA, source=PAGE)  # fmt: skip
def message_over_several_lines(event: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """A message is spread over several lines.

    Why it matters: a newline ends a message; its reader gets as many broken ones as there are lines.
    Cannot tell: printed JSON that is no message is noise on stdout. A carriage return before the newline is white space
    to JSON and only noted. U+2028, U+2029 and U+0085 end no line.
    """
    if isinstance(event, NonMessage):
        if event.why == SPLIT:
            yield ctx.finding(event, saw=event.body, expected="the message on one line", fault=sender(event))
    elif ("carriage-return", "") in event.oddities and ctx.first("carriage-return", event.dir):
        yield ctx.finding(
            event, saw="CR LF", expected="LF", path="line end", level="info", fault=sender(event),
            text="lines end with carriage return and newline; fine for JSON readers",
        )  # fmt: skip


@rule("stdio/stdout-only-messages", level=MUST_NOT, fault=SERVER, on=NON_MESSAGE, exercised=ANY_MESSAGE, dirs=("s2c",),
      eras=ANY_ERA, source=PAGE)  # fmt: skip
def noise_on_stdout(line: NonMessage, ctx: Context) -> Iterator[Finding]:
    """A line on stdout is no message.

    Why it matters: clients end the connection, or log an error for every line; stderr is the place for words.
    Cannot tell: who wrote it, the server or what started it (npx, uv, docker); the text shows it. Blank lines are only
    noted. A line that broke off when the process ended says nothing.
    """
    if line.why == "blank-line":
        yield ctx.finding(line, saw="", level="info", text="a blank line on stdout")
    elif line.why in _WHAT and not half_response(line):
        ctx.tested()
        yield ctx.finding(
            line,
            saw=_text(line),
            expected="a message; words go to stderr",
            text=_WHAT[line.why] + ", on stdout",
        )


@rule("stdio/stdin-only-messages", level=MUST_NOT, fault=CLIENT, on=NON_MESSAGE, exercised=ANY_MESSAGE, dirs=("c2s",),
      eras=ANY_ERA, source=PAGE)  # fmt: skip
def noise_on_stdin(line: NonMessage, ctx: Context) -> Iterator[Finding]:
    """A line on stdin is no message.

    Why it matters: the server answers with errors that nobody waits for, or ends.
    Cannot tell: an object with jsonrpc and an id, which may be half a response: jsonrpc/result-xor-error.
    """
    if line.why in _WHAT and not half_response(line):
        ctx.tested()
        yield ctx.finding(line, saw=_text(line), expected="a message", text=_WHAT[line.why] + ", on stdin")


def _text(line: NonMessage) -> str:
    return line.raw[:1000].decode("utf-8", "replace")
