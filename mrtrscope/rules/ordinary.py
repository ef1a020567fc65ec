"""What is certainly in order about the shape of a message, so that most never meet the schema of their revision.

Validation by `mcp-types` costs more than all rules together; nearly all traffic is a handful of shapes. What `shaped`
does not know goes to `schema/wire-valid`, what `plain_text` denies to the rules about content blocks.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.wire.events import Message

_LISTS = frozenset({
    "tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover", "ping",
})  # fmt: skip
_CALL = frozenset({"name", "arguments", "_meta", "inputResponses", "requestState"})
_READ = frozenset({"uri", "_meta", "inputResponses", "requestState"})
_PAGE = frozenset({"cursor", "_meta"})
_META = frozenset({"_meta"})
_RESULT = frozenset({"content", "_meta", "resultType", "isError"})
_RICH = frozenset({"contents", "messages", "resourceTemplates", "resources", "structuredContent"})
_EMPTY = frozenset({"_meta", "resultType"})
_PROGRESS = frozenset({"progressToken", "progress", "total", "message", "_meta"})
_NUMBER = (int, float)


def plain_text(result: dict[str, Any]) -> bool:
    """The result has no content blocks but bare texts, nothing structured, and no list of things with a URI."""
    if not _RICH.isdisjoint(result):
        return False
    content = result.get("content")
    if content is None:
        return "content" not in result
    if type(content) is not list:
        return False
    for block in content:
        if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
            return False
        if type(block.get("text")) is not str:
            return False
    return True


def shaped(message: Message, plain: bool) -> bool:
    """Whether a message certainly fits the schema, `_meta` and what belongs to rounds aside; `plain`: of its result."""
    body = message.body
    if message.kind == "response":
        result = body["result"]
        if "content" in result:
            return bool(plain and result.keys() <= _RESULT and type(result.get("isError", False)) is bool)
        return bool(result.get("resultType") == "input_required" or result.keys() <= _EMPTY)
    params = body.get("params")
    if type(params) is not dict:
        return True  # jsonrpc/params-object, or there are none
    method = message.method
    if method == "tools/call":
        return (
            params.keys() <= _CALL
            and type(params.get("name")) is str
            and type(params.get("arguments", {})) is dict
        )
    if method == "notifications/progress":
        return (
            params.keys() <= _PROGRESS
            and type(params.get("progressToken")) in (str, int)
            and type(params.get("progress")) in _NUMBER
            and type(params.get("total", 0)) in _NUMBER
            and type(params.get("message", "")) is str
        )
    if method in _LISTS:
        return params.keys() <= _PAGE and type(params.get("cursor", "")) is str
    if method == "resources/read":
        return params.keys() <= _READ and type(params.get("uri")) is str
    if method == "prompts/get":
        arguments = params.get("arguments", {})
        return (
            params.keys() <= _CALL
            and type(params.get("name")) is str
            and type(arguments) is dict
            and all(type(v) is str for v in arguments.values())
        )
    return method is not None and method.endswith("/list_changed") and params.keys() <= _META
