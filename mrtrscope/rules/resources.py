"""server/resources: lists of resources, what they hold, and how a missing one is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from mrtrscope.link.facts import Operation
from mrtrscope.link.listings import newest
from mrtrscope.rules import said
from mrtrscope.rules.content import SHOWN, resource_faults
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.listings import EXPLAINED, NOT_FOUND, unanswered, undeclared
from mrtrscope.rules.registry import BOTH, FAULT, MUST, MUST_NOT, RESULT, SERVER, SETTLED, SHOULD, rule
from mrtrscope.rules.roots import traversal
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/server/resources"
ERRORS = PAGE + "#error-handling"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
READ, LIST, TEMPLATES = ("resources/read",), ("resources/list",), ("resources/templates/list",)
_INTERNAL = re.compile(
    r"\b(i/?o|disk|database|sql|timed? ?out|timeout|upstream|connection|network|econn\w*|enospc|eio|bad gateway)\b",
    re.I,
)


@rule("resources/capability-declared", level=MUST, fault=SERVER, on=RESULT, methods=READ + LIST + TEMPLATES,
      dirs=FROM_SERVER, eras=BOTH, source=PAGE + "#capabilities")  # fmt: skip
def resources_undeclared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server has resources and did not declare the capability.

    Why it matters: clients that read the capabilities never ask for them.
    Cannot tell: when no answer with capabilities was seen for this credential.
    """
    return undeclared(answer, ctx, "resources")


@rule("resources/list-answered", level=MUST, fault=SERVER, on=(FAULT, SETTLED), methods=LIST, eras=BOTH,
      source=PAGE + "#capabilities")  # fmt: skip
