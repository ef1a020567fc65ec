"""Tool definitions that clients were given: which one a call is held to, and what its schema asks of HTTP headers.

A definition is known by channel, credential (stdio: process) and name, since a list may depend on who asks for it; the
newest one counts. Definitions are kept for ever in `Memory`, each text once however often it is listed. A call has its
own in `Exchange.tool`, None when none was seen: then it may lie before the capture.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from mrtrscope.link.facts import Client, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.wire.events import ABSENT, Message

CALL, LIST = "tools/call", "tools/list"
HOT = 1024  # tools and definitions kept as objects
TOOLS = 10_000  # of one page that are looked at
TEXT_LIMIT = 1 << 20  # characters of a definition; a larger one is known by name only
NODES = 50_000  # places of a schema that are looked at

HEADER = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PRIMITIVE = frozenset({"string", "integer", "boolean"})

# Keywords under which schemas stand: one, several by name, several in a row.
_ONE = frozenset({
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
_NAMED = frozenset({
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
})  # fmt: skip
_ROW = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})

Path = tuple[str | int, ...]


class Annotation:
    """One x-mcp-header in an inputSchema.

    path    of the annotated schema        value   the name it asks for, of any JSON type
    types   what `type` says beside it, a list (empty when it is missing or no string or list)
    faults  what is wrong with it: "name", "unique", "primitive", "reachable"; "nullable" is unclear, no fault
    """

    __slots__ = ("faults", "path", "types", "value")

    def __init__(self, path: Path, value: Any, types: list[Any]) -> None:
        self.path = path
        self.value = value
        self.types = types
        self.faults: list[str] = []


class Definition:
    """What a tool is said to be.

    text         the definition as JSON, "" when it was too large to keep
    digest       stands for the text
    input, output   inputSchema and outputSchema of any JSON type, ABSENT when there is none
    annotations  every x-mcp-header of inputSchema
    refs         http and https addresses that a schema of it refers to and does not hold itself
    """

    __slots__ = ("annotations", "digest", "input", "output", "refs", "text")

    def __init__(self, text: str) -> None:
        self._read(text)

    def _read(self, text: str) -> None:
        self.text = text
        self.digest = digest(text).hex()
        body = json.loads(text) if text else {}
        self.input: Any = body.get("inputSchema", ABSENT)
        self.output: Any = body.get("outputSchema", ABSENT)
        self.annotations = headers_asked(self.input) if f'"{HEADER}"' in text else []
        self.refs = network_refs(self.input) + network_refs(self.output) if "http" in text else []

    def __snapshot__(self) -> dict[str, Any]:
        return {"text": self.text}

    def __restore__(self, fields: dict[str, Any]) -> None:
        self._read(fields["text"])

    @property
    def sound(self) -> bool:
        """No annotation breaks the rules about them."""
        return not any(a.faults for a in self.annotations)

    @property
    def headers(self) -> list[tuple[str, Path, str]]:
        """(name, names of the properties that lead to the argument, type) of each header to send; [] when unsound."""
        if not self.sound:
            return []
        return [(a.value, a.path[1::2], str(next(iter(a.types)))) for a in self.annotations]


class Tool:
    """A definition as somebody was given it: `key` and `t` of the newest answer that had it, `client` who got that."""

    __slots__ = ("client", "definition", "key", "name", "t")

    def __init__(self, name: str, definition: Definition, key: str, t: int, client: Client) -> None:
        self.name = name
        self.definition = definition
        self.key = key
        self.t = t
        self.client = client


class Tools:
    """Files definitions, and finds that of a call."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._forget()

    def _forget(self) -> None:
        self._tools: OrderedDict[tuple[str, str, str], Tool | None] = OrderedDict()
        self._definitions: OrderedDict[str, Definition] = OrderedDict()

    def __snapshot__(self) -> dict[str, object]:
        return {"_memory": self._memory}  # all of it is in memory

    def __restore__(self, fields: dict[str, Any]) -> None:
        self._memory = fields["_memory"]
        self._forget()

    def listed(self, exchange: Exchange, answer: Message) -> list[str]:
        """An answer to tools/list: remember what it defines. Returned are the network addresses it refers to."""
        tools, refs = answer.result.get("tools"), []
        for body in tools[:TOOLS] if type(tools) is list else ():
            name = body.get("name") if type(body) is dict else None
            if type(name) is not str:
                continue
            text = json.dumps(body, separators=(",", ":"))
            definition = self._definition(text if len(text) <= TEXT_LIMIT else "")
            refs += definition.refs
            client = exchange.client
            where = (*scope_of_lists(exchange), name)
            _keep(self._tools, where, Tool(name, definition, answer.key, answer.t, client))
            if self._memory.get("tool-text", bytes.fromhex(definition.digest)) is None:
                self._memory.set("tool-text", bytes.fromhex(definition.digest), definition.text)
            row = [
                definition.digest,
                answer.key,
                answer.t,
                client.peer,
                client.credential.hex(),
                client.info,
                client.host,
            ]
            self._memory.set("tool", _digest(where), json.dumps(row))
        return refs

    def called(self, exchange: Exchange) -> Tool | None:
        """The newest definition of the tool that a request names, as its sender's credential saw it."""
        where = (*scope_of_lists(exchange), exchange.target)
        try:
            found = self._tools[where]
            self._tools.move_to_end(where)
        except KeyError:
            found = self._recall(where)
            _keep(self._tools, where, found)
        return found

    def _recall(self, where: tuple[str, str, str]) -> Tool | None:
        return _read(self._memory, where, self._definition)

    def _definition(self, text: str) -> Definition:
        found = self._definitions.get(text)
        if found is None:
            found = Definition(text)
            _keep(self._definitions, text, found)
        return found


