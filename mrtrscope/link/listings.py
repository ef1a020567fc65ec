"""What servers list, page by page: names, their order, the cursors between pages, and whether a list is whole.

A *chain* is one walk through the pages of a list: it begins with a request without cursor and is whole when a page has
no nextCursor. What a whole one named is kept for ever in `Memory` (`newest`), and so is every cursor (`issued`). Beside
the ordinary, an exchange gets remarks:

    cursor      a request: {"of": method that issued it or "", "like": [key of the page, what was done to it] or null}
                of a cursor that was not issued for this list to a client whose walk was recorded from its beginning
    first_page  an answer to a request with such a cursor: key of the first page, which has the same names
    again       an answer: [[name, "page" or "earlier page" or "changed"], …], names that occur twice in the chain
    reordered   an answer: key of an earlier page, where the same names came in another order
    varies      an answer: keys of earlier pages; connections alternately get other sets of names
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from mrtrscope.link.explain import alike, explain
from mrtrscope.link.facts import Client, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import Channel
from mrtrscope.link.tools import scope_of_lists
from mrtrscope.wire.events import Message

# Method -> (member with the list, member that names an entry, what a change is announced with).
LISTS = {
    "tools/list": ("tools", "name", "notifications/tools/list_changed"),
    "prompts/list": ("prompts", "name", "notifications/prompts/list_changed"),
    "resources/list": ("resources", "uri", "notifications/resources/list_changed"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate", "notifications/resources/list_changed"),
}

CHAINS, NAMES, NAME_LIMIT, RECENT = 64, 2000, 4096, 4
CURSORS, CURSOR_LIMIT = 8, 4096
ALTERNATES = 60_000_000  # µs in which two sets must alternate where no ttl says how long they hold
AT_ONCE = 2_000_000  # µs in which two connections are asked "at the same time"


class Listings:
    """Follows the pages of lists.

    chains    digest of scope and cursor -> {"names", "pages", "t", "followed"} that the page of the cursor continues
    given     scope and client -> [[cursor, key of its page], …], the last few of a list that a client began here
    recent    scope -> the last whole lists: [peer, digest of the set, t, key, ttl in ms]
    changed   channel and notification -> when a change was announced last
    first     scope -> [digest of its names, key], of the last first page
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.chains: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.given: OrderedDict[str, list[list[str]]] = OrderedDict()
        self.recent: OrderedDict[str, list[list[Any]]] = OrderedDict()
        self.changed: OrderedDict[str, int] = OrderedDict()
        self.first: OrderedDict[str, list[str]] = OrderedDict()

    def announced(self, message: Message) -> None:
        """A list_changed notification came."""
        _keep(self.changed, f"{message.channel}\0{message.method}", message.t)

    def requested(self, exchange: Exchange) -> None:
        """A client asks for a page."""
        params = exchange.request.params
        cursor = params.get("cursor")
        if type(cursor) is str and issued(self._memory, exchange, cursor) is None:
            self._unknown(exchange, cursor)

    def _unknown(self, exchange: Exchange, cursor: str) -> None:
        given = self.given.get(_walker(exchange, exchange.client))
        if given is None:
            return
        like = None
        for other, key in reversed(given):
            if alike(other, cursor):
                like = [key, explain(other, cursor)]
                break
        of = next(
            (m for m in LISTS if m != exchange.method and issued(self._memory, exchange, cursor, m)), ""
        )
        if like or of or exchange.peer.whole:
            remark(exchange, "cursor", {"of": of, "like": like})

    def answered(self, exchange: Exchange, answer: Message, channel_facts: dict[str, Any]) -> None:
        """A page came."""
        result = answer.result
        member, naming, announcement = LISTS[exchange.method]
        entries = result.get(member)
        if type(entries) is not list:
            return
        cursor = exchange.request.params.get("cursor")
        scope = "\0".join((*scope_of_lists(exchange), exchange.method))
        chain = self._chain(exchange, scope, cursor)
        names = [e[naming] for e in entries if type(e) is dict and type(e.get(naming)) is str]
        page = digest(*sorted(set(names)), "").hex()
        if cursor is None:
            _keep(self.first, scope, [page, answer.key])
        elif names and exchange.remarks is not None and "cursor" in exchange.remarks:
            first = self.first.get(scope)
            if first is not None and first[0] == page:
                remark(exchange, "first_page", first[1])
        if chain is not None:
            since = self.changed.get(f"{answer.channel}\0{announcement}", 0) > chain["t"]
            self._repeats(exchange, chain, names, since)
            chain["names"] += [
                n if len(n) <= NAME_LIMIT else "" for n in names[: NAMES + 1 - len(chain["names"])]
            ]
            chain["pages"] = [*chain["pages"], answer.key][-CURSORS:]
            if exchange.method == "prompts/list":
                chain["needs"] = chain.get("needs", {}) | _needs(entries[:NAMES])
        following = result.get("nextCursor")
        self._ends(channel_facts, exchange, answer, chain, following)
        if type(following) is str:
            if len(following) <= CURSOR_LIMIT:
                self._issue(exchange, answer, scope, chain, following)
        elif chain is not None and len(chain["names"]) <= NAMES and following is None:
            self._whole(exchange, answer, scope, chain, announcement)

    def _chain(self, exchange: Exchange, scope: str, cursor: Any) -> dict[str, Any] | None:
        """A copy of what came before this page; None when that was not seen."""
        if cursor is None:
            return {"names": [], "pages": [], "t": exchange.t, "followed": 0}
        found = self.chains.get(digest(scope, cursor).hex()) if type(cursor) is str else None
        if found is None:
            return None
        return {**found, "names": list(found["names"]), "followed": found["followed"] + 1}

    def _repeats(self, exchange: Exchange, chain: dict[str, Any], names: list[str], since: bool) -> None:
        before, here, twice = set(chain["names"]), set(), []
        for name in names:
            if name in here:
                twice.append([name, "page"])
            elif name in before:
                twice.append([name, "changed" if since else "earlier page"])
            here.add(name)
        if twice:
            remark(exchange, "again", twice[:16])

    def _issue(
        self, exchange: Exchange, answer: Message, scope: str, chain: dict[str, Any] | None, cursor: str
    ) -> None:
        if chain is not None:
            _keep(self.chains, digest(scope, cursor).hex(), chain)
            given = [*self.given.get(_walker(exchange, exchange.client), []), [cursor, answer.key]]
            _keep(self.given, _walker(exchange, exchange.client), given[-CURSORS:])
        row = [answer.key, answer.t, *_named(exchange.client)]
        self._memory.set("cursor", digest(answer.channel, exchange.method, cursor), json.dumps(row))

    def _whole(
        self, exchange: Exchange, answer: Message, scope: str, chain: dict[str, Any], announcement: str
    ) -> None:
        names = chain["names"]
        of_set = digest(*sorted(set(names)), "").hex()
        before = self._memory.get("listing", digest(scope))
        if before is not None:
            last = json.loads(before)
            if last["set"] == of_set and last["names"] != names and sorted(last["names"]) == sorted(names):
                remark(exchange, "reordered", last["key"])
        row = {
            "names": names,
            "set": of_set,
            "key": answer.key,
            "t": answer.t,
            "client": _named(exchange.client),
        }
        if exchange.method == "prompts/list":
            row["needs"] = chain["needs"]
        self._memory.set("listing", digest(scope), json.dumps(row))
        ttl = answer.result.get("ttlMs")
        seen = self.recent.get(scope, [])
        seen = [*seen, [exchange.peer.id, of_set, answer.t, answer.key, ttl if type(ttl) is int else 0]][
            -RECENT:
        ]
        _keep(self.recent, scope, seen)
        if exchange.http is not None and exchange.method != "resources/templates/list":
            found = _alternates(seen, self.changed.get(f"{answer.channel}\0{announcement}", 0))
            if found:
                remark(exchange, "varies", found)

    def _ends(
        self,
        facts: dict[str, Any],
        exchange: Exchange,
        answer: Message,
        chain: dict[str, Any] | None,
        following: Any,
    ) -> None:
        """Remember where a walk stands at an empty cursor: `Channel.facts["empty_cursor"]`, by walker."""
        ends = facts.get("empty_cursor")
        if following != "" and ends is None:
            return
        walker = _walker(exchange, exchange.client)
        ends = facts.setdefault("empty_cursor", {})
        ends.pop(walker, None)
        if following == "" and chain is not None and chain["followed"]:
            ends[walker] = {"at": answer, "pages": chain["pages"]}
            if len(ends) > CHAINS:
                del ends[next(iter(ends))]