def resources_do_not_exist(event: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """A server declares resources and does not know resources/list.

    Why it matters: the client shows an error for what it was told to ask for; a server that has templates only answers
    with an empty list.
    Cannot tell: refusals for access, version, headers or a cursor have their reasons.
    """
    yield from unanswered(event, ctx, "resources")


@rule("resources/not-found-code", level=MUST, fault=SERVER, on=FAULT, methods=READ, dirs=FROM_SERVER,
      source=ERRORS)  # fmt: skip
def missing_resource_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A resource that does not exist is refused with another code than -32602.

    Why it matters: the client cannot tell a wrong URI from a server that failed.
    Cannot tell: what is missing but by the words of the error. -32002 is error/no-legacy-codes; a failure to read is
    rightly -32603.
    """
    code = said.code(answer)
    if code is None or code == -32002 or code in EXPLAINED:
        return
    missing = NOT_FOUND.search(said.words(answer)) is not None
    if missing or code == -32602:
        ctx.tested()
    if code != -32602 and missing and not _INTERNAL.search(said.words(answer)):
        if code == -32601 and "method" in said.words(answer).lower():
            return  # resources are not there at all
        yield ctx.finding(answer, saw=answer.error, expected=-32602, path="/error/code",
                          also=[ctx.exchange.request if ctx.exchange is not None else None],
                          text=f"a resource that does not exist is refused with {code}, not -32602")  # fmt: skip
    elif code != -32601 and answer.http is not None and answer.http.status == 404:
        yield ctx.finding(answer, saw="HTTP 404", level="info", path="status",
                          text=f"the error {code} came with HTTP 404, which is for unknown methods")  # fmt: skip


@rule("resources/no-empty-for-missing", level=MUST_NOT, fault=SERVER, on=RESULT, methods=READ, dirs=FROM_SERVER,
      source=ERRORS)  # fmt: skip
def nothing_in_place_of_an_error(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A resource that no list names is answered with empty contents.

    Why it matters: the client takes it for an empty resource; one that does not exist is an error.
    Cannot tell: whether it exists, since lists need not name all; so it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or answer.result.get("contents") != []:
        return
    listed = newest(ctx.memory, exchange, "resources/list", ctx.channel)
    templates = newest(ctx.memory, exchange, "resources/templates/list", ctx.channel)
    ctx.tested()
    if listed is not None and exchange.target in listed["names"]:
        return
    if templates is not None and any(_fits(name, exchange.target) for name in templates["names"]):
        return
    yield ctx.finding(answer, saw=[], also=[exchange.request], level="info", path="/result/contents",
                      text=f"contents of {exchange.target[:80]!r} are empty, and no list names it")  # fmt: skip


def _fits(template: str, uri: str) -> bool:
    """Whether a URI may come out of a template: begins and ends as it does."""
    before, _, rest = template.partition("{")
    after = rest.rpartition("}")[2]
    return uri.startswith(before) and uri.endswith(after)


@rule("resources/contents-valid", level=MUST, fault=SERVER, on=RESULT, methods=READ, dirs=FROM_SERVER, eras=BOTH,
      source=SCHEMA + "ResourceContents, TextResourceContents, BlobResourceContents")  # fmt: skip
def contents_are_misshapen(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An item of contents has no uri, or not exactly one of text and Base64 in blob.

    Why it matters: the client finds nothing to show, or cannot say whose it is.
    Cannot tell: the uri may be another than the one asked for: a directory has many. Line breaks in Base64 are noted.
    """
    contents = answer.result.get("contents")
    for n, item in enumerate(contents[:SHOWN] if type(contents) is list else ()):
        ctx.tested()
        path = f"/result/contents/{n}"
        if type(item) is not dict:
            yield ctx.finding(answer, saw=item, path=path, text="an item of contents is no object")
            continue
        for below, saw, what, level in resource_faults(item):
            yield ctx.finding(
                answer, saw=saw, path=path + below, level=level, text=f"an item of contents {what}"
            )


@rule("resources/no-traversal", level=MUST, fault=SERVER, on=RESULT, methods=READ, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#security-considerations items 1 and 5")  # fmt: skip
def reads_outside_of_its_tree(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A URI with dot segments that leads out of everything the server lists is served.

    Why it matters: whoever may ask for a resource may read any file of the server's machine.
    Cannot tell: without a whole list of resources or templates; a path that stays below what is listed is right.
    """
    exchange = ctx.exchange
    if exchange is None or (".." not in exchange.target and "%" not in exchange.target):
        return
    if not traversal(exchange.target) or not answer.result.get("contents"):
        return
    found = [
        newest(ctx.memory, exchange, method, ctx.channel)
        for method in ("resources/list", "resources/templates/list")
    ]
    names = [name for listed in found if listed is not None for name in listed["names"]]
    if not names:
        return
    ctx.tested()
    whole = _normal(exchange.target)
    if not any(whole.startswith(_folder(name)) for name in names):
        yield ctx.finding(answer, saw=exchange.target, expected=-32602, path="/result/contents",
                          also=[exchange.request, *(listed["key"] for listed in found if listed is not None)],
                          text=f"contents are returned for {whole[:80]!r}, outside of all that is listed")  # fmt: skip


def _normal(uri: str) -> str:
    """The URI with its dot segments resolved."""
    scheme, mark, rest = unquote(unquote(uri)).replace("\\", "/").partition("://")
    host, slash, path = rest.partition("/") if mark else ("", "", scheme)
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step != ".":
            steps.append(step)
    return f"{scheme}{mark}{host}{slash}{'/'.join(steps)}" if mark else "/".join(steps)


def _folder(name: str) -> str:
    """The directory of a listed URI, or what stands before the first expression of a template."""
    fixed = unquote(name.partition("{")[0])
    return fixed[: fixed.rfind("/") + 1] or fixed


@rule("resources/internal-error-code", level=SHOULD, fault=SERVER, on=FAULT, methods=READ + LIST + TEMPLATES,
      dirs=FROM_SERVER, eras=BOTH, source=ERRORS)  # fmt: skip
def failure_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A failure inside the server is reported with another code than -32603.

    Why it matters: by the code a client tells what is worth trying again.
    Cannot tell: what failed but by the words of the error.
    """
    code, words = said.code(answer), said.words(answer)
    if code is None or code in EXPLAINED or not _INTERNAL.search(words):
        return
    if NOT_FOUND.search(words):
        return
    ctx.tested()
    if code != -32603:
        yield ctx.finding(answer, saw=answer.error, expected=-32603, path="/error/code",
                          text=f"probably an internal failure, reported with {code}")  # fmt: skip
