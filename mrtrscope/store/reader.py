"""Reading `scope.db`: rows as the pydantic models that every output is made of.

One `Store` reads one state of the database: it begins a transaction, so that numbers given out by one call (m3, op2)
mean the same in the next, whatever is written meanwhile. `refresh` goes on to the present state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mrtrscope.store.base import SETTLED, Base
from mrtrscope.store.more import told
from mrtrscope.store.names import split_key
from mrtrscope.store.values import LEVELS, Groups, by_operation, join_key, loaded, named, number, parsed_id

if TYPE_CHECKING:
    from mrtrscope import model

_MESSAGE = """
    select m.id, m.m, m.journal, m.offset, m.part, m.t, m.channel, m.client, m.dir, m.kind, m.id_text, m.method,
      m.exchange, m.operation, m.frames, m.size, m.oddities, m.line, m.flow, m.event, m.http, m.status,
      o.op, q.m, x.era, x.target
    from messages m left join operations o on o.id = m.operation left join messages q on q.id = m.exchange
      left join exchanges x on x.request = m.exchange"""

_ROUND = """
    select x.operation, q.m, a.m, x.state, x.asks, x.t, a.t, x.era, q.client, x.grade, l.m, x.evidence, x.candidates,
      x.total, x.differences
    from exchanges x join messages q on q.id = x.request left join messages a on a.id = x.answer
      left join messages l on l.id = x.link_to"""

_OPERATION = """
    select o.id, o.op, o.channel, o.kind, o.method, o.target, coalesce(p.outcome, o.outcome), o.t, o.t_end, o.server,
      o.waiting, m.journal, m.offset, m.part, o.more,
      exists(select 1 from exchanges x where x.operation = o.id and x.tool_error)
    from operations o join messages m on m.id = o.id left join present p on p.operation = o.id"""

_FINDING = """
    select f.id, f.rule, f.level, f.keyword, f.party, f.at, f.also, o.op, f.channel, f.t, f.saw, f.expected, f.text,
      f.because, f.provisional, f.path, f.line, f.flow, f.event, m.m, e.f, f.journal, f.offset,
      coalesce(x.era, (select era from exchanges where operation = f.operation limit 1),
        (select 'legacy' from channels where id = f.channel and initialized and not modern))
    from findings f left join operations o on o.id = f.operation
      left join messages m on m.journal = f.journal and m.offset = f.offset and m.part = f.part
      left join exchanges x on x.request = m.exchange
      left join events e on m.id is null and e.journal = f.journal and e.offset = f.offset and e.part = f.part"""


class Store(Base):
    """What a capture holds, as rows; see `Base` for how much there is of it."""

    # Messages

    def messages(self, operation: str | None = None) -> Iterator[model.Message]:
        """All messages in order of time, or those of one operation."""
        if operation is None:
            return map(self._message, self._rows(f"{_MESSAGE} order by m.m"))
        id = self._operation_id(operation)
        return map(self._message, self._rows(f"{_MESSAGE} where m.operation = ? order by m.m", (id,)))

    def exchange_messages(self, request: str) -> Iterator[model.Message]:
        """The messages of the exchange with this request."""
        row = self.db.conn.execute(
            "select id, operation from messages where m = ?", (number(request, "m"),)
        ).fetchone()
        if row is None:
            return iter(())
        if row[1] is None:
            return map(self._message, self._rows(f"{_MESSAGE} where m.id = ?", (row[0],)))
        return map(
            self._message,
            self._rows(f"{_MESSAGE} where m.operation = ? and m.exchange = ? order by m.m", (row[1], row[0])),
        )

    def message(self, m: str) -> model.Message | None:
        """The message with this number ("m3")."""
        row = self.db.conn.execute(f"{_MESSAGE} where m.m = ?", (number(m, "m"),)).fetchone()
        return self._message(row) if row else None

    def _message(self, row: tuple[Any, ...]) -> model.Message:
        (_, m, journal, offset, part, t, channel, client, dir, kind, id_text, method, _, _, frames, size, oddities,
         line, flow, event, http, status, op, exchange, era, target) = row  # fmt: skip
        name = self._journals[journal]
        return self._make.Message(
            m=f"m{m}", key=join_key(name, offset, part), t=t / 1e6, channel=self._channels[channel],
            client=self._clients[client], dir=dir, kind=kind, id=parsed_id(id_text), id_text=id_text, method=method,
            target=(target or None) if exchange == m else None, operation=named("op", op),
            exchange=named("m", exchange), frames=[f"{name}:{place}" for place in str(frames).split()],
            source=self._source(journal, line, flow, event, offset), size=size, era=era or "unknown",
            oddities=[": ".join(filter(None, odd)) for odd in json.loads(oddities)] if oddities else [],
            http=http, status=status,
        )  # fmt: skip

    def _source(
        self, journal: int, line: int | None, flow: int | None, event: int | None, offset: int
    ) -> model.Source:
        if line is None and flow is None:
            return self._make.Source(file=self._journals[journal], offset=offset)
        return self._make.Source(file=self.source.name, line=line, flow=flow, event=event)

    # Operations

    def operations(self) -> Iterator[model.Operation]:
        """All operations, numbered in order of time."""
        counts = by_operation(self._rows(
            "select operation, level, count(*) from findings where operation is not null group by 1, 2"
        ))  # fmt: skip
        attached: dict[int, list[str]] = {}
        for operation, m in self._rows(
            "select m.operation, m.m from messages m join exchanges x on x.request = m.exchange where m.operation"
            " is not null and (x.part is not null or m.id <> x.request and m.id <> coalesce(x.answer, 0)) order by m.m"
        ):
            attached.setdefault(operation, []).append(f"m{m}")
        for operation, m in self._rows(
            "select operation, m from messages where operation is not null and exchange is null order by m"
        ):
            attached.setdefault(operation, []).append(f"m{m}")
        rounds = Groups(self._rows(
            f"{_ROUND} join operations o on o.id = x.operation where x.part is null order by o.op, q.m"
        ))  # fmt: skip
        nested, hops = self._inside("within"), self._inside("hop")
        for row in self._rows(f"{_OPERATION} order by o.op"):
            found = self._operation(
                row, rounds.take(row[0]), attached.get(row[0], []), counts.get(row[0], {})
            )
            found.nested, found.hops = nested.get(row[0], []), hops.get(row[0], [])
            yield found

    def operation(self, op: str) -> model.Operation | None:
        """The operation with this number ("op2")."""
        row = self.db.conn.execute(f"{_OPERATION} where o.op = ?", (number(op, "op"),)).fetchone()
        if row is None:
            return None
        id = row[0]
        rounds = list(self._rows(f"{_ROUND} where x.operation = ? and x.part is null order by q.m", (id,)))
        attached = [f"m{m}" for (m,) in self._rows(
            "select m.m from messages m left join exchanges x on x.request = m.exchange where m.operation = ? and"
            " (x.part is not null or m.id <> coalesce(x.request, 0) and m.id <> coalesce(x.answer, 0)) order by m.m",
            (id,),
        )]  # fmt: skip
        counts = by_operation(self._rows(
            "select operation, level, count(*) from findings where operation = ? group by 1, 2", (id,)
        ))  # fmt: skip
        found = self._operation(row, rounds, attached, counts.get(id, {}))
        found.nested, found.hops = self._inside("within", id).get(id, []), self._inside("hop", id).get(id, [])
        return found

    def introductions(self) -> Iterator[tuple[str, tuple[int, str, str | None, str]]]:
        """Where somebody said who he is, in order of time: channel, (operation's number, request, answer, client)."""
        for channel, op, request, answer, client in self._rows(
            "select o.channel, o.op, q.m, a.m, q.client from operations o join messages q on q.id = o.id"
            " join exchanges x on x.request = o.id left join messages a on a.id = x.answer"
            " where o.method in ('initialize', 'server/discover') order by o.op"
        ):
            yield self._channels[channel], (op, f"m{request}", named("m", answer), self._clients[client])

    def _inside(self, column: str, id: int | None = None) -> dict[int, list[str]]:
        """Operations by the one that they were asked in, or are hops of: of all, or of one."""
        which, values = ("is not null", ()) if id is None else ("= ?", (id,))
        found: dict[int, list[str]] = {}
        for outer, op in self._rows(
            f"select {column}, op from operations where {column} {which} order by op", values
        ):
            found.setdefault(outer, []).append(f"op{op}")
        return found

    def operation_of(self, at: str) -> str | None:
        """The operation that a message belongs to ("m3" -> "op2")."""
        return named("op", self._one(
            "select o.op from messages m join operations o on o.id = m.operation where m.m = ?", (number(at, "m"),)
        ))  # fmt: skip

    def operation_named(self, key: str) -> str | None:
        """The operation with this permanent key."""
        journal, offset, part = split_key(key)
        return named("op", self._one(
            "select o.op from operations o join messages m on m.id = o.id join journals j on j.id = m.journal"
            " where j.name = ? and m.offset = ? and m.part = ?", (journal, offset, part),
        ))  # fmt: skip

    def _operation_id(self, op: str) -> int:
        return int(self._one("select id from operations where op = ?", (number(op, "op"),)) or 0)

    def _operation(
        self, row: tuple[Any, ...], rounds: list[tuple[Any, ...]], attached: list[str], counts: dict[str, int]
    ) -> model.Operation:
        (
            _,
            op,
            channel,
            kind,
            method,
            target,
            outcome,
            t,
            t_end,
            server,
            waiting,
            journal,
            offset,
            part,
            more,
            failed,
        ) = row
        worst = next((level for level in LEVELS if counts.get(level)), None)
        return self._make.Operation(
            id=f"op{op}", key=join_key(self._journals[journal], offset, part), t=t / 1e6, kind=kind,
            channel=self._channels[channel], method=method, target=target or None, outcome=outcome,
            tool_error=bool(failed and outcome == "complete"),
            rounds=[self._round(r) for r in rounds], attached=attached,
            times=self._make.Times(server=server / 1e6, waiting=waiting / 1e6, total=(t_end - t) / 1e6),
            findings=sum(counts.values()), worst=worst, worst_count=counts.get(worst or "", 0),
            **(told(json.loads(more), self.operation_named) if more else {}),
        )  # fmt: skip

    def _round(self, row: tuple[Any, ...]) -> model.Round:
        (_, request, answer, state, asks, t, t_answer, era, client, grade, to, evidence, candidates, total,
         differences) = row  # fmt: skip
        link = None
        if grade is not None:
            link = self._make.Link(
                to=named("m", to), grade=grade, evidence=evidence.split(), candidates=self._numbers(candidates),
                total=total, differences=[text for _, text in json.loads(differences)] if differences else [],
            )  # fmt: skip
        return self._make.Round(
            request=f"m{request}", answer=named("m", answer), link=link, state=state,
            asks=json.loads(asks) if asks else [], t=t / 1e6, t_answer=None if t_answer is None else t_answer / 1e6,
            era=era, client=self._clients[client],
        )  # fmt: skip

    def _numbers(self, places: str) -> list[str]:
        """Places of messages (see `MessageIds.places`) as numbers."""
        found, journal = [], 0
        for place in places.split():
            number, colon, offset = place.rpartition(":")
            journal = int(number) if colon else journal
            found.append(self._m_at(journal, offset))
        return [f"m{m}" for m in found if m is not None]

    def _m_at(self, journal: int, place: str) -> int | None:
        if (journal, place) not in self._named:
            if len(self._named) > 50_000:
                self._named.clear()
            offset, _, part = place.partition(".")
            self._named[journal, place] = self._one(
                "select m from messages where journal = ? and offset = ? and part = ?",
                (journal, int(offset), int(part or 0)),
            )
        return self._named[journal, place]

    # Findings

    def findings(self, operation: str | None = None) -> Iterator[model.Finding]:
        """All findings in order of time, or those of one operation."""
        order = "order by f.t, f.journal, f.offset, f.part, f.rule, f.path, f.id"
        if operation is None:
            return map(self._finding, self._rows(f"{_FINDING} {order}"))
        return map(
            self._finding,
            self._rows(f"{_FINDING} where f.operation = ? {order}", (self._operation_id(operation),)),
        )

    def latest_findings(self, most: int, settled: bool = False) -> list[model.Finding]:
        """The last ones, in order of time; `settled`: without notes on what is still under way."""
        where = f"where {SETTLED}" if settled else ""
        chosen = f"select id from findings {where} order by t desc, id desc limit ?"
        rows = self._rows(f"{_FINDING} where f.id in ({chosen}) order by f.t, f.id", (most,))
        return [self._finding(row) for row in rows]

    def findings_at(self, names: Iterable[str]) -> Iterator[model.Finding]:
        """Findings about these messages ("m3") and other events ("f4")."""
        for name in names:
            table, letter = ("messages", "m") if name.startswith("m") else ("events", "f")
            place = self.db.conn.execute(
                f"select journal, offset, part from {table} where {letter} = ?", (number(name, letter),)
            ).fetchone()
            if place is not None:
                where = (
                    f"{_FINDING} where f.journal = ? and f.offset = ? and f.part = ? order by f.rule, f.path"
                )
                yield from map(self._finding, self._rows(where, place))

    def _finding(self, row: tuple[Any, ...]) -> model.Finding:
        from mrtrscope.rules.catalogue import said_at

        (id, rule, level, keyword, party, at, also, op, channel, t, saw, expected, text, because, provisional,
         path, line, flow, event, m, f, journal, offset, era) = row  # fmt: skip
        return self._make.Finding(
            id=id, rule=rule, level=level, keyword=keyword, party=party, at=named("m", m) or named("f", f) or at,
            also=[self.name_of(key) for key in json.loads(also)], operation=named("op", op),
            channel=self._channels[channel], t=t / 1e6, saw=loaded(saw), expected=loaded(expected), text=text,
            path=path,
            rule_source=said_at(rule, era), because=because or None, provisional=bool(provisional),
            source=self._source(journal, line, flow, event, offset),
        )  # fmt: skip