def issued(memory: Memory, exchange: Exchange, cursor: str, method: str = "") -> dict[str, Any] | None:
    """{"key", "t", "client"} of the newest page that gave this cursor for this list (or that of `method`)."""
    row = memory.get("cursor", digest(exchange.request.channel, method or exchange.method, cursor))
    if row is None:
        return None
    key, t, *client = json.loads(row)
    return {"key": key, "t": t, "client": _client(client)}


def newest(
    memory: Memory, exchange: Exchange, method: str, channel: Channel | None = None
) -> dict[str, Any] | None:
    """The newest whole list of `method` for the credential of this exchange: {"names", "key", "t", "client"}, prompts:
    "needs", name -> required arguments; None when there is none, or with `channel` when it is of the server before."""
    text = memory.get("listing", digest("\0".join((*scope_of_lists(exchange), method))))
    if text is None:
        return None
    found: dict[str, Any] = json.loads(text)
    if channel is not None and found["t"] < run_of(channel, exchange).since:
        return None
    found["client"] = _client(found["client"])
    return found


def _needs(entries: list[Any]) -> dict[str, list[str]]:
    """Required arguments by prompt."""
    found = {}
    for entry in entries:
        if type(entry) is not dict or type(entry.get("name")) is not str:
            continue
        arguments = entry.get("arguments")
        found[entry["name"]] = [
            a["name"]
            for a in (arguments if type(arguments) is list else ())
            if type(a) is dict and a.get("required") is True and type(a.get("name")) is str
        ]
    return found


