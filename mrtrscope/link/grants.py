"""Authorization, the second half: registration, the authorization request and its callback, tokens.

No secret is kept: codes, tokens, verifiers, states and client ids stand here as salted digests. Facts about one HTTP
exchange are in `http.facts["auth"]`:

    register    `type`, `redirects`, `era`
    authorize   `resource`, `redirect`, `challenge`, `method`, `state` (whether there is one), `scopes` (None: none),
                `pkce`: what the metadata says of it (None: nothing), `era`, `metadata`: its key
                `spelled`: the resource as the metadata has it, where only case or a last slash differs
                `mismatch`: [issuer, issuer that the document names, key] of metadata that should not have been used
                `foreign`: [issuer, key] where the client id was registered, not here
                `document`: fault of a client id that is an address
                `selection`: {"source", "offered", "extra", "missing", "key"} of the first scopes that are asked for
                `union`: {"missing", "key"}, `steps`: how many step-ups for one request, after insufficient_scope
                `no_grant`: key of client metadata that omits the refresh grant that is asked for
                `callback`: {"iss", "issuer", "promised", "told", "era"} when the answer is the callback
    callback    `callback` as above
    token       `grant`, `resource`, `whole`: nothing of the form is missing, `verifier`: "absent", "wrong" or "",
                `state`: what the callback whose code is redeemed had in the place of the state, `iss`: [its iss, the
                issuer] where that is wrong, `key`: the authorization request
                `public`: no client authentication, `rotation`: what the answer says: "same", "used", "kept" or "";
                and as in authorize
    document    `faults`: members of a client's document that are missing or wrong
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

from mrtrscope.link.challenges import basic_user, plain_url, s256, scopes
from mrtrscope.link.discovery import Discovery, keep
from mrtrscope.link.origins import parameters, split
from mrtrscope.link.session import Sessions
from mrtrscope.wire.events import ABSENT, HttpExchange

FORM_LIMIT = 4096  # bytes of a form that are there to be read
SIMULTANEOUS = 1_000_000  # µs within which one refresh token may be used twice by requests under way at once
CODES = 8  # authorizations under one code

AUTHORIZE, TOKEN, REGISTER = "authorization_endpoint", "token_endpoint", "registration_endpoint"
CODE_GRANT, REFRESH_GRANT = "authorization_code", "refresh_token"

_ADDRESS = re.compile(r"https?://", re.I)


class Authorization:
    """An authorization request; digests where something is secret.

    key        of the request                  issuer     that its endpoint belongs to; `guessed`: nobody named it
    state      "" when there is none           challenge  code_challenge, which is public
    promised   whether the metadata promises `iss` in the callback
    back       None until the callback came: {"state", "iss", "key"}
    """

    __slots__ = ("back", "challenge", "guessed", "issuer", "key", "promised", "state")

    def __init__(self, key: str, endpoint: dict[str, Any], state: str, challenge: str) -> None:
        self.key = key
        self.issuer: str = endpoint["issuer"]
        self.guessed: bool = endpoint["guessed"]
        self.promised: bool = endpoint["iss"]
        self.state = state
        self.challenge = challenge
        self.back: dict[str, Any] | None = None


class Grants:
    """What is remembered of clients and codes; every key that stands for a secret is a digest.

    registered   client -> {issuer: key}      metadata   client -> [grants or None, key]
    documents    address of a client's document -> True
    by_state, by_code   state, code -> authorization requests
    by_redirect  redirect_uri -> the latest authorization request with it
    refreshed    refresh token -> when it was used for a new one
    issued       credential -> [resource, key] of the token request
    asked        channel and client -> scopes asked for so far
    """

    def __init__(self, discovery: Discovery, sessions: Sessions) -> None:
        self._discovery = discovery
        self._sessions = sessions
        self.registered: OrderedDict[str, dict[str, str]] = OrderedDict()
        self.metadata: OrderedDict[str, list[Any]] = OrderedDict()
        self.documents: OrderedDict[str, bool] = OrderedDict()
        self.by_state: OrderedDict[str, Authorization] = OrderedDict()
        self.by_code: OrderedDict[str, list[Authorization]] = OrderedDict()
        self.by_redirect: OrderedDict[str, Authorization] = OrderedDict()
        self.refreshed: OrderedDict[str, int] = OrderedDict()
        self.issued: OrderedDict[str, list[str]] = OrderedDict()
        self.asked: OrderedDict[str, list[str]] = OrderedDict()

    def _secret(self, text: str) -> str:
        return self._sessions.secret(text)

    # -- registration

    def registers(self, http: HttpExchange, endpoint: dict[str, Any], body: Any, key: str) -> None:
        """The body of a registration request."""
        if type(body) is not dict:
            return
        redirects = body.get("redirect_uris")
        http.facts["auth"] = {
            "step": "register", "era": endpoint["era"], "guessed": endpoint["guessed"], "key": key,
            "issuer": endpoint["issuer"],
            "type": body.get("application_type", ABSENT),
            "redirects": [r for r in redirects[:64] if type(r) is str] if type(redirects) is list else [],
            "grants": scopes(body["grant_types"]) if "grant_types" in body else None,
            "mismatch": self._mismatch(endpoint),
        }  # fmt: skip

    def registered_as(self, http: HttpExchange, body: Any) -> None:
        """The answer: who the client is now."""
        step = http.facts["auth"]
        client = body.get("client_id") if type(body) is dict else None
        if type(client) is str and 200 <= (http.status or 0) < 300:
            name = self._secret(client)
            keep(self.registered, name, self.registered.get(name, {}) | {step["issuer"]: step["key"]})
            keep(self.metadata, name, [step["grants"], step["key"]])

    def document(self, http: HttpExchange, body: Any, key: str) -> None:
        """A client's own document was fetched."""
        url = http.url
        step: dict[str, Any] = {"step": "document", "faults": []}
        if type(body) is not dict or not 200 <= (http.status or 0) < 300:
            return
        http.facts["auth"] = step
        if body.get("client_id") != url:
            step["faults"].append("client_id")
        step["faults"] += [
            name
            for name, kind in (("client_name", str), ("redirect_uris", list))
            if type(body.get(name)) is not kind or not body[name]
        ]
        grants = scopes(body["grant_types"]) if "grant_types" in body else None
        keep(self.metadata, self._secret(url), [grants, key])

    # -- the authorization request

    def authorizes(self, http: HttpExchange, endpoint: dict[str, Any], query: str, key: str) -> None:
        """An authorization request: the user is sent to the authorization server."""
        said = parameters(query)
        if "response_type" not in said and "client_id" not in said:
            return
        client = said.get("client_id", "")
        asked = scopes(said["scope"]) if "scope" in said else None
        step = http.facts["auth"] = self._step("authorize", endpoint, said, client, asked)
        step.update(
            redirect=said.get("redirect_uri", ""), challenge="code_challenge" in said,
            method=said.get("code_challenge_method", ABSENT), state=bool(said.get("state")), scopes=asked,
            pkce=endpoint["pkce"], metadata=endpoint["key"], document=self._address_fault(client),
        )  # fmt: skip
        self._selects(step, endpoint, client, asked, key)
        state = said.get("state")
        record = Authorization(
            key, endpoint, self._secret(state) if state else "", said.get("code_challenge", "")
        )
        step["record"] = record
        if state:
            keep(self.by_state, record.state, record)
        keep(self.by_redirect, plain_url(said.get("redirect_uri", "")), record)

    def _step(
        self, name: str, endpoint: dict[str, Any], said: dict[str, str], client: str, asked: list[str] | None
    ) -> dict[str, Any]:
        metadata = self.metadata.get(self._secret(client)) if client else None
        wants = said.get("grant_type") == REFRESH_GRANT or "offline_access" in (asked or ())
        omits = metadata is not None and "refresh_token" not in (metadata[0] or ())
        return {
            "step": name, "era": endpoint["era"], "guessed": endpoint["guessed"], "issuer": endpoint["issuer"],
            "resource": said.get("resource"),
            "spelled": self._spelled(said.get("resource"), endpoint["issuer"]),
            "mismatch": self._mismatch(endpoint), "foreign": self._foreign(client, endpoint["issuer"]),
            "no_grant": metadata[1] if metadata is not None and wants and omits else "",
        }  # fmt: skip

    def _spelled(self, resource: str | None, issuer: str) -> str:
        """How the metadata spells a resource that differs in case or in a slash at its end, else ""."""
        for channel in self._discovery.resources_of(issuer) if resource else ():
            named: str = self._discovery.resources[channel]["named"]
            if resource and named != resource and named.rstrip("/").lower() == resource.rstrip("/").lower():
                return named
        return ""

    def _mismatch(self, endpoint: dict[str, Any]) -> list[str]:
        """[issuer that was looked for, issuer of the document, its key], once for a document."""
        if endpoint["guessed"] or endpoint["told"] or endpoint["said"] == endpoint["issuer"]:
            return []
        for other in self._discovery.endpoints.values():
            if other["key"] == endpoint["key"]:
                other["told"] = True
        return [endpoint["issuer"], endpoint["said"], endpoint["key"]]

    def _foreign(self, client: str, issuer: str) -> list[str]:
        """[another issuer, key of the registration there] of a client id that was not registered here."""
        at = self.registered.get(self._secret(client)) if client and not _ADDRESS.match(client) else None
        if not at or issuer in at or not issuer:
            return []
        other = next(reversed(at))
        return [other, at[other]]

    def _address_fault(self, client: str) -> str:
        """What is wrong with a client id that is an address, "" for others too."""
        address = split(client) if _ADDRESS.match(client) else None
        if address is None or self._secret(client) in self.registered:
            return ""
        keep(self.documents, client, True)
        if address.scheme != "https":
            return "it is not https"
        return "" if address.path.strip("/") else "it has no path"

    def _selects(
        self, step: dict[str, Any], endpoint: dict[str, Any], client: str, asked: list[str] | None, key: str
    ) -> None:
        """Compare the scopes with what was offered, or with those before a step-up."""
        channels = self._discovery.resources_of(endpoint["issuer"])
        named = plain_url(step["resource"] or "").rstrip("/")
        channels = [c for c in channels if c.rstrip("/") == named] or (channels if len(channels) == 1 else [])
        wanted = asked or []
        for channel in channels:
            found, name = self._discovery.resources[channel], f"{channel}\0{self._secret(client)}"
            before, up = self.asked.get(name), found.pop("step_up", None)
            if up is not None and before is not None:
                missing = [s for s in dict.fromkeys([*before, *up["scopes"]]) if s not in wanted]
                step["union"] = {"missing": missing, "key": up["key"]}
                step["steps"] = up["times"]
            elif before is None and not found["authorized"] and found["challenge"] is not None:
                self._selects_first(step, found, endpoint, wanted)
            keep(self.asked, name, list(dict.fromkeys([*(before or ()), *wanted]))[:256])

    def _selects_first(
        self, step: dict[str, Any], found: dict[str, Any], endpoint: dict[str, Any], wanted: list[str]
    ) -> None:
        challenge = found["challenge"]
        if challenge[3] is not None:
            source, offered, key = "the challenge", challenge[3], challenge[0]
        elif found["document"]:
            source, key = "scopes_supported", found["document"]
            offered = found["scopes"] or []
            if not offered:
                source = "neither the challenge nor scopes_supported"
        else:
            return
        allowed = {*offered, *(["offline_access"] if "offline_access" in endpoint["scopes"] else [])}
        step["selection"] = {
            "source": source, "offered": offered, "key": key,
            "extra": [s for s in wanted if s not in allowed], "missing": [s for s in offered if s not in wanted],
        }  # fmt: skip

    # -- the callback

    def redirected(self, http: HttpExchange, key: str) -> None:
        """The answer to an authorization request may send the browser back at once."""
        step = http.facts["auth"]
        where = http.response_header("location")
        record = step.pop("record", None)
        if record is not None and where is not None and 300 <= (http.status or 0) < 400:
            address = split(where)
            if address is not None and plain_url(where) == plain_url(step["redirect"]):
                step["callback"] = self._called_back(record, parameters(address.query), key)

    def comes_back(self, http: HttpExchange, query: str, key: str) -> bool:
        """A GET for a redirect_uri that was named; True when it is a callback."""
        said = parameters(query)
        if "code" not in said and "error" not in said:
            return False
        state = said.get("state")
        record = self.by_state.get(self._secret(state)) if state else None
        record = record or self.by_redirect.get(plain_url(http.url))
        if record is None:
            return False
        http.facts["auth"] = {"step": "callback", "callback": self._called_back(record, said, key)}
        return True

    def _called_back(self, record: Authorization, said: dict[str, str], key: str) -> dict[str, Any] | None:
        code = said.get("code")
        if code is None:
            return None
        state = said.get("state")
        told = record.back is not None
        record.back = {"state": self._secret(state) if state else "", "iss": said.get("iss"), "key": key}
        name = self._secret(code)
        rows = [r for r in self.by_code.get(name, []) if r is not record]
        keep(self.by_code, name, [*rows, record][-CODES:])
        issuer = self._discovery.issuers.get(record.issuer)
        return {
            "iss": said.get("iss"),
            "issuer": record.issuer,
            "promised": record.promised,
            "told": told,
            "era": issuer["era"] if issuer is not None else "unknown",
        }

    # -- tokens

    def exchanges(self, http: HttpExchange, endpoint: dict[str, Any], form: str, whole: bool) -> None:
        """A token request."""
        said = parameters(form)
        grant = said.get("grant_type")
        if grant is None:
            return
        basic = basic_user(http.request_header("authorization"))
        client = said.get("client_id") or basic or ""
        step = http.facts["auth"] = self._step("token", endpoint, said, client, None)
        step.update(
            grant=grant, whole=whole, verifier="", state="", iss=[], key="", rotation="", pkce=endpoint["pkce"],
            public=basic is None and not any(n in said for n in ("client_secret", "client_assertion")),
            dpop=http.request_header("dpop") is not None,
        )  # fmt: skip
        if grant == CODE_GRANT and "code" in said:
            self._redeems(step, self.by_code.get(self._secret(said["code"]), []), said)
        elif grant == REFRESH_GRANT and said.get("refresh_token"):
            step["refresh"] = self._secret(said["refresh_token"])
            step["t"] = http.t

    def _redeems(self, step: dict[str, Any], records: list[Authorization], said: dict[str, str]) -> None:
        verifier = said.get("code_verifier")
        if verifier is None:
            step["verifier"] = "absent" if step["whole"] else ""
        elif records and all(r.challenge not in (s256(verifier), verifier) for r in records):
            step["verifier"] = "wrong"
        if not records:
            return
        record = records[-1]
        back, step["key"] = record.back or {}, record.key
        if record.state and all(r.state != (r.back or {}).get("state") for r in records):
            step["state"] = "another state" if back.get("state") else "no state"
        if record.guessed:
            return
        iss = back.get("iss")
        if (iss is None and record.promised) or (iss is not None and iss != record.issuer):
            step["iss"] = [iss, record.issuer]

    def exchanged(self, http: HttpExchange, body: Any, key: str) -> None:
        """The answer to a token request."""
        step = http.facts["auth"]
        if type(body) is not dict or not 200 <= (http.status or 0) < 300:
            step.pop("refresh", None)
            return
        token, refresh, used = body.get("access_token"), body.get("refresh_token"), step.pop("refresh", None)
        if type(token) is str and step["resource"] is not None:
            keep(self.issued, self._secret(f"Bearer {token}"), [step["resource"], key])
        if used is None or str(body.get("token_type")).lower() == "dpop" or step["dpop"]:
            return
        before = self.refreshed.get(used)
        if type(refresh) is not str:
            step["rotation"] = "kept"
        elif self._secret(refresh) == used:
            step["rotation"] = "same"
        else:
            keep(self.refreshed, used, min(before or step["t"], step["t"]))
        if before is not None and step["t"] - before > SIMULTANEOUS:
            step["rotation"] = "used"
