"""Icons that were offered, and how they are fetched, where that passes the same recorder.

An HTTP request for the address of an icon, or one that follows a redirection of such a request, has in
`event.http.facts["icon"]`: {"key": message that offers it, "from": address that redirected here, "" for none}.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urljoin

from mrtrscope.link.facts import META_SERVER_INFO
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.origins import split
from mrtrscope.wire.events import HttpExchange, Message

LIMIT, MANY = 8192, 2000  # characters of an address; entries and icons of one message that are looked at
SOON = 10_000_000  # µs within which a redirection is followed
LISTS = {
    "tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}  # fmt: skip
_SPACE, _MOVED = "icon", "icon-moved"


class Icons:
    """Files addresses; `named` says whether there is any."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.named = False

    def offered(self, message: Message, method: str, host: str) -> None:
        """A message with icons went to, or came from, a client at `host`."""
        for _, src in sources(message, method):
            if type(src) is str and len(src) <= LIMIT and src.lower().startswith(("http://", "https://")):
                self.named = True
                self._memory.set(_SPACE, digest("icon", src), json.dumps([message.key, host]))

    def requested(self, http: HttpExchange) -> None:
        """The head of a request came."""
        if not self.named or http.method not in ("GET", "HEAD") or len(http.url) > LIMIT:
            return
        moved = self._memory.get(_MOVED, digest("icon", http.url))
        if moved is not None:
            key, source, host, t = json.loads(moved)
            if http.t - t <= SOON and host == _host(http):
                http.facts["icon"] = {"key": key, "from": source}
                return
        text = self._memory.get(_SPACE, digest("icon", http.url))
        if text is not None:
            key, host = json.loads(text)
            if host in ("", _host(http)):
                http.facts["icon"] = {"key": key, "from": ""}

    def redirected(self, http: HttpExchange) -> None:
        """The head of the answer to it came."""
        found, where = http.facts["icon"], http.response_header("location")
        if not 300 <= (http.status or 0) < 400 or where is None or len(where) > LIMIT:
            return
        try:
            url = urljoin(http.url, where)
        except ValueError:
            return
        if split(url) is not None:
            row = [found["key"], http.url, _host(http), http.t]
            self._memory.set(_MOVED, digest("icon", url), json.dumps(row))


def sources(message: Message, method: str) -> list[tuple[str, Any]]:
    """(JSON pointer, src) of every icon that a message has where the protocol puts icons."""
    found: list[tuple[str, Any]] = []
    if message.kind == "request":
        meta, params = message.meta, message.params
        _of(
            meta.get("io.modelcontextprotocol/clientInfo"),
            "/params/_meta/io.modelcontextprotocol~1clientInfo",
            found,
        )
        _of(params.get("clientInfo"), "/params/clientInfo", found)
        return found
    result = message.result
    own = result.get("_meta")
    if type(own) is dict:
        _of(
            own.get(META_SERVER_INFO),
            "/result/_meta/io.modelcontextprotocol~1serverInfo",
            found,
        )
    _of(result.get("serverInfo"), "/result/serverInfo", found)
    member = LISTS.get(method)
    entries = result.get(member) if member is not None else None
    for n, entry in enumerate(entries[:MANY] if type(entries) is list else ()):
        _of(entry, f"/result/{member}/{n}", found)
        if len(found) > MANY:
            break
    return found


def _of(holder: Any, path: str, found: list[tuple[str, Any]]) -> None:
    icons = holder.get("icons") if type(holder) is dict else None
    for n, icon in enumerate(icons[:64] if type(icons) is list else ()):
        if type(icon) is dict:
            found.append((f"{path}/icons/{n}/src", icon.get("src")))


def _host(http: HttpExchange) -> str:
    return http.peer.address.rpartition(":")[0]