def defined(memory: Memory, exchange: Exchange, name: str) -> Tool | None:
    """The newest definition of any tool, for whoever sent this request; for calls there is `Exchange.tool`."""
    return _read(memory, (*scope_of_lists(exchange), name), Definition)


def _read(memory: Memory, where: tuple[str, str, str], make: Callable[[str], Definition]) -> Tool | None:
    row = memory.get("tool", _digest(where))
    if row is None:
        return None
    of_text, key, t, peer, credential, info, host = json.loads(row)
    text = memory.get("tool-text", bytes.fromhex(of_text)) or ""
    return Tool(where[2], make(text), key, t, Client(peer, bytes.fromhex(credential), info, host))


def scope_of_lists(exchange: Exchange) -> tuple[str, str]:
    """For whom a list is one: everybody with this credential; on stdio, this process."""
    whom = exchange.peer.id if exchange.http is None else exchange.client.credential.hex()
    return exchange.request.channel, whom


def _digest(where: tuple[str, str, str]) -> bytes:
    return digest("tool", *where)


def _keep[K, V](cache: OrderedDict[K, V], key: K, value: V) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > HOT:
        cache.popitem(last=False)


def walk(schema: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every schema object in a JSON Schema with its path; not what stands in const, enum, default or examples."""
    left: list[tuple[Path, Any]] = [((), schema)]
    seen = 0
    while left and seen < NODES:
        path, node = left.pop()
        if type(node) is not dict:
            continue
        seen += 1
        yield path, node
        below: list[tuple[Path, Any]] = []
        for key, value in node.items():
            if key in _NAMED and type(value) is dict:
                below += (((*path, key, name), v) for name, v in value.items())
            elif key in _ROW and type(value) is list:
                below += (((*path, key, n), v) for n, v in enumerate(value))
            elif key in _ONE:
                below.append(((*path, key), value))
        left += reversed(below)


def headers_asked(schema: Any) -> list[Annotation]:
    """Every x-mcp-header of an inputSchema, with what is wrong with it."""
    found: list[Annotation] = []
    names: set[str] = set()
    for path, node in walk(schema):
        if HEADER not in node:
            continue
        said = node.get("type")
        note = Annotation(path, node[HEADER], [said] if type(said) is str else _list(said))
        found.append(note)
        if type(note.value) is not str or not TOKEN.fullmatch(note.value):
            note.faults.append("name")
        elif note.value.lower() in names:
            note.faults.append("unique")
        else:
            names.add(note.value.lower())
        if not ((len(note.types) == 1 and note.types[0] in PRIMITIVE) or _nullable(note.types)):
            note.faults.append("primitive")
        if not path or len(path) % 2 or any(step != "properties" for step in path[::2]):
            note.faults.append("reachable")
    return found


def _list(value: Any) -> list[Any]:
    return [v for v in value if type(v) is str] if type(value) is list else []


def _nullable(types: list[Any]) -> bool:
    """One primitive or null: values may be null, but a union of types is not foreseen (COVERAGE §7, 18)."""
    return len(types) == 2 and "null" in types and not PRIMITIVE.isdisjoint(types)


def network_refs(schema: Any) -> list[str]:
    """http and https references of a schema that it does not resolve itself through an `$id` of its own."""
    if type(schema) is not dict:
        return []
    ids, refs = set(), []
    for _, node in walk(schema):
        for key in ("$id", "id"):
            if type(node.get(key)) is str:
                ids.add(node[key].partition("#")[0])
        for key in ("$ref", "$dynamicRef"):
            ref = node.get(key)
            if type(ref) is str and ref.lower().startswith(("http://", "https://")):
                refs.append(ref)
    return [ref for ref in dict.fromkeys(refs) if ref.partition("#")[0] not in ids]
