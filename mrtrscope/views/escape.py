"""Captured text made safe for one place in one language. A view never writes captured text any other way.

Two steps, always in this order. `visible` first: it turns what cannot be seen, or would act on its surroundings
(control characters, bidirectional overrides, line separators, lone surrogates, invisible tags), into the escapes that a
programmer knows (``\\n``, ``\\x1b``, ``\\u202e``). Then the function of the language and the position. Every function
of a language calls `visible` itself, so that forgetting it is impossible; calling it twice changes nothing.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# What is replaced. The named group holds what is meant to be seen: a flag made of tag characters (Scotland, Wales); a
# joiner that joins something (emoji, Arabic, Indic scripts); one variation selector behind what can vary.
_UNSEEN: Final = re.compile(
    "(?P<meant>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f"
    "|(?<=[^\x00-\u02ff])[\u200c\u200d](?=[^\x00-\u02ff])"
    "|(?<=[0-9#*\xa9\xae\u0300-\ufdff\ufe10-\U000dffff])[\ufe00-\ufe0f\U000e0100-\U000e01ef])"
    "|[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
    "|[\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff]"
)
# More marks on one letter than any script needs would be drawn over the lines above and below.
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED: Final = re.compile(f"({_MARK}{{4}}){_MARK}+")
# Python calls all else printable that is meant to be seen, so that most texts need no closer look.
_UNSURE: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u115f\u1160\u17b4\u17b5\u180b-\u180f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3164"
    "\ufe00-\ufe2f\uffa0\ufffc\U000e0000-\U000e0fff]"
)
_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def _shown(match: re.Match[str]) -> str:
    return match[0] if match.lastgroup else _escape(match[0])


def _escape(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, keep: str = "") -> str:
    """The text with everything unseen spelled out; characters in `keep` (say, a newline) stay as they are."""
    rest = text
    for char in keep:
        rest = rest.replace(char, "")
    if rest.isprintable() and (rest.isascii() or not _UNSURE.search(rest)):
        return text
    if keep:
        return _PILED.sub("\\1…", _UNSEEN.sub(lambda m: m[0] if m[0] in keep else _shown(m), text))
    return _PILED.sub("\\1…", _UNSEEN.sub(_shown, text))


def has_right_to_left(text: str) -> bool:
    """True when some of the text runs from right to left, so that it has to be kept apart from its neighbours."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _xml_attr(text: str) -> str:
    return _xml(text).replace('"', "&quot;").replace("'", "&#39;").replace("`", "&#96;")


def svg_text(text: str, keep: str = "") -> str:
    """For the inside of an SVG (XML) element."""
    return _xml(visible(text, keep))


def svg_attr(text: str) -> str:
    """For an SVG (XML) attribute between quotes."""
    return _xml_attr(visible(text))


def html_text(text: str, keep: str = "\n\t") -> str:
    """For the inside of an HTML element that is neither script nor style; line breaks stay, for `pre`."""
    return _xml(visible(text, keep))


def html_attr(text: str) -> str:
    """For an HTML attribute between quotes. Never for `on…`, `style` or the start of an address."""
    return _xml_attr(visible(text))


def json_in_script(value: Any) -> str:
    """JSON for a `<script type="application/json">` element: no end tag, comment or line separator in it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_DOT = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def dot_quoted(text: str) -> str:
    """A DOT string with its quotes, for label, tooltip, id: no escape (`\\N`, `\\l`) or entity acts in it."""
    return f'"{visible(text).translate(_DOT)}"'


_DOT_HTML = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\\": "&#92;", "[": "&#91;", "]": "&#93;"}
)


def dot_html(text: str) -> str:
    """For text inside a DOT HTML-like label."""
    return visible(text).translate(_DOT_HTML)


@cache
def _mermaid() -> re.Pattern[str]:
    return re.compile(
        r"[^\w .,:/()=+?!'·…“”‹›→■▲●–—-]|[ﬂ°¶ß]|^:|(?<=[-+=])[-+=]|(?<![\w])end(?!\w)|^(?:no)?wrap(?=\s*:)",
        re.IGNORECASE,
    )


def mermaid_label(text: str) -> str:
    """For the text of a message, note, alias or box in Mermaid: one line, in which nothing is markup.

    What is not plainly text becomes `#n;`, Mermaid's own form. Four letters are written so because Mermaid marks its
    entities with them, `end` because it would close a block, `wrap:` because it would fold the text.
    """
    return _mermaid().sub(lambda m: f"#{ord(m[0][0])};{m[0][1:]}", visible(text))


@cache
def _plantuml() -> re.Pattern[str]:
    return re.compile(
        r"[^\w .,()=:?/+-]|(?<=([-/_=.:+]))\1|([-/_=.:+])(?=\2)|^[ .:=-]+|[^\x00-\x7f]|^end",
        re.ASCII | re.IGNORECASE,
    )


def plantuml_label(text: str) -> str:
    """For the text of a message, note or participant in PlantUML: nothing is Creole, a tag, a call or an end.

    Written as `<U+XXXX>`, which PlantUML turns back after its preprocessor and Creole have looked. A line of a note
    that begins with "end" could close it.
    """

    def plain(match: re.Match[str]) -> str:
        first = match[0][0]
        if first.isascii() and first.isalpha():
            return f"<U+{ord(first):04X}>{match[0][1:]}"
        return "".join(f"<U+{ord(char):04X}>" for char in match[0])

    return _plantuml().sub(plain, visible(text))


_MARKDOWN = str.maketrans({
    **{c: "\\" + c for c in "\\`*_{}[]()#+-.!|~:=^$\"'"}, "&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;",
})  # fmt: skip


def markdown_text(text: str) -> str:
    """For running text or a table cell in Markdown (CommonMark and GitHub's): no markup, links or mentions."""
    return visible(text).translate(_MARKDOWN)


def markdown_code(text: str) -> str:
    """A code span, also inside a table cell: fenced by more backticks than the text has in a row."""
    text = visible(text).replace("|", "\\|") if "|" in text else visible(text)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def terminal(text: str) -> str:
    """For a terminal: no control character reaches it, so neither colour nor cursor nor title can be set."""
    return visible(text)
