"""Colours by role, for light, dark and print.

The hues are those of Okabe and Ito, which people with any colour vision can tell apart, darkened or lightened until
text in them reaches a contrast of 4.5 to 1; and no meaning hangs on colour alone: lines, shapes and words say it too.
"""

from __future__ import annotations

Theme = dict[str, str]

LIGHT: Theme = {
    "bg": "#ffffff", "ink": "#1a2330", "muted": "#566273", "line": "#b4bfcb", "frame": "#f4f7fa",
    "frame-line": "#c5d0db",
    "card": "#fffdf4", "card-line": "#d8c98f", "head": "#e9eff5", "head-line": "#9fb0c1", "chip": "#ffffff",
    "request": "#0063a0", "asked": "#8f5a00", "complete": "#00704f", "error": "#b03a00", "note": "#566273",
    "question": "#8f5a00", "reply": "#00704f", "cancel": "#b03a00", "wait": "#8a96a3",
    "must": "#b03a00", "should": "#8f5a00", "info": "#0063a0", "on-mark": "#ffffff",
    "exact": "#00704f", "inferred": "#0063a0", "suspect": "#b03a00", "ambiguous": "#7b4a8c",
    "state0": "#cc79a7", "state1": "#56b4e9", "state2": "#3fb98f", "state3": "#e6b030", "state4": "#8b8fd8",
}  # fmt: skip

DARK: Theme = {
    "bg": "#0f141b", "ink": "#e8edf3", "muted": "#9cabbb", "line": "#3b4755", "frame": "#161d27",
    "frame-line": "#33404e",
    "card": "#1f1d14", "card-line": "#6b5f35", "head": "#1f2a37", "head-line": "#54677b", "chip": "#0f141b",
    "request": "#6cbcf0", "asked": "#f0b84a", "complete": "#4fd0a3", "error": "#ff8f57", "note": "#9cabbb",
    "question": "#f0b84a", "reply": "#4fd0a3", "cancel": "#ff8f57", "wait": "#6f7f90",
    "must": "#ff8f57", "should": "#f0b84a", "info": "#6cbcf0", "on-mark": "#0f141b",
    "exact": "#4fd0a3", "inferred": "#6cbcf0", "suspect": "#ff8f57", "ambiguous": "#d8a3ea",
    "state0": "#b0608c", "state1": "#3c8fbf", "state2": "#2f9470", "state3": "#b58a1f", "state4": "#6f73bd",
}  # fmt: skip

PRINT: Theme = {
    **LIGHT, "ink": "#000000", "muted": "#333333", "line": "#888888", "frame": "#ffffff", "frame-line": "#777777",
    "card": "#ffffff", "card-line": "#777777", "head": "#ffffff", "head-line": "#333333", "wait": "#666666",
    "request": "#00456f", "asked": "#5f3c00", "complete": "#004c36", "error": "#7d2900", "note": "#333333",
    "question": "#5f3c00", "reply": "#004c36", "cancel": "#7d2900", "must": "#7d2900", "should": "#5f3c00",
    "info": "#00456f", "exact": "#004c36", "inferred": "#00456f", "suspect": "#7d2900", "ambiguous": "#54305f",
}  # fmt: skip

THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK, "print": PRINT}
STATES = 5  # colours for states; they come round again after these
SHAPES = {"must": "octagon", "should": "triangle", "info": "circle"}


def css(theme: Theme, scope: str = "") -> str:
    """Rules that give a picture's classes the colours of a theme, so that a page can switch all its pictures."""
    rules = (
        f"{scope} .f-{role}{{fill:{color}}}{scope} .s-{role}{{stroke:{color}}}"
        for role, color in theme.items()
    )
    return "".join(rules)
