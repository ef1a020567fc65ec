"""Sorts out at once what is ordinary, so that rules about the form of messages meet only what is not.

A few dozen rules look at what every message has: its version, its id, the keys of its `_meta`. Nearly every message
keeps all of them, and asking each rule would cost more than all the rest. So one function looks at a message once and
says which groups of these rules it concerns; `registry` has their triggers. A rule of a group counts as exercised by
every message of its kind (`exercised=`), also by those that it is never called for.

What is called ordinary here must be beyond reproach for every rule of the group; the other way round a message may well
be sent to a rule that finds nothing.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.canonical import declaration_text
from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO, META_SERVER_INFO, META_VERSION
from mrtrscope.rules import keys
from mrtrscope.rules.ordinary import plain_text, shaped
from mrtrscope.wire.events import Message

ODD, WITH_META, META_ODD, TRACED, DECLARES_ODDLY, RESULT_ODD, RICH, SHAPE = 1, 2, 4, 8, 16, 32, 64, 128

_TRACE = frozenset({"traceparent", "tracestate", "baggage"})
_ORDINARY_TYPES = ("complete", "input_required")
_ODD_METHODS = ("notifications/", "rpc.")  # for a request
_KEYS_LIMIT = 4096
_DECLARATIONS = 64

# Results of pure functions, kept because the same keys and objects come with every message.
_sound_keys: set[str] = set()
_looked_at: dict[bytes, bool] = {}  # `canonical.declaration_text` -> whether it is sound


def screen(message: Message) -> int:
    """What is worth a look about a message: a sum of the constants above."""
    body = message.body
    if type(body) is not dict:
        return ODD
    odd = ODD if message.oddities or body.get("jsonrpc") != "2.0" else 0
    kind = message.kind
    if kind == "request":
        kind_of_id = type(message.id)
        method = message.method
        if kind_of_id is not int and kind_of_id is not str:
            odd |= ODD
        if method is None or method.startswith(_ODD_METHODS):
            odd |= ODD
        params = body.get("params")
        if type(params) is dict:
            meta = params.get("_meta")
            odd |= _meta(meta, "_meta" in params, message.raw)
            if not shaped(message, False):
                odd |= SHAPE
        else:
            meta = None
            if "params" in body:
                odd |= ODD
        if message.dir == "c2s" and not _declares(meta, message):
            odd |= DECLARES_ODDLY
    elif kind == "response":
        result = body["result"]
        if type(result) is dict and "error" not in body:
            meta = result.get("_meta")
            odd |= _meta(meta, "_meta" in result, message.raw)
            http = message.http
            if (
                result.get("resultType") not in _ORDINARY_TYPES
                or "status" in result  # a task: its own result is looked at as well
                or type(meta) is not dict
                or not _named(meta.get(META_SERVER_INFO))
                or (http is not None and http.status is not None and http.status >= 400)
            ):
                odd |= RESULT_ODD
            if "capabilities" in result:
                odd |= META_ODD  # extension identifiers follow the rules of keys
            plain = plain_text(result)
            if not plain:
                odd |= RICH
            if not shaped(message, plain):
                odd |= SHAPE
        else:
            odd |= ODD | RESULT_ODD
    elif kind == "notification":
        params = body.get("params")
        method = message.method
        if type(params) is dict:
            odd |= _meta(params.get("_meta"), "_meta" in params, message.raw)
            if not shaped(message, False):
                odd |= SHAPE
        elif "params" in body:
            odd |= ODD
        if method is None or method.startswith("rpc."):
            odd |= ODD
    elif kind == "invalid":
        odd |= ODD
    return odd


def _meta(meta: Any, present: bool, raw: bytes) -> int:
    """About the `_meta` of a message, and whether there is more of them deeper down."""
    if type(meta) is dict:
        found = WITH_META
        if not _sound_keys.issuperset(meta):
            found |= _look_up(meta)
        if "progressToken" in meta and type(meta["progressToken"]) not in (int, str):
            found |= META_ODD
    else:
        found = META_ODD if present else 0
    if raw.count(b'"_meta"') > present:
        found |= META_ODD | WITH_META
    return found


def _look_up(meta: dict[Any, Any]) -> int:
    """Classify keys that were not met before."""
    found = 0
    for key in meta:
        if key in _TRACE:
            found |= TRACED
        elif key not in _sound_keys:
            if keys.faults(key):
                found |= META_ODD
            else:
                if len(_sound_keys) >= _KEYS_LIMIT:
                    _sound_keys.clear()
                _sound_keys.add(key)
    return found


def _declares(meta: Any, request: Message) -> bool:
    """The per-request fields are all there and sound; remembered, for they come with every request of a client."""
    if type(meta) is not dict:
        return False
    text = declaration_text(request)
    if text is None:
        return _sound(meta)
    sound = _looked_at.get(text)
    if sound is None:
        if len(_looked_at) >= _DECLARATIONS:
            _looked_at.clear()
        sound = _looked_at[text] = _sound(meta)
    return sound


def _sound(meta: dict[str, Any]) -> bool:
    capabilities = meta.get(META_CAPABILITIES)
    return (
        type(meta.get(META_VERSION)) is str
        and type(capabilities) is dict
        and _named(meta.get(META_CLIENT_INFO))
        and _plain(capabilities)
    )


def _named(info: Any) -> bool:
    return (
        type(info) is dict
        and type(info.get("name")) is str
        and type(info.get("version")) is str
        and "websiteUrl" not in info
        and "icons" not in info
    )


def _plain(capabilities: dict[str, Any]) -> bool:
    """Only members of this revision, each an object of objects; a mode to be asked in; sound extension identifiers."""
    for name, value in capabilities.items():
        if name not in ("roots", "sampling", "elicitation", "extensions", "experimental"):
            return False
        if type(value) is not dict or not all(type(v) is dict for v in value.values()):
            return False
        if name == "elicitation" and value and "form" not in value and "url" not in value:
            return False
        if name == "extensions" and any(keys.faults(key) or "/" not in key for key in value):
            return False
    return True
