"""Operations that are, or may be, hops of others (see `link.hops`), found by their own key and by that of a host's."""

from __future__ import annotations

from collections import OrderedDict

from mrtrscope.link.facts import Exchange, Operation

SHARES = 1024  # operations whose hops may still change


class Share:
    """An operation that is, or may be, the hop of another.

    operation    itself                     exchange    its first exchange
    marks        what its server said, as digests of questions, states and results
    candidates   keys of the host's operations it may belong to; `to` the one it does, "" while none is chosen
    evidence     why they are candidates    grade       of the join
    proof        it takes more than equal arguments       over   it came to its end
    own          its caller was seen to call of his own accord: an equal result proves nothing
    ask, asked   key of a result that asks for input and was not taken up, "" for none, and when it came
    instant      how many such results in a row were taken up at once, and the host was not asked
    waiting      questions in the old way that have no answer: key -> when
    late         key of one of them that had none when the call was over, though the host was asked it
    """

    __slots__ = (
        "ask", "asked", "candidates", "evidence", "exchange", "grade", "instant", "late", "marks", "operation", "over",
        "own", "proof", "to", "waiting",
    )  # fmt: skip

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.operation: Operation = exchange.operation
        self.marks: list[str] = []
        self.candidates: list[str] = []
        self.evidence: list[str] = []
        self.waiting: dict[str, int] = {}
        self.grade = self.to = self.ask = self.late = ""
        self.proof = self.over = self.own = False
        self.asked = self.instant = 0


class Shares:
    """Keeps the latest of them."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, Share] = OrderedDict()  # by key of the upstream operation
        self._of: dict[
            str, dict[str, Share]
        ] = {}  # by key of a host's operation that is a candidate, then likewise

    def __len__(self) -> int:
        return len(self._all)

    def add(self, share: Share) -> None:
        """Keep one; the oldest makes room for it."""
        self._all[share.operation.key] = share
        for host in share.candidates:
            self._of.setdefault(host, {})[share.operation.key] = share
        if len(self._all) > SHARES:
            self.drop(next(iter(self._all.values())))

    def get(self, key: str) -> Share | None:
        """That of an upstream operation."""
        return self._all.get(key)

    def drop(self, share: Share) -> None:
        """Nothing more can be learned of it."""
        self._all.pop(share.operation.key, None)
        for host in share.candidates:
            self._unlist(share, host)

    def rule_out(self, share: Share, host: str) -> None:
        """It is no hop of this operation."""
        share.candidates.remove(host)
        self._unlist(share, host)

    def may_be_of(self, host: str) -> list[Share]:
        """Those of which a host's operation is a candidate."""
        return list(self._of.get(host, {}).values())

    def of(self, host: str) -> list[Share]:
        """Those that are joined to it."""
        return [share for share in self.may_be_of(host) if share.to == host]

    def _unlist(self, share: Share, host: str) -> None:
        listed = self._of.get(host, {})
        listed.pop(share.operation.key, None)
        if not listed:
            self._of.pop(host, None)
