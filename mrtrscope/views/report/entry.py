"""One operation as the report shows it: JSON values whose strings are ready to be read, redacted and made visible."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mrtrscope import model
from mrtrscope.views import changes
from mrtrscope.views.build import build
from mrtrscope.views.detail import Whole
from mrtrscope.views.draw import draw
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report import messages
from mrtrscope.views.ribbons import measured, shortened
from mrtrscope.views.scene import FindingDetail, OperationDetail, RoundDetail, Scene
from mrtrscope.views.show import EVIDENCE
from mrtrscope.views.spelled import STATE
from mrtrscope.views.words import series, told, when
from mrtrscope.views.writers import svg
from mrtrscope.wire.events import ABSENT

PAGES: Final = 12  # pages of one picture
VALUE: Final = 2000  # characters of one value in a comparison


def index_row(whole: Whole, redact: Redactor) -> list[Any]:
    """The line of the table; its columns are named at the top of templates/report.js."""
    detail, operation, rows, _ = whole
    times = operation.times
    return [
        operation.id, round(operation.t, 6), when(operation.t), visible(operation.channel),
        visible(redact.text(operation.method)), visible(redact.text(operation.target or "")), operation.kind,
        len(operation.rounds), operation.outcome, round(times.server, 6), round(times.waiting, 6),
        round(times.total, 6), operation.worst_count, operation.worst or "",
        numbers(rows), " ".join(sorted({found.rule for found in detail.findings})), operation.findings,
        int(operation.tool_error),
    ]  # fmt: skip


def numbers(ms: Iterable[str]) -> str:
    """Message numbers, runs folded: "3-7 9"."""
    out: list[str] = []
    first = last = -2
    for n in [*sorted(int(m[1:]) for m in ms), -9]:
        if n != last + 1:
            if last >= 0:
                out.append(f"{first}-{last}" if last > first else f"{first}")
            first = n
        last = n
    return " ".join(out)


class Entry:
    """Makes entries; one for each report, so that stand-ins agree."""

    def __init__(self, redact: Redactor) -> None:
        self.redact = redact

    def scene(self, whole: Whole) -> tuple[dict[str, Any], Scene]:
        """All but the picture, and what the picture is drawn from."""
        detail, operation, rows, events = whole
        texts = messages.texts(rows, events, self.redact)
        scene = build(detail, redact=self.redact)
        inside = {m for m, row in rows.items() if row.exchange in {one.request for one in operation.rounds}}
        out: dict[str, Any] = {
            "id": operation.id,
            "title": scene.title,
            "who": visible(" ⇄ ".join(filter(None, [detail.client, detail.server]))),
            "era": operation.rounds[0].era if operation.rounds else "",
            "rounds": list(self._rounds(detail, operation, rows)),
            "rest": [m for m in rows if m not in inside],
            "states": list(self._states(scene)),
            "findings": [self._finding(found) for found in detail.findings],
            "ms": {
                m: messages.shown(row, texts.get(m), events.get(m), self.redact) for m, row in rows.items()
            },
        }
        return out, scene

    def _rounds(
        self, whole: OperationDetail, operation: model.Operation, rows: Mapping[str, model.Message]
    ) -> Iterator[dict[str, Any]]:
        before: RoundDetail | None = None
        for detail, one in zip(whole.rounds, operation.rounds, strict=False):
            made: dict[str, Any] = {
                "state": one.state,
                "at": round(one.t - operation.t, 6),
                "ms": [m for m, row in rows.items() if row.exchange == one.request],
            }
            if one.t_answer is not None:
                made["took"] = round(one.t_answer - one.t, 6)
            if one.asks:
                made["asks"] = [visible(key) for key in one.asks]
            if one.link is not None:
                made |= _link(one.link)
            if before is not None:
                made["since"] = before.request.m
                breaches = {
                    f.path: f
                    for f in whole.findings
                    if f.at == detail.request.m and f.path.startswith("/") and f.level != "info"
                }
                made["diff"] = self.compared(before.request.body, detail.request.body, breaches)
            before = detail
            yield made

    def compared(
        self, before: Any, after: Any, breaches: Mapping[str, FindingDetail] | None = None
    ) -> list[list[Any]]:
        """[path, before, after, remark, whether a rule is broken there]; None where there is no value.

        breaches   findings about the later one, by JSON pointer; what they say stands at what they are about
        """
        broken = dict(breaches or {})
        out: list[list[Any]] = []
        for change in changes.changes(before, after):
            if len(out) == changes.LIMIT:
                out.append(["…", None, None, "more places differ", False])
                break
            name = change.path.rpartition("/")[2]
            values = [self._short(name, value) for value in (change.before, change.after)]
            row = [visible(self.redact.text(change.path)), *values]
            told = [broken.pop(path) for path in list(broken) if _about(path, change.path)]
            words = "; ".join(visible(self.redact.text(found.text)) for found in told)
            out.append([*row, words or _remark(change), bool(told)])
        if "/id" in broken:  # what should have changed, and did not
            same = self._short("id", after.get("id", ABSENT) if isinstance(after, dict) else ABSENT)
            out.insert(0, ["/id", same, same, visible(self.redact.text(broken["/id"].text)), True])
        return out

    def _short(self, name: str, value: Any) -> str | None:
        if value is ABSENT:
            return None
        if name == STATE and not self.redact.raw:
            return f"{shortened(value)} ({measured(value)})"
        text = json.dumps(_stateless(self.redact.named(name, value), self.redact.raw), ensure_ascii=False)
        return visible(text if len(text) <= VALUE else f"{text[:VALUE]}… ({len(text):,} characters)")

    def _states(self, scene: Scene) -> Iterator[list[str]]:
        """[fate, issued by, brought by, state, what it had become, words]."""
        for ribbon in scene.ribbons:
            start, stop = (
                "" if row is None else scene.rows[row].m or scene.rows[row].id
                for row in (ribbon.start, ribbon.stop)
            )
            after = ribbon.label_after if ribbon.fate == "changed" else ""
            yield [ribbon.fate, start, stop, ribbon.label, after, ribbon.words]

    def _finding(self, found: FindingDetail) -> dict[str, Any]:
        return finding(
            found.rule, found.level, found.party, found.at, found.text, found.also, found.saw, found.expected,
            found.rule_source, self.redact,
        )  # fmt: skip


def finding(
    rule: str, level: str, party: str, at: str, text: str, also: list[str], saw: Any, expected: Any, source: str,
    redact: Redactor,
) -> dict[str, Any]:  # fmt: skip
    """A finding, ready to be read."""
    out: dict[str, Any] = {
        "rule": rule, "level": level, "party": party, "at": at, "text": visible(redact.text(text)), "source": source,
    }  # fmt: skip
    if also:
        out["also"] = [visible(place) for place in also[:50]]
    for name, value in (("saw", saw), ("expected", expected)):
        if value is not None and not told(value, text):
            shown = redact.value(value)
            shown = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
            out[name] = visible(shown if len(shown) <= VALUE else f"{shown[:VALUE]}…")
    return out


def pictures(scene: Scene) -> list[str]:
    """The pages of its picture, for use inside a page whose style colours them."""
    out: list[str] = []
    for page in draw(scene):
        if len(out) == PAGES:
            break
        # A group, as there are links in it: what is an image has no parts for those who listen.
        out.append(svg.write(page, links="#", header=False).replace('role="img"', 'role="group"', 1))
    return out


def _link(link: model.Link) -> dict[str, Any]:
    words = series([EVIDENCE.get(word, word) for word in link.evidence])
    if link.to is None:
        words = f"none of {link.total:,} candidates can be chosen"
    out: dict[str, Any] = {"grade": link.grade, "why": visible(words)}
    if link.to:
        out["to"] = link.to
    else:
        out["of"] = link.candidates[:12]
    if link.differences:
        out["but"] = [visible(text) for text in link.differences]
    return out


_REMARKS = {
    "/id": "a new id, as it has to be", "/params/inputResponses": "the answers",
    f"/params/{STATE}": "the state that the answer issued",
}  # fmt: skip


def _about(broken: str, changed: str) -> bool:
    """Whether what is broken at one place is seen in a change at another: there, or in the value as a whole."""
    return broken == changed or broken.startswith(f"{changed}/") or changed.startswith(f"{broken}/")


def _remark(change: changes.Change) -> str:
    if change.after is ABSENT:
        return "no longer there"
    return _REMARKS.get(change.path, "")


def _stateless(value: Any, raw: bool, depth: int = 0) -> Any:
    """The value with the states in it shortened."""
    if raw or depth > 64:
        return value
    if isinstance(value, dict):
        return {
            key: shortened(item)
            if key == STATE and isinstance(item, str)
            else _stateless(item, raw, depth + 1)
            for key, item in value.items()
        }
    return [_stateless(item, raw, depth + 1) for item in value] if isinstance(value, list) else value
