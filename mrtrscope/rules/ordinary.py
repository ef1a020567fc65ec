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
_RESULT = frozenset({"content", "_meta", "resultType", "isError", "structuredContent"})
_RICH = frozenset({"contents", "messages", "resourceTemplates", "resources", "structuredContent"})
_MESSAGES = frozenset({"messages", "description", "_meta", "resultType"})
_CONTENTS = frozenset({"contents", "_meta", "resultType", "ttlMs", "cacheScope"})
_EMPTY = frozenset({"_meta", "resultType"})
_PROGRESS = frozenset({"progressToken", "progress", "total", "message", "_meta"})
_NUMBER = (int, float)


def plain_text(result: dict[str, Any]) -> bool:
    """The result has no content blocks but bare texts, nothing structured, and no list of things with a URI."""
    if not _RICH.isdisjoint(result):
        return False
    return "content" not in result or _texts(result["content"])


def _texts(content: Any) -> bool:
    """An array of bare texts."""
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
            known = result.keys() <= _RESULT and type(result.get("isError", False)) is bool
            return bool(known and (plain or _texts(result["content"])))
        if "messages" in result:
            return result.keys() <= _MESSAGES and _plain_messages(
                result["messages"], result.get("description", "")
            )
        if "contents" in result:
            return result.keys() <= _CONTENTS and _plain_contents(result["contents"]) and _hinted(result)
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


def _plain_messages(messages: Any, description: Any) -> bool:
    """Texts of a prompt."""
    if type(messages) is not list or type(description) is not str:
        return False
    for message in messages:
        if type(message) is not dict or len(message) != 2 or message.get("role") not in ("user", "assistant"):
            return False
        content = message.get("content")
        if type(content) is not dict or len(content) != 2 or content.get("type") != "text":
            return False
        if type(content.get("text")) is not str:
            return False
    return True


def _plain_contents(contents: Any) -> bool:
    """Texts of a resource."""
    if type(contents) is not list:
        return False
    for one in contents:
        if type(one) is not dict or type(one.get("uri")) is not str or type(one.get("text")) is not str:
            return False
        if len(one) != 2 and (len(one) != 3 or type(one.get("mimeType")) is not str):
            return False
    return True


def _hinted(result: dict[str, Any]) -> bool:
    """Its freshness hints, if any, have the right form."""
    ttl = result.get("ttlMs", 0)
    return type(ttl) is int and ttl >= 0 and result.get("cacheScope", "private") in ("private", "public")
