"""Who talks to whom in which revision: channels, sessions, clients, and the era of a request.

Computed once here, read by rules. What has to outlive the frames goes through `Memory`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mrtrscope.link import agents
from mrtrscope.link.canonical import canonical, declaration_text, spelling
from mrtrscope.link.facts import (
    A2A,
    LEGACY,
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    MODERN,
    MODERN_SINCE,
    UNKNOWN,
    Client,
    Exchange,
)
from mrtrscope.link.memory import Memory, digest
from mrtrscope.wire.events import Event, HttpExchange, Message, NonMessage, Peer, session_token

if TYPE_CHECKING:
    from mrtrscope.link.processes import Process


DECLARATIONS = 256  # texts of which it is known what they declare
ADDRESSES = 1_000  # of which nothing is known but that somebody asked there
DOCUMENTS = ("/.well-known/oauth-", "/.well-known/openid-configuration", "/.well-known/agent")
HEADS = ("mcp-", "a2a-")
ELSEWHERE = "elsewhere"  # the name that all others share


class Channel:
    """One server side.

    name        see DESIGN            transport   "stdio" or "http"
    modern, legacy   how many requests of each era were answered; `initialized` successful handshakes
    facts       what rules on this channel need to have seen, by area; JSON values only, bounded by who writes them
    processes   the latest processes of a stdio channel by `Peer.id`; see `link.processes`
    last        when the latest message came
    known       False for an address that carried nothing of ours yet: no message, no step of an authorization
    """

    __slots__ = (
        "facts",
        "initialized",
        "known",
        "last",
        "legacy",
        "modern",
        "name",
        "processes",
        "transport",
    )

    def __init__(self, name: str, transport: str) -> None:
        self.name = name
        self.transport = transport
        self.modern = 0
        self.legacy = 0
        self.initialized = 0
        self.facts: dict[str, Any] = {}
        self.processes: OrderedDict[str, Process] = OrderedDict()
        self.last = 0
        self.known = False


class Declared:
    """What a request says about itself, directly or through the session it belongs to.

    era, version   see `Exchange`          capabilities   None when nothing was declared
    info           clientInfo as canonical JSON, "" when absent
    """

    __slots__ = ("capabilities", "era", "info", "version")

    def __init__(self, era: str, version: str, capabilities: dict[str, Any] | None, info: str) -> None:
        self.era = era
        self.version = version
        self.capabilities = capabilities
        self.info = info


_modern: dict[bytes, Declared] = {}  # by `declaration_text`: the same comes with every request of a client


def is_modern(version: object) -> bool:
    """Whether a protocol version string is 2026-07-28 or later."""
    return type(version) is str and len(version) == 10 and version >= MODERN_SINCE and version[:4].isdigit()


def is_legacy(version: object) -> bool:
    """Whether a protocol version string is one of the dated revisions before 2026-07-28."""
    return (
        type(version) is str
        and len(version) == 10
        and "2024-" <= version < MODERN_SINCE
        and version[:4].isdigit()
    )


def scope_of(peer: Peer, channel: str, http: HttpExchange | None) -> str:
    """Within what ids and tokens are one namespace: a process, an HTTP session, else all of a channel."""
    if http is None:
        return peer.id
    session = (
        http.request_header("mcp-session-id")
        or http.response_header("mcp-session-id")
        or http.facts.get("pair")  # 2024-11-05: a stream of its own for each
    )
    return f"{channel}\0{session_token(session)}" if session else f"{channel}\0"


def session_key(event: Event) -> bytes:
    """Under which digest `Memory` keeps what the handshake of this session, connection or process said."""
    session = session_id(event.http)
    return session_digest(event.channel, session) if session else digest("peer", event.peer.id)


def session_id(http: HttpExchange | None) -> str:
    """What names the session that a request by HTTP goes on with: its id, or its stream (2024-11-05); "" for none."""
    return "" if http is None else http.request_header("mcp-session-id") or http.facts.get("pair") or ""


def handshake_key(exchange: Exchange) -> bytes:
    """Under which digest a handshake is kept that was answered: that of `session_key` for all that follows it."""
    http = exchange.http
    session = (http.response_header("mcp-session-id") or http.facts.get("pair")) if http is not None else None
    return session_digest(exchange.request.channel, session) if session else digest("peer", exchange.peer.id)


def session_digest(channel: str, id: str) -> bytes:
    """Under which digest things of an HTTP session are kept: nothing in the database shall lead to its id."""
    return digest("session", channel, session_token(id))


def known_session(memory: Memory, event: Event) -> bool:
    """Whether the handshake that this belongs to was seen."""
    return memory.get("session", session_key(event)) is not None


def session_version(memory: Memory, event: Event) -> str:
    """The revision that the session of a message negotiated, "" when its handshake was not seen."""
    text = memory.get("session", session_key(event))
    return "" if text is None else str(json.loads(text)["version"])


class Sessions:
    """Remembers handshakes and channels; tells what a request declares."""

    def __init__(self, memory: Memory, salt: bytes) -> None:
        self._memory = memory
        self._salt = salt
        self.channels: dict[str, Channel] = {}
        self.elsewhere = Channel(ELSEWHERE, "http")
        self._unknown = 0  # how many of the channels are
        self._subjects: dict[bytes, bytes] = {}  # digest of a credential -> digest of its subject

    def channel(self, name: str, transport: str) -> Channel:
        found = self.channels.get(name)
        if found is None:
            found = self.channels[name] = Channel(name, transport)
            self._unknown += 1
        return found

    def of(self, event: Event) -> Channel:
        """The channel that an event belongs to. Through a proxy pass pages of any kind: beyond `ADDRESSES` of them they
        have one in common."""
        found = self.channels.get(event.channel)
        if found is None:
            if self._unknown >= ADDRESSES and not _is_ours(event):
                return self.elsewhere
            found = self.channel(event.channel, event.peer.transport)
        if not found.known and _is_ours(event):
            found.known = True
            self._unknown -= 1
        return found

    def declared(self, request: Message) -> Declared:
        """Era, version, capabilities and clientInfo of a request (`era` and `revisions` in the rule catalogue)."""
        if agents.speaks(request):
            return Declared(A2A, agents.version(request), None, "")
        text = declaration_text(request)
        known = _modern.get(text) if text is not None else None
        if known is not None:
            return known
        meta = request.meta
        version = meta.get(META_VERSION)
        http = request.http
        header = http.request_header("mcp-protocol-version") if http is not None else None
        if type(version) is str and is_modern(version):
            found = Declared(MODERN, version, _dict_or_none(meta.get(META_CAPABILITIES)), self._info(meta))
            if text is not None:
                if len(_modern) >= DECLARATIONS:
                    _modern.clear()
                _modern[text] = found
            return found
        if is_modern(header):
            return Declared(MODERN, str(header), _dict_or_none(meta.get(META_CAPABILITIES)), self._info(meta))
        if request.method == "initialize":
            return self._of_initialize(request)
        session = self._session(request)
        if session is not None:
            return Declared(LEGACY, session["version"], session["capabilities"], session["info"])
        if is_legacy(header):
            return Declared(LEGACY, str(header), None, "")
        return Declared(UNKNOWN, "", _dict_or_none(meta.get(META_CAPABILITIES)), self._info(meta))

    def _of_initialize(self, request: Message) -> Declared:
        params = request.params
        info = params.get("clientInfo")
        wanted = params.get("protocolVersion")
        return Declared(
            LEGACY,
            wanted if type(wanted) is str and is_legacy(wanted) else "",
            _dict_or_none(params.get("capabilities")),
            canonical(info) if type(info) is dict else "",
        )

    def _info(self, meta: Mapping[str, Any]) -> str:
        info = meta.get(META_CLIENT_INFO)
        if type(info) is not dict:
            return ""
        return spelling(info)

    def initialized(self, exchange: Exchange) -> None:
        """A handshake succeeded: from now on this session (or connection, or process) is legacy."""
        answer = exchange.answer
        if answer is None or not answer.result:
            return
        version = answer.result.get("protocolVersion")
        exchange.version = version if type(version) is str else exchange.version
        params = exchange.request.params
        info = params.get("clientInfo")
        text = json.dumps({
            "version": exchange.version,
            "capabilities": _dict_or_none(params.get("capabilities")),
            "info": canonical(info) if type(info) is dict else "",
        })  # fmt: skip
        self._memory.set("session", handshake_key(exchange), text)

    def _session(self, request: Message) -> dict[str, Any] | None:
        text = self._memory.get("session", session_key(request))
        if text is None:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def client(self, request: Message, declared: Declared) -> Client:
        """Who sent the request, as far as it can be told."""
        http = request.http
        if http is None:
            return Client(request.peer.id, b"", declared.info, "")
        credential = http.request_header("authorization") or ""
        token = hashlib.blake2b(
            credential.encode("latin-1", "replace"), digest_size=16, key=self._salt
        ).digest()
        return Client(
            request.peer.id,
            token if credential else b"",
            declared.info,
            request.peer.address.rpartition(":")[0],
            self._subject(credential, token) if credential else b"",
        )

    def secret(self, text: str) -> str:
        """Stands for a secret, in this capture alone."""
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, key=self._salt).hexdigest()

    def _subject(self, credential: str, token: bytes) -> bytes:
        found = self._subjects.get(token)
        if found is None:
            if len(self._subjects) > 256:
                self._subjects.clear()
            found = self._subjects[token] = subject_of(credential, self._salt)
        return found


def subject_of(credential: str, salt: bytes) -> bytes:
    """Digest of the issuer and subject that a bearer JWT names; b"" for anything else. Nothing is verified."""
    token = credential.rpartition(" ")[2]
    parts = token.split(".")
    if len(parts) != 3 or len(parts[1]) > 16384:
        return b""
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return b""
    if type(claims) is not dict or type(claims.get("sub")) is not str:
        return b""
    text = canonical([claims.get("iss"), claims["sub"]]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16, key=salt).digest()


def _is_ours(event: Event) -> bool:
    """Whether it is a message or stands in the place of one, a step of an authorization, or says that it is MCP."""
    http = event.http
    if type(event) is Message or event.peer.transport == "stdio":
        return True
    if http is None:
        return False
    if "auth" in http.facts or (type(event) is NonMessage and event.counts):
        return True
    return any(mark in http.url for mark in DOCUMENTS) or any(
        name.lower().startswith(HEADS) for name, _ in http.request_headers
    )


def _dict_or_none(value: Any) -> dict[str, Any] | None:
    return value if type(value) is dict else None
