"""client/roots: the directories that a client lets a server know of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import ANSWER, ROOTS, Answer, answered, asked
from mrtrscope.rules.registry import ASKED, BOTH, CLIENT, MUST, SERVER, SHOULD_NOT, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/client/roots"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_CLIENT = ("c2s",)
SHOWN = 1000


@rule("roots/roots-array", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=SCHEMA + "ListRootsResult, Root")  # fmt: skip
def roots_are_no_array(message: Message, ctx: Context) -> Iterator[Finding]:
    """The answer to roots/list has no array of roots, or an entry without uri.

    Why it matters: the server iterates over roots and reads the uri of each.
    Cannot tell: an empty array is an answer.
    """
    for answer in answered(message, ctx, ROOTS):
        if type(answer.value) is not dict:
            continue
        ctx.tested()
        roots = answer.value.get("roots", ABSENT)
        if type(roots) is not list:
            yield ctx.finding(message, saw="absent" if roots is ABSENT else roots, expected="an array",
                              path=answer.path + "/roots", text="the answer to roots/list has no roots"
                              if roots is ABSENT else "roots is no array")  # fmt: skip
            continue
        for n, root in enumerate(roots[:SHOWN]):
            if type(root) is not dict or type(root.get("uri")) is not str:
                yield ctx.finding(message, saw=root, expected="an object with a uri",
                                  path=f"{answer.path}/roots/{n}", text="a root has no uri string")  # fmt: skip


def _uris(message: Message, ctx: Context) -> Iterator[tuple[str, str]]:
    """(path, uri) of every root."""
    for answer in answered(message, ctx, ROOTS):
        for n, root in enumerate(_roots(answer)):
            if type(root) is dict and type(root.get("uri")) is str:
                yield f"{answer.path}/roots/{n}/uri", root["uri"]


def _roots(answer: Answer) -> list[Any]:
    roots = answer.value.get("roots") if type(answer.value) is dict else None
    return roots[:SHOWN] if type(roots) is list else []


@rule("roots/file-uri", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#root")  # fmt: skip
def root_is_no_file_uri(message: Message, ctx: Context) -> Iterator[Finding]:
    """The uri of a root is no file:// URI.

    Why it matters: servers turn it into a path; a bare path or another scheme is refused or misread.
    Cannot tell: file://host/share and file:///C:/x are URIs of this kind, in whatever case the scheme is written.
    """
    for path, uri in _uris(message, ctx):
        ctx.tested()
        if not uri.lower().startswith("file://"):
            yield ctx.finding(message, saw=uri, expected="file://…", path=path,
                              text=f"the uri of a root is {uri[:80]!r}, which is no file:// URI")  # fmt: skip


@rule("roots/no-traversal", level=MUST, fault=CLIENT, on=ANSWER, dirs=FROM_CLIENT, eras=BOTH,
      facet="answer", source=PAGE + "#security-considerations item 1")  # fmt: skip
def root_leads_elsewhere(message: Message, ctx: Context) -> Iterator[Finding]:
    """The uri of a root has dot segments or encoded separators.

    Why it matters: what the user agreed to share and what the server opens may be two different directories.
    Cannot tell: whether the client checks roots in another way; names that merely hold two dots are names.
    """
    for path, uri in _uris(message, ctx):
        ctx.tested()
        found = traversal(uri)
        if found:
            yield ctx.finding(message, saw=uri, path=path, text=f"the uri of a root has {found}")


def traversal(uri: str) -> str:
    """What in the path of a URI leads out of it, "" when nothing does."""
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", uri).partition("?")[0].partition("#")[0]
    if re.search(r"%2f|%5c", path, re.I):
        return "an encoded separator"
    if ".." in re.split(r"[/\\]", path):
        return "a dot segment"
    return "an encoded dot segment" if ".." in re.split(r"[/\\]", unquote(path)) else ""


@rule("roots/deprecated-use", level=SHOULD_NOT, fault=SERVER, on=ASKED, dirs=("s2c",),
      facet="plain chain", source=PAGE + " (deprecation notice)")  # fmt: skip
def still_asks_for_roots(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server asks for roots, which are deprecated in 2026-07-28.

    Why it matters: clients may drop them with the next revision; a directory can be an argument or a setting.
    Cannot tell: whether the implementation is new, which alone should not adopt them; so it is noted, once per server.
    """
    for question in asked(answer, ctx, ROOTS):
        ctx.tested()
        if ctx.first():
            yield ctx.finding(answer, path=question.path, level="info")
