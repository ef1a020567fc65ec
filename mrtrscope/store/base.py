"""What reading `scope.db` begins with: one state of it, its names, and how much there is of what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from mrtrscope.store.connect import Reading
from mrtrscope.store.names import split_key
from mrtrscope.store.text import to_json
from mrtrscope.store.values import LEVELS, number

if TYPE_CHECKING:
    from sqlite_utils import Database

    from mrtrscope import model

    class Classes(Protocol):
        """What rows are made of: `model`, or `plain`."""

        Message: type[model.Message]
        Source: type[model.Source]
        Operation: type[model.Operation]
        Times: type[model.Times]
        Round: type[model.Round]
        Link: type[model.Link]
        Finding: type[model.Finding]
        Channel: type[model.Channel]


# What is said for good, and all but notes of what is said of the present alone.
SETTLED = "(level <> 'info' or not coalesce(provisional, 0))"

# A channel that carried something of ours, and is no mere address that somebody asked.
_OURS = "(coalesce(c.known, 0) or c.id in (select channel from findings))"


class Base:
    """One state of the database.

    source   the capture as the user named it     database   where its rows are
    plain    rows come as plain objects with the fields of the models: a single look pays no 0.1 s for pydantic
    """

    def __init__(self, db: Reading | Database, source: Path, *, plain: bool = False) -> None:
        self.db = db
        self._make: Classes = _made(plain)
        self.source = source
        try:
            self.refresh()
        except BaseException:
            db.close()
            raise

    def refresh(self) -> None:
        """Look at the present state from now on."""
        self.db.rollback()
        self.db.conn.execute("begin")
        self._journals = dict(self._rows("select id, name from journals"))
        self._channels = dict(self._rows("select id, name from channels"))
        self._clients = dict(self._rows("select id, name from clients"))
        self._named: dict[
            tuple[int, str], int | None
        ] = {}  # places to numbers, as candidates of links need them

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        return iter(self.db.conn.execute(sql, values))

    def _one(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        row = self.db.conn.execute(sql, values).fetchone()
        return row[0] if row else None

    def journals(self) -> list[str]:
        """The names of the journals that rows were made of."""
        return sorted(self._journals.values())

    def name_of(self, key: str) -> str:
        """The number of the message or event with this permanent key; the key itself when there is none."""
        name, offset, part = split_key(key)
        for table, letter in (("messages", "m"), ("events", "f")):
            found = self._one(
                f"select x.{letter} from {table} x join journals j on j.id = x.journal"
                " where j.name = ? and x.offset = ? and x.part = ?", (name, offset, part),
            )  # fmt: skip
            if found is not None:
                return f"{letter}{found}"
        return key

    def about(self, at: str) -> str:
        """What stands at a number, in a few words: "answer to 3", "notification progress", "end of the process"."""
        row = self.db.conn.execute(
            "select kind, id_text, method from messages where m = ?", (number(at, "m"),)
        ).fetchone()
        if row is not None:
            kind, id_text, method = row
            if kind in ("response", "error"):
                return f"{'answer' if kind == 'response' else 'error'} to {id_text or 'nothing'}"
            return " ".join(filter(None, [kind, id_text, method]))
        what = self._one("select what from events where f = ?", (number(at, "f"),))
        return str(what or "").replace("-", " ")

    def channels(self) -> Iterator[model.Channel]:
        """The server sides seen, in order of appearance; see `other_addresses` for what else was."""
        for id, name, transport, modern, legacy, story, messages, operations, findings in self._rows(
            "select c.id, c.name, c.transport, c.modern, c.legacy, c.story,"
            " (select count(*) from messages where channel = c.id),"
            " (select count(*) from operations where channel = c.id),"
            f" (select count(*) from findings where channel = c.id) from channels c where {_OURS} order by c.id"
        ):
            era = "mixed" if modern and legacy else "modern" if modern else "legacy" if legacy else "unknown"
            clients = [n for (n,) in self._rows(
                "select distinct k.name from messages m join clients k on k.id = m.client where m.channel = ?", (id,)
            )]  # fmt: skip
            yield self._make.Channel(
                name=name, transport=transport or "", era=era, messages=messages, operations=operations,
                findings=findings, clients=clients, **_told(story, self._make),
            )  # fmt: skip

    def other_addresses(self) -> dict[str, int | bool]:
        """Of addresses that carried nothing of ours: how many there are, whether even more (those share one row, which
        knows nothing of itself), and how many requests went there."""
        others = f"channels c where coalesce(c.transport, 'http') = 'http' and not {_OURS}"
        asked = list(self._rows(  # a connection of which no request is known yet is no address
            "select c.known is not null, count(*) from events e join"
            f" (select c.id, c.known from {others}) c on c.id = e.channel where e.what = 'http-request' group by c.id"
        ))  # fmt: skip
        return {
            "addresses": sum(known for known, _ in asked),
            "more": bool(self._one(f"select count(*) from {others} and c.known is null")),
            "requests": sum(requests for _, requests in asked),
        }

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return int(self._one(f"select count(*) from {table}"))

    def end(self) -> float | None:
        """When the last thing happened that was recorded."""
        found = [
            self._one(f"select t from {t} order by {n} desc limit 1")
            for t, n in (("messages", "m"), ("events", "f"))
        ]
        return max((t / 1e6 for t in found if t is not None), default=None)

    def http_status(self, m: str) -> int | None:
        """HTTP status of the answer to the request that a message came in."""
        detail = self._one(
            "select e.detail from messages m join events e on e.journal = m.journal and e.http = m.http"
            " where m.m = ? and e.what = 'http-response' order by e.f desc limit 1", (number(m, "m"),),
        )  # fmt: skip
        status = json.loads(detail).get("status") if detail else None
        return status if isinstance(status, int) else None

    def counts(self) -> dict[str, int]:
        """How much there is of everything."""
        return {
            **{
                name: int(self._one(f"select count(*) from {name}"))
                for name in ("messages", "operations", "findings")
            },
            **self.counts_of_noise(),
        }

    def counts_of_noise(self) -> dict[str, int]:
        """Text in the place of messages that is none, event text that no blank line closed, and what we lost."""
        return {
            "non_messages": int(self._one("select count(*) from events where counts")),
            "undelivered": int(self._one("select count(*) from events where what = 'sse-undelivered'")),
            "gaps": int(self._one("select count(*) from events where what = 'gap'")),
        }

    def not_judged(self) -> dict[str, int]:
        """What stands in the place of messages and was not read, by reason."""
        return {
            why: int(
                self._one("select count(*) from events where counts and detail = ?", (to_json({"why": why}),))
            )
            for why in ("too-long", "too-deep")
        }

    def finding_counts(self, settled: bool = False) -> dict[str, int]:
        """Findings by level; `settled`: without notes on what is still under way."""
        chosen = f"where {SETTLED}" if settled else ""
        found = dict(self._rows(f"select level, count(*) from findings {chosen} group by level"))
        return {level: found.get(level, 0) for level in LEVELS}

    def trouble(self) -> list[str]:
        """What could not be read, in words."""
        text = self._one("select value from meta where key = 'trouble'")
        return list(json.loads(text)) if text else []

    def tested(self) -> dict[str, int]:
        """Rule -> how often it was exercised."""
        return dict(self._rows("select rule, sum(n) from tested group by rule order by rule"))

    def tested_by_channel(self) -> dict[tuple[str, str], int]:
        """(Channel, rule) -> how often the rule was exercised there."""
        rows = self._rows("select channel, rule, n from tested")
        return {(self._channels[channel], rule): n for channel, rule, n in rows}

    def findings_by_channel(self, notes: bool) -> dict[tuple[str, str], int]:
        """(Channel, rule) -> how many findings there are at must and should level, or at level info."""
        rows = self._rows(
            "select channel, rule, count(*) from findings where (level = 'info') = ? group by channel, rule",
            (notes,),
        )
        return {(self._channels[channel], rule): n for channel, rule, n in rows}

    def targets(self) -> dict[str, tuple[str, str]]:
        """Operation ("op3") -> its method and target, of those that have findings."""
        rows = self._rows(
            "select o.op, o.method, o.target from operations o where o.id in (select operation from findings)"
        )
        return {f"op{op}": (method or "", target or "") for op, method, target in rows}


def _made(plain: bool) -> Any:
    """Where the classes of the rows are."""
    if plain:
        from mrtrscope.store import plain as classes

        return classes
    from mrtrscope import model

    return model


def _told(story: str | None, make: Any) -> dict[str, Any]:
    """What a channel's clients tried, as fields of `model.Channel`."""
    found = json.loads(story) if story else {"speaks": {}, "tried": []}
    tried = [
        make.Tried(
            **{name: step[name] for name in ("what", "offered", "outcome", "chosen", "n")}, t=step["t"] / 1e6
        )
        for step in found["tried"]
    ]
    return {"speaks": found["speaks"], "tried": tried}
