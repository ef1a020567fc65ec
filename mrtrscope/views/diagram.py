"""The way from an operation to a picture in any format: what the command, the report and the demo call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mrtrscope.views.build import build
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import OperationDetail, Scene

if TYPE_CHECKING:
    from mrtrscope.model import Operation
    from mrtrscope.views.shapes import Page

Format = Literal["svg", "png", "dot", "mermaid", "plantuml", "text"]
FORMATS: tuple[Format, ...] = ("svg", "png", "dot", "mermaid", "plantuml", "text")
SUFFIX = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd", "plantuml": ".puml", "text": ".txt"}


@dataclass(slots=True)
class Options:
    """How a picture is to look.

    width     of the picture in pixels (text: in columns), None: as wide as what stands in it wants
    theme     "light", "dark" or "print"
    unfold    every row and line, nothing folded
    raw       secrets and states as they are
    links     prefix of addresses that the elements of an SVG link to, None: no links
    engine    what draws PNG: see `writers.png`
    page_height   taller pictures become several; None: the usual height
    drawn     set by drawing: the width of the widest page so far, more than `width` where the columns need more
    """

    width: float | None = None
    theme: str = "light"
    unfold: bool = False
    raw: bool = False
    links: str | None = None
    engine: str = "auto"
    page_height: float | None = None
    drawn: float = 0.0


def scene_of(
    detail: OperationDetail, options: Options | None = None, redact: Redactor | None = None
) -> Scene:
    """The scene of an operation; `redact` is shared by all pictures of one report, so that stand-ins agree."""
    options = options or Options()
    if redact is None:
        redact = Redactor(options.raw)
        _look_through(detail, redact)
    return build(detail, redact=redact, unfold=options.unfold)


def _look_through(detail: OperationDetail, redact: Redactor) -> None:
    """Have a secret hidden that stands before the place where it is named."""
    for round_ in (*detail.rounds, *detail.inner):
        for said in (round_.request, round_.answer, *round_.notes):
            if said is not None:
                redact.value(said.body)
    for said in detail.attached:
        redact.value(said.body)
    for hop in detail.hops:
        _look_through(hop, redact)


def render(scene: Scene, format: Format, options: Options | None = None) -> Iterator[bytes]:
    """The pages of a picture, encoded; formats without pages give one."""
    options = options or Options()
    if format in ("mermaid", "plantuml", "text"):
        yield _written(scene, format, options).encode("utf-8")
        return
    from mrtrscope.views.draw import draw
    from mrtrscope.views.layout import PAGE_HEIGHT

    engine = options.engine
    if format == "png":
        from mrtrscope.views.writers.png import prepared

        scene, engine = prepared(scene, engine)
    for page in draw(scene, width=options.width, page_height=options.page_height or PAGE_HEIGHT):
        yield _page(page, format, options, engine)


def _written(scene: Scene, format: Format, options: Options) -> str:
    if format == "text":
        from mrtrscope.views.writers import text

        return text.write(scene, int(options.width or 100))
    if format == "mermaid":
        from mrtrscope.views.writers import mermaid

        return mermaid.write(scene)
    from mrtrscope.views.writers import plantuml

    return plantuml.write(scene)


def diagram(
    detail: OperationDetail,
    format: Format = "svg",
    options: Options | None = None,
    redact: Redactor | None = None,
) -> Iterator[bytes]:
    """One operation, drawn: the pages in the format asked for; `redact` as for `scene_of`."""
    options = options or Options()
    return render(scene_of(detail, options, redact), format, options)


def session(
    operations: Iterable[Operation],
    channel: str,
    format: Format,
    options: Options | None = None,
    redact: Redactor | None = None,
) -> Iterator[bytes]:
    """A whole channel, operations as lanes: the pages in svg, png or dot, or text; `redact` as for `scene_of`."""
    from mrtrscope.views import session as lanes

    options = options or Options()
    made = lanes.build(operations, channel, redact or Redactor(options.raw))
    if format == "text":
        yield lanes.text(made, int(options.width or 100)).encode("utf-8")
        return
    if format not in ("svg", "png", "dot"):
        raise ValueError(f"no session in {format}")
    engine = options.engine
    if format == "png":
        from mrtrscope.views.writers.png import prepared

        made, engine = prepared(made, engine)
    for page in lanes.pages(made, options.width):
        yield _page(page, format, options, engine)


def _page(page: Page, format: Format, options: Options, engine: str) -> bytes:
    options.drawn = max(options.drawn, page.width)
    if format == "svg":
        from mrtrscope.views.writers import svg

        return svg.write(page, options.theme, links=options.links).encode("utf-8")
    if format == "dot":
        from mrtrscope.views.writers import dot

        return dot.write(page, options.theme, links=options.links).encode("utf-8")
    from mrtrscope.views.writers import png

    return png.write(page, options.theme, engine=engine)
