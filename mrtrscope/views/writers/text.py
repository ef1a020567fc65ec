"""The scene for a terminal or a plain-text file: columns of characters, by East Asian width."""

from __future__ import annotations

from mrtrscope.views.escape import terminal
from mrtrscope.views.metrics import cells, cut, wrap
from mrtrscope.views.scene import Participant, Ribbon, Row, Scene, Span

_CLOCK = 13
_LEAST, _MOST = 72, 140
_SHAPES = {"must": "■", "should": "▲", "info": "●"}


def write(scene: Scene, width: int = 100) -> str:
    """The picture in text, `width` columns wide."""
    return _Text(scene, max(_LEAST, min(_MOST, width))).write()


class _Text:
    def __init__(self, scene: Scene, width: int) -> None:
        self.scene, self.width = scene, width
        n = len(scene.participants)
        first, last = _CLOCK + 4, width - 8
        step = (last - first) / max(1, n - 1)
        self.x = {p.id: round(first + i * step) for i, p in enumerate(scene.participants)}
        self.out: list[str] = []

    def write(self) -> str:
        scene = self.scene
        self.out += [
            *wrap(terminal(scene.title), self.width, 3, cells),
            *wrap(terminal(scene.subtitle), self.width, 2, cells),
            "",
        ]
        self._heads()
        opens = {span.first: span for span in scene.spans}
        closes = {span.last: span for span in scene.spans}
        for i, row in enumerate(scene.rows):
            if i in opens:
                self._frame(opens[i])
            self._row(row)
            for ribbon in scene.ribbons:
                if ribbon.stop == i:
                    self._state(ribbon)
            if i in closes:
                self.out.append(self._line({}, fill="─", start=_CLOCK))
        for ribbon in scene.ribbons:
            if ribbon.stop is None:
                self._state(ribbon)
        self._findings()
        return "\n".join(line.rstrip() for line in self.out) + "\n"

    def _heads(self) -> None:
        names = {p.id: (p.side if p.side != "files" else "roots") for p in self.scene.participants}
        self.out.append(self._centered(names))
        called = {p.id: terminal(p.name) for p in self.scene.participants if p.name}
        if called:
            self.out.append(self._centered(called))

    def _centered(self, texts: dict[str, str]) -> str:
        line = ""
        for p in self.scene.participants:
            text = texts.get(p.id, "")
            room = self._room(p)
            text = cut(text, room, cells)
            start = max(cells(line) + (1 if line.strip() else 0), self.x[p.id] - cells(text) // 2)
            line += " " * (start - cells(line)) + text
        return line

    def _room(self, who: Participant) -> int:
        others = [abs(self.x[p.id] - self.x[who.id]) for p in self.scene.participants if p is not who]
        return max(4, min([*others, 2 * (self.width - self.x[who.id])]) - 2)

    def _line(self, put: dict[int, str], fill: str = " ", start: int = 0, lifeline: str = "│") -> str:
        """A line with lifelines, and texts put at columns over them."""
        columns = [" "] * start + [fill] * (self.width - start)
        for x in self.x.values():
            columns[x] = lifeline if fill == " " else "┼"
        line, at = "", 0
        for x, text in sorted(put.items()):
            if x < at:
                continue
            line += "".join(columns[at:x]) + text
            at = x + cells(text)
        return line + "".join(columns[at:])

    def _frame(self, span: Span) -> None:
        told = " ".join(t for t in (span.label, f"[{span.grade}]" if span.grade else "", span.words) if t)
        first, *rest = wrap(terminal(told), self.width - _CLOCK - 6, 3, cells) or [""]
        self.out.append(self._line({_CLOCK: f"─ {first} "}, fill="─", start=_CLOCK))
        self.out += [self._line({_CLOCK: f"  {part} "}) for part in rest]

    def _row(self, row: Row) -> None:
        if row.kind in ("gap", "rounds"):
            x = self.x[row.source]
            text = cut(f" ~ {terminal(row.label)} ~ ", self.width - 4, cells)
            self.out += [
                self._line({max(0, min(x - cells(text) // 2, self.width - cells(text))): text}, lifeline="┊")
            ]
            return
        if row.kind == "end":
            text = cut(f"╳ {terminal(row.label)}", self.width - 4, cells)
            self.out.append(self._line({min(self.x[row.source], self.width - cells(text)): text}))
            return
        a, b = self.x[row.source], self.x[row.target]
        low, high = min(a, b), max(a, b)
        room = high - low - 3
        leftward = a > b and row.kind not in ("ask", "reply")

        def put_text(text: str, margin: str = "") -> None:
            at = high - 1 - cells(text) if leftward else low + 2
            self.out.append(self._line({at: text} | ({0: margin} if margin else {})))

        for n, part in enumerate(self._label(row, room)):
            put_text(part, row.m if row.clock and not n else "")
        put = {low + 1: self._arrow(row, a < b, high - low - 1)}
        if row.clock:
            put[0] = row.clock[:_CLOCK]
        self.out.append(self._line(put))
        for line in row.lines[:12]:
            text = terminal(f"{line.name}: {line.text}" if line.name else line.text.replace("\n", " "))
            for part in wrap(text, room, 3, cells):
                put_text(part)

    def _label(self, row: Row, room: int) -> list[str]:
        """What stands over an arrow: the findings are never cut."""
        marks = self._marks(row).strip()
        lines = wrap(terminal(row.label), room, 3, cells) or [""]
        if marks and cells(lines[-1]) + 1 + cells(marks) <= room:
            lines[-1] += f" {marks}"
        elif marks:
            lines += wrap(marks, room, 4, cells)
        return lines

    def _arrow(self, row: Row, right: bool, long: int) -> str:
        body = {"ask": "·", "reply": "·", "fold": "═"}.get(
            row.kind, "╌" if row.tone in ("asked", "complete", "error") else "─"
        )
        status = f" {row.status} " if row.status and long > 12 else ""
        shaft = body * (long - 1 - cells(status))
        if right:
            return shaft[:2] + status + shaft[2:] + "▶"
        return "◀" + shaft[:-2] + status + shaft[-2:]

    def _marks(self, row: Row) -> str:
        marks, more = self.scene.worst(row)
        return "".join(f" {self._sign(mark.n)}" for mark in marks) + (f" +{more}" if more else "")

    def _sign(self, n: int) -> str:
        level = self.scene.marks[n - 1].level
        return f"{_SHAPES.get(level, '●')}{n} {level}"

    def _state(self, ribbon: Ribbon) -> None:
        sign = {
            "kept": "═══",
            "changed": "═╳═",
            "dropped": "═╳",
            "invented": "╳═",
            "held": "══┄",
            "unclear": "┄┄┄",
        }[ribbon.fate]
        after = f", now {ribbon.label_after}" if ribbon.fate == "changed" else ""
        text = terminal(f"{sign} state {ribbon.label}{after}: {ribbon.words}")
        x = self.x["client"] + 2
        room = self.width - x - 1
        if cells(text) > room:
            x, room = _CLOCK, self.width - _CLOCK
        self.out += [self._line({x: part}) for part in wrap(text, room, 3, cells)]

    def _findings(self) -> None:
        for mark in self.scene.marks:
            self.out.append("")
            head = terminal(f"{self._sign(mark.n)} · {mark.party} · {mark.rule} · at {mark.at}")
            self.out += wrap(head, self.width, 2, cells)
            self.out += [f"    {part}" for part in wrap(terminal(mark.text), self.width - 4, 4, cells)]
            told = " · ".join(
                f"{name} {value}" for name, value in (("saw", mark.saw), ("expected", mark.expected)) if value
            )
            self.out += [f"    {part}" for part in wrap(terminal(told), self.width - 4, 3, cells)]
            if mark.source:
                self.out.append(f"    {cut(terminal(mark.source), self.width - 4, cells, middle=True)}")
