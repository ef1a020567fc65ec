"""The jinja2 templates, found beside the repository's package or inside the installed one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mrtrscope.views import escape

_HERE = Path(__file__).resolve().parent.parent
_FILTERS = (
    "dot_html", "dot_quoted", "html_attr", "html_text", "json_in_script", "markdown_code", "markdown_text",
    "mermaid_label", "plantuml_label", "svg_attr", "svg_text", "visible",
)  # fmt: skip
FOLDERS = (_HERE / "_templates", _HERE.parent / "templates")


@cache
def environment() -> Environment:
    """Templates see the functions of `escape` as filters; nothing is escaped by itself, as each language differs."""
    made = Environment(
        loader=FileSystemLoader([str(folder) for folder in FOLDERS if folder.is_dir()]),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    for name in _FILTERS:
        made.filters[name] = getattr(escape, name)
    return made


def render(name: str, **values: object) -> str:
    """A template, filled in."""
    return environment().get_template(name).render(**values)
