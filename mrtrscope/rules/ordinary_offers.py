"""What is certainly in order about what peers say they offer: handshakes, and lists of tools, prompts and resources.

Nearly every capture has them, and nothing else that would need the schemas of `mcp-types`, whose import takes longer
than to judge a thousand messages. Here, as in `ordinary`, every member has to be a usual one with a usual value; rules
about icons, dialects and the like see these messages all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Certain = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return type(value) is str


def _flag(value: Any) -> bool:
    return type(value) is bool


def _object(value: Any) -> bool:
    return type(value) is dict


def _objects(value: Any) -> bool:
    return type(value) is dict and all(type(one) is dict for one in value.values())


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(one) is str for one in value)


def _members(known: dict[str, Certain], *needed: str) -> Certain:
    """An object of these members alone, among them the needed ones."""

    def certain(value: Any) -> bool:
        if type(value) is not dict or not all(name in value for name in needed):
            return False
        for name, part in value.items():
            check = known.get(name)
            if check is None or not check(part):
                return False
        return True

    return certain


def _list_of(one: Certain) -> Certain:
    return lambda value: type(value) is list and all(map(one, value))


def _schema_of_object(value: Any) -> bool:
    if type(value) is not dict or value.get("type") != "object" or type(value.get("$schema", "")) is not str:
        return False
    properties = value.get("properties", {})
    sound = type(properties) is dict and all(type(part) is dict for part in properties.values())
    return sound and _texts(value.get("required", []))


_NOTHING = _members({})
_LISTED = _members({"listChanged": _flag})
_PEER = _members({"name": _text, "version": _text, "title": _text}, "name", "version")
_SERVER = _members({
    "completions": _NOTHING, "logging": _NOTHING, "prompts": _LISTED, "tools": _LISTED,
    "resources": _members({"listChanged": _flag, "subscribe": _flag}), "experimental": _objects,
    "extensions": _objects,
})  # fmt: skip
_CLIENT = _members({
    "roots": _LISTED, "sampling": _members({"context": _NOTHING, "tools": _NOTHING}),
    "elicitation": _members({"form": _NOTHING, "url": _NOTHING}), "experimental": _objects,
    "extensions": _objects,
})  # fmt: skip
_HINTS = _members({
    "title": _text, "readOnlyHint": _flag, "destructiveHint": _flag, "idempotentHint": _flag, "openWorldHint": _flag,
})  # fmt: skip
_TOOL = _members({
    "name": _text, "title": _text, "description": _text, "inputSchema": _schema_of_object,
    "outputSchema": _schema_of_object, "annotations": _HINTS, "_meta": _object,
}, "name", "inputSchema")  # fmt: skip
_ARGUMENT = _members({"name": _text, "title": _text, "description": _text, "required": _flag}, "name")
_PROMPT = _members({
    "name": _text, "title": _text, "description": _text, "arguments": _list_of(_ARGUMENT), "_meta": _object,
}, "name")  # fmt: skip
_PLACE: dict[str, Certain] = {
    "name": _text, "title": _text, "description": _text, "mimeType": _text, "_meta": _object,
}  # fmt: skip


def _anything(value: Any) -> bool:
    return True


_RESOURCE = _members(_PLACE | {"uri": _text}, "name", "uri")
_TEMPLATE = _members(_PLACE | {"uriTemplate": _text}, "name", "uriTemplate")

# What rules of their own look after, see `wire_shapes`.
_AROUND: dict[str, Certain] = dict.fromkeys(("_meta", "resultType", "ttlMs", "cacheScope"), _anything)
_OF_LISTS: dict[str, Certain] = {**_AROUND, "nextCursor": _text}

# By the method of the request.
_RESULTS: dict[str, Certain] = {
    "server/discover": _members({
        **_AROUND, "supportedVersions": _texts, "capabilities": _SERVER, "instructions": _text,
    }, "supportedVersions", "capabilities"),
    "initialize": _members({
        **_AROUND, "protocolVersion": _text, "capabilities": _SERVER, "instructions": _text, "serverInfo": _PEER,
    }, "protocolVersion", "capabilities", "serverInfo"),
    "tools/list": _members({**_OF_LISTS, "tools": _list_of(_TOOL)}, "tools"),
    "prompts/list": _members({**_OF_LISTS, "prompts": _list_of(_PROMPT)}, "prompts"),
    "resources/list": _members({**_OF_LISTS, "resources": _list_of(_RESOURCE)}, "resources"),
    "resources/templates/list": _members({**_OF_LISTS, "resourceTemplates": _list_of(_TEMPLATE)}, "resourceTemplates"),
}  # fmt: skip
_INITIALIZE = _members({
    "protocolVersion": _text, "capabilities": _CLIENT, "clientInfo": _PEER, "_meta": _object,
}, "protocolVersion", "capabilities", "clientInfo")  # fmt: skip


def offered(method: str, result: dict[str, Any]) -> bool:
    """Whether a server's result to a handshake or for a list certainly fits its schema."""
    certain = _RESULTS.get(method)
    return certain is not None and certain(result)


def introduced(params: dict[str, Any]) -> bool:
    """Whether the params of an `initialize` certainly fit their schema."""
    return _INITIALIZE(params)