def _alternates(seen: list[list[Any]], changed: int) -> list[str]:
    """Keys of the lists that, with the last one, show sets that depend on the connection; [] when nothing does.

    One set on one connection, another on another and the first one again, within the ttl of the first (without a ttl
    they must alternate once more); or a new set on one connection while another one still gets the old set.
    """
    if len(seen) < 3:
        return []
    (peer_a, a, t_a, key_a, ttl), (peer_b, b, t_b, key_b, _), (peer_c, c, t_c, _, _) = seen[-3:]
    if a != c or a == b or peer_b == peer_c or changed >= t_a:
        return []
    if peer_a == peer_b:
        return [key_a, key_b] if t_c - t_b <= AT_ONCE else []
    if peer_a != peer_c:
        return []
    if t_c - t_a <= ttl * 1000:
        return [key_a, key_b]
    if len(seen) < 4 or seen[-4][0] != peer_b or seen[-4][1] != b:
        return []
    first = seen[-4]
    return [first[3], key_a, key_b] if t_c - first[2] <= ALTERNATES and changed < first[2] else []


def _walker(exchange: Exchange, client: Client) -> str:
    known = f"{client.credential.hex()} {client.host} {client.info}"
    certain = client.credential and client.info and client.host
    return "\0".join((exchange.request.channel, exchange.method, known if certain else client.peer))


def _named(client: Client) -> list[str]:
    return [client.peer, client.credential.hex(), client.info, client.host]


def _client(row: list[str]) -> Client:
    return Client(row[0], bytes.fromhex(row[1]), row[2], row[3])


def _keep(table: OrderedDict[str, Any], key: str, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > CHAINS:
        table.popitem(last=False)
