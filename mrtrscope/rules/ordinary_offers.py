"""What is certainly in order about what peers say they offer: handshakes, and lists of tools, prompts and resources.

Nearly every capture has them, and nothing else that would need the schemas of `mcp-types`, whose import takes longer
than to judge a thousand messages. Here, as in `ordinary`, every member has to be a usual one with a usual value; rules
about icons, dialects and the like see these messages all the same.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.rules.plain_schema import Fits, compiled

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object"}
_OBJECTS: Schema = {"type": "object", "additionalProperties": _OBJECT}


def members(known: dict[str, Schema], *needed: str) -> Schema:
    """An object of these members alone, among them the needed ones."""
    return {"type": "object", "properties": known, "required": list(needed), "additionalProperties": False}


def list_of(one: Schema) -> Schema:
    return {"type": "array", "items": one}


def certain(schema: Schema) -> Fits:
    """Whether a value certainly fits this schema, which has to be a plain one."""
    fits = compiled(schema)
    assert fits is not None
    return fits


_NOTHING = members({})
_LISTED = members({"listChanged": _FLAG})
_PEER = members({"name": TEXT, "version": TEXT, "title": TEXT}, "name", "version")
_SERVER = members({
    "completions": _NOTHING, "logging": _NOTHING, "prompts": _LISTED, "tools": _LISTED,
    "resources": members({"listChanged": _FLAG, "subscribe": _FLAG}), "experimental": _OBJECTS,
    "extensions": _OBJECTS,
})  # fmt: skip
_CLIENT = members({
    "roots": _LISTED, "sampling": members({"context": _NOTHING, "tools": _NOTHING}),
    "elicitation": members({"form": _NOTHING, "url": _NOTHING}), "experimental": _OBJECTS,
    "extensions": _OBJECTS,
})  # fmt: skip
_HINTS = members({
    "title": TEXT, "readOnlyHint": _FLAG, "destructiveHint": _FLAG, "idempotentHint": _FLAG, "openWorldHint": _FLAG,
})  # fmt: skip
_SCHEMA_OF_OBJECT: Schema = {
    "type": "object", "required": ["type"], "properties": {
        "type": {"enum": ["object"]}, "$schema": TEXT, "properties": _OBJECTS, "required": list_of(TEXT),
    },
}  # fmt: skip
_TOOL = members({
    "name": TEXT, "title": TEXT, "description": TEXT, "inputSchema": _SCHEMA_OF_OBJECT,
    "outputSchema": _SCHEMA_OF_OBJECT, "annotations": _HINTS, "_meta": _OBJECT,
}, "name", "inputSchema")  # fmt: skip
_ARGUMENT = members({"name": TEXT, "title": TEXT, "description": TEXT, "required": _FLAG}, "name")
_PROMPT = members({
    "name": TEXT, "title": TEXT, "description": TEXT, "arguments": list_of(_ARGUMENT), "_meta": _OBJECT,
}, "name")  # fmt: skip
_PLACE = {"name": TEXT, "title": TEXT, "description": TEXT, "mimeType": TEXT, "_meta": _OBJECT}
_RESOURCE = members(_PLACE | {"uri": TEXT}, "name", "uri")
_TEMPLATE = members(_PLACE | {"uriTemplate": TEXT}, "name", "uriTemplate")

# What rules of their own look after, see `wire_shapes`.
_AROUND: dict[str, Schema] = {name: {} for name in ("_meta", "resultType", "ttlMs", "cacheScope")}
_OF_LISTS = _AROUND | {"nextCursor": TEXT}

# By the method of the request.
_RESULTS = {method: certain(schema) for method, schema in {
    "server/discover": members({
        **_AROUND, "supportedVersions": list_of(TEXT), "capabilities": _SERVER, "instructions": TEXT,
    }, "supportedVersions", "capabilities"),
    "initialize": members({
        **_AROUND, "protocolVersion": TEXT, "capabilities": _SERVER, "instructions": TEXT, "serverInfo": _PEER,
    }, "protocolVersion", "capabilities", "serverInfo"),
    "tools/list": members(_OF_LISTS | {"tools": list_of(_TOOL)}, "tools"),
    "prompts/list": members(_OF_LISTS | {"prompts": list_of(_PROMPT)}, "prompts"),
    "resources/list": members(_OF_LISTS | {"resources": list_of(_RESOURCE)}, "resources"),
    "resources/templates/list": members(_OF_LISTS | {"resourceTemplates": list_of(_TEMPLATE)}, "resourceTemplates"),
}.items()}  # fmt: skip
_INITIALIZE = certain(members({
    "protocolVersion": TEXT, "capabilities": _CLIENT, "clientInfo": _PEER, "_meta": _OBJECT,
}, "protocolVersion", "capabilities", "clientInfo"))  # fmt: skip


def offered(method: str, result: dict[str, Any]) -> bool:
    """Whether a server's result to a handshake or for a list certainly fits its schema."""
    fits = _RESULTS.get(method)
    return fits is not None and fits(result)


def introduced(params: dict[str, Any]) -> bool:
    """Whether the params of an `initialize` certainly fit their schema."""
    return _INITIALIZE(params)
