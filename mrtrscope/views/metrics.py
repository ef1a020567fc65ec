"""How wide text is, and where to cut and fold it: reckoned here, so that every engine puts things in the same place.

The letters of Arimo, Liberation Sans, Arial and Helvetica are equally wide; the table below has the common ones. For
the rest the East Asian width decides: wide is one em, narrow 0.6, marks nothing. What a viewer's font does differently
the SVG evens out with `textLength`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

Measure = Callable[[str], float]

_SANS = {
    191: "'", 222: "ijl‘’", 260: "|¦", 278: " !,./:;I[\\]ftÌÍÎÏìíîï", 333: "()-`r¡¨²³´·¸¹“”‹›", 334: "{}", 350: "•",
    355: '"', 389: "*", 400: "°", 469: "^", 500: "Jcksvxyzçýÿ↑↓", 549: "±÷≤≥≈",
    556: "#$0123456789?L_abdeghnopqu¢£¤¥§«»àáâãäåèéêëðñòóôõöùúûüþ–", 576: "µ", 584: "+<=>~¬×−", 604: "●■",
    611: "FTZ¿ßø", 667: "&ABEKPSVXYÀÁÂÃÄÅÈÉÊËÝÞ", 722: "CDHNRUwÇÐÑÙÚÛÜ", 737: "©®", 778: "GOQÒÓÔÕÖØ", 833: "Mm",
    834: "¼½¾", 889: "%æ", 944: "W", 990: "▲▼", 1000: "Æ—…→←", 1015: "@",
}  # fmt: skip
_BOLD = {
    238: "'", 278: " ,./I\\ijlÌÍÎÏìíîï‘’", 280: "|¦", 333: "!()-:;[]`ft¡¨²³´·¸¹‹›", 350: "•", 389: "*r{}", 400: "°",
    474: '"', 500: "z“”↑↓", 549: "±÷≤≥≈", 556: "#$0123456789J_aceksvxy¢£¤¥§«»àáâãäåçèéêëýÿ–", 576: "µ",
    584: "+<=>^~¬×−", 604: "●■", 611: "?FLTZbdghnopqu¿ßðñòóôõöøùúûüþ", 667: "EPSVXYÈÉÊËÝÞ",
    722: "&ABCDHKNRUÀÁÂÃÄÅÇÐÑÙÚÛÜ", 737: "©®", 778: "GOQwÒÓÔÕÖØ", 833: "M", 834: "¼½¾", 889: "%mæ", 944: "W", 975: "@",
    990: "▲▼", 1000: "Æ—…→←",
}  # fmt: skip
_EM = {
    False: {c: w / 1000 for w, chars in _SANS.items() for c in chars},
    True: {c: w / 1000 for w, chars in _BOLD.items() for c in chars},
}
_SIGNS = frozenset("‘’“”•…‹›→←↑↓≤≥≈−●■▲▼–—▶◀╌─│┊═╳▓█")
_NARROW = 0.6  # of an em: every letter of the fixed-width font, and the rest of Latin, Greek and Cyrillic on average
ELLIPSIS = "…"


def width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """Width in pixels of one line at a font size."""
    if mono and text.isascii():
        return len(text) * _NARROW * size
    return size * (_em(text, bold, mono) if len(text) <= _KEPT else _em.__wrapped__(text, bold, mono))


_KEPT = 200  # characters of a text whose width is kept: most are asked for many times


@lru_cache(10_000)
def _em(text: str, bold: bool, mono: bool) -> float:
    """Width of a line in ems."""
    if mono:
        return sum(_grapheme_em(g, {}) for g in graphemes(text))
    table = _EM[bold]
    total = 0.0
    for char in text:
        known = table.get(char)
        if known is None:
            return sum(_grapheme_em(g, table) for g in graphemes(text))
        total += known
    return total


def _grapheme_em(grapheme: str, table: dict[str, float]) -> float:
    known = table.get(grapheme[0])
    if known is not None:
        return known
    wide = cells(grapheme)
    return 1.0 if wide == 2 else wide * _NARROW


def _simple(text: str) -> bool:
    """True when every character is one column wide and stands by itself: Latin letters and our own signs."""
    return text.isascii() or all((char < "\u0300" and char != "\xad") or char in _SIGNS for char in text)


def cells(text: str) -> int:
    """Width in columns of a terminal: East Asian wide characters and emoji take two, marks none."""
    if _simple(text):
        return len(text)
    from wcwidth import wcswidth  # takes its time to import, and most pictures never need it

    wide = wcswidth(text)
    return wide if wide >= 0 else len(text)


def graphemes(text: str) -> Iterator[str]:
    """The text in pieces that a reader sees as one character; it is never cut inside one."""
    if _simple(text):
        return iter(text)
    from wcwidth import iter_graphemes

    return iter_graphemes(text)


def cut(text: str, limit: float, measure: Measure, middle: bool = False) -> str:
    """The text if it fits, else as much as fits with an ellipsis at its end, or in its middle (paths, addresses)."""
    if len(text) > 4096:
        text = text[:2048] + ELLIPSIS + text[-2000:] if middle else text[:4096] + ELLIPSIS
    if measure(text) <= limit:
        return text
    pieces = list(graphemes(text))
    room = limit - measure(ELLIPSIS)
    if room <= 0:
        return ELLIPSIS
    if not middle:
        return "".join(pieces[: _fitting(pieces, room, measure)]).rstrip() + ELLIPSIS
    head = _fitting(pieces, room * 0.6, measure)
    tail = _fitting(pieces[::-1], room - measure("".join(pieces[:head])), measure)
    return "".join(pieces[:head]) + ELLIPSIS + "".join(pieces[len(pieces) - tail :] if tail else [])


def _fitting(pieces: list[str], room: float, measure: Measure) -> int:
    """How many of the pieces fit: found by halving, as widths only grow."""
    low, high = 0, len(pieces)
    while low < high:
        mid = (low + high + 1) // 2
        if measure("".join(pieces[:mid])) <= room:
            low = mid
        else:
            high = mid - 1
    return low


def wrap(text: str, limit: float, lines: int, measure: Measure) -> list[str]:
    """The text in at most `lines` lines, broken at blanks where that can be, the last one cut; newlines break."""
    out: list[str] = []
    for paragraph in text[:20_000].split("\n"):
        rest = paragraph.strip()
        while rest and len(out) < lines:
            line, rest = _first_line(rest, limit, measure)
            out.append(line)
        if rest or (len(out) == lines and paragraph is not None and _more(text, out)):
            break
    if out and _more(text, out):
        out[-1] = cut(out[-1] + " " + ELLIPSIS, limit, measure)
        if not out[-1].endswith(ELLIPSIS):
            out[-1] += ELLIPSIS
    return out


def _more(text: str, lines: list[str]) -> bool:
    """True when the lines do not hold all of the text (blanks aside)."""
    return sum(len("".join(line.split())) for line in lines) < len("".join(text.split()))


def _first_line(text: str, limit: float, measure: Measure) -> tuple[str, str]:
    head = text[:1000]
    if measure(head) <= limit:
        return head, text[1000:].lstrip()
    pieces = list(graphemes(head))
    fit = max(1, _fitting(pieces, limit, measure))
    line = "".join(pieces[:fit])
    blank = -1 if text[len(line) : len(line) + 1].isspace() else line.rfind(" ")
    if blank > len(line) // 3:
        line = line[:blank]
    return line.rstrip(), text[len(line) :].lstrip()
