"""server/resources#resource-uris, #annotations: addresses of resources, and what is said about things beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from mrtrscope.rules.content import SHOWN, blocks_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.formats import is_iso_8601, template_fault, uri_fault
from mrtrscope.rules.registry import BOTH, MUST, RESULT, RICH, SERVER, SHOULD, rule
from mrtrscope.rules.urls import near
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/resources"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
LISTED = ("resources/list", "resources/templates/list")
WITH_URIS = (*LISTED, "resources/read", "prompts/get", "tools/call")
AUDIENCE = ("user", "assistant")


def _entries(answer: Message) -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, object) of everything in a result that may have a uri or annotations."""
    result = answer.result
    for member in ("resources", "resourceTemplates", "contents", "content", "messages"):
        found = result.get(member)
        for n, entry in enumerate(found[:SHOWN] if type(found) is list else ()):
            path = f"/result/{member}/{n}"
            if type(entry) is not dict:
                continue
            if member != "messages":
                yield path, entry
                continue
            for block in blocks_of(entry.get("content")):
                if type(block) is dict:
                    yield path + "/content", block


def _uris(answer: Message) -> Iterator[tuple[str, Any, bool]]:
    """(path, uri, whether it is a template) of every resource named."""
    for path, entry in _entries(answer):
        if "uriTemplate" in entry:
            yield path + "/uriTemplate", entry["uriTemplate"], True
        if "uri" in entry:
            yield path + "/uri", entry["uri"], False
        inner = entry.get("resource")
        if entry.get("type") == "resource" and type(inner) is dict and "uri" in inner:
            yield path + "/resource/uri", inner["uri"], False


@rule("resources/uri-valid", level=MUST, fault=SERVER, on=RICH, methods=WITH_URIS, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#custom-uri-schemes")  # fmt: skip
def uri_is_none(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The URI of a resource is none, or its template is none.

    Why it matters: clients parse it, compare it and send it back; what is no URI is changed on the way.
    Cannot tell: whether the scheme exists: any is allowed. Templates are held to their own grammar.
    """
    if b'"uri' not in answer.raw:
        return
    for path, uri, template in _uris(answer):
        if type(uri) is not str:
            continue
        ctx.tested()
        fault = template_fault(uri) if template else uri_fault(uri)
        if fault and not _of_prompt(path, ctx):
            kind = "the uriTemplate" if template else "the uri"
            yield ctx.finding(answer, saw=uri, expected="RFC 6570" if template else "RFC 3986", path=path,
                              text=f"{kind} {uri[:80]!r} {fault}")  # fmt: skip


def _of_prompt(path: str, ctx: Context) -> bool:
    """Embedded in a prompt, where prompts/embedded-resource-fields speaks of it."""
    return path.startswith("/result/messages/") and path.endswith("/resource/uri")


@rule("resources/https-scheme", level=SHOULD, fault=SERVER, on=RESULT, methods=(*LISTED, "resources/read"),
      dirs=FROM_SERVER, eras=BOTH, source=PAGE + "#https")  # fmt: skip
def https_that_nobody_can_fetch(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An https URI names a resource that the client probably cannot fetch by itself.

    Why it matters: https says that the client may go past the server; it then meets a login, or nothing.
    Cannot tell: what the client can reach; addresses of private networks and private results are a hint, and noted.
    """
    private = answer.result.get("cacheScope") == "private" and "contents" in answer.result
    for path, uri, template in _uris(answer):
        if type(uri) is not str or not uri.lower().startswith("https://") or len(uri) > 8192:
            continue
        ctx.tested()
        try:
            host = urlsplit(uri.partition("{")[0] if template else uri).hostname or ""
        except ValueError:
            continue
        if private or near(host):
            why = "its host is of a private network" if near(host) else "the result is private"
            yield ctx.finding(answer, saw=uri, path=path, level="info",
                              text=f"the resource {uri[:80]!r} is https, and {why}")  # fmt: skip


@rule("resources/annotations-valid", level=MUST, fault=SERVER, on=RICH, methods=WITH_URIS, dirs=FROM_SERVER,
      eras=BOTH, source=SCHEMA + "Annotations")  # fmt: skip
def annotations_out_of_range(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Annotations name another audience than user and assistant, or a priority beyond 0 to 1.

    Why it matters: clients sort and filter by them.
    Cannot tell: a lastModified in another form than ISO 8601 is only noted.
    """
    if b'"annotations"' not in answer.raw:
        return
    for path, entry in _entries(answer):
        notes = entry.get("annotations", ABSENT)
        if notes is ABSENT:
            continue
        ctx.tested()
        for name, saw, wanted, level in _odd(notes):
            yield ctx.finding(answer, saw=saw, expected=wanted, path=f"{path}/annotations{name}", level=level,
                              text=f"annotations{name.replace('/', '.')} is {saw!r:.80}, not {wanted}")  # fmt: skip


def _odd(notes: Any) -> Iterator[tuple[str, Any, str, str | None]]:
    if type(notes) is not dict:
        yield "", notes, "an object", None
        return
    audience, priority, modified = (
        notes.get("audience", []),
        notes.get("priority", 0),
        notes.get("lastModified", ABSENT),
    )
    if type(audience) is not list or any(type(who) is not str or who not in AUDIENCE for who in audience):
        yield "/audience", audience, "an array of user and assistant", None
    if type(priority) not in (int, float) or not 0 <= priority <= 1:
        yield "/priority", priority, "a number from 0 to 1", None
    if modified is ABSENT:
        return
    if type(modified) is not str:
        yield "/lastModified", modified, "a string", None
    elif not is_iso_8601(modified):
        yield "/lastModified", modified, "a time in ISO 8601", "info"
