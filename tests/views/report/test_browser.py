"""The page in a real browser: search, links, keys, dark, paper; quiet, alone, accessible, unmoved by labels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mrtrscope.views.escape import visible
from tests import captures
from tests.conftest import SAMPLES, npm
from tests.views import hostile
from tests.views.devtools import Tab, with_tab
from tests.views.report.test_pages import made

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

TYPE = """((text) => {{
    const q = document.getElementById("q");
    q.value = text;
    q.dispatchEvent(new Event("input", {{bubbles: true}}));
}})({})"""
SHOWN = "document.getElementById('shown').textContent"
ROWS = "[...document.querySelectorAll('tr.op')].map(row => row.id.slice(4))"
SEEN = """(() => {{
    const top = document.getElementById("{}").getBoundingClientRect().top;
    return top >= -5 && top < innerHeight;
}})()"""
UNFOLD = (
    "document.querySelectorAll('details').forEach((one) => { one.open = true; if (one.fill) one.fill(); })"
)


def script(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def choose(id: str, value: str) -> str:
    return (
        f"(() => {{ const one = document.getElementById('{id}'); one.value = '{value}';"
        " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("report") / "report.html"
    capture = output.parent / ("a_long_name_that_no_line_of_a_phone_holds_" * 4) / "sample-demo"
    shutil.copytree(SAMPLES / "sample-demo", capture)
    made(capture, output)
    return output


def test_search_filter_and_order(page: Path, tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.open(page)
        assert await tab.run(SHOWN) == "26 operations"
        await tab.run(TYPE.format('"invitation"'))
        await tab.until(f"{SHOWN} === '2 of 26 operations'")
        assert await tab.run(ROWS) == ["op5", "op18"]
        await tab.run(TYPE.format('"m42"'))
        await tab.until(f"{SHOWN} === '1 of 26 operations'")
        assert await tab.run(ROWS) == ["op11"]
        await tab.run(TYPE.format('"state-echoed"'))
        await tab.until(f"{SHOWN} === '2 of 26 operations'")
        assert await tab.run(ROWS) == ["op11", "op24"]
        await tab.run("document.querySelector('#filters button').click()")
        await tab.until(f"{SHOWN} === '26 operations'")
        await tab.run(choose("outcome", "error"))
        await tab.until(f"{SHOWN} === '2 of 26 operations'")
        await tab.run(choose("outcome", ""))
        await tab.run(choose("level", "must"))
        await tab.until(f"{SHOWN} === '6 of 26 operations'")
        await tab.run("document.querySelector('#filters button').click()")
        await tab.run("document.getElementById('inside').click()")
        await tab.run(TYPE.format('"plum"'))
        await tab.until(f"/^[1-9] of 26/.test({SHOWN})")
        assert "op4" in await tab.run(ROWS)
        await tab.run("document.querySelector('#filters button').click()")
        await tab.until(f"{SHOWN} === '26 operations'")
        await tab.run("document.querySelectorAll('#heads button')[8].click()")
        await tab.until(
            "document.querySelectorAll('#heads th')[8].getAttribute('aria-sort') === 'descending'"
        )
        await tab.until(f"({ROWS})[0] === 'op10'")
        assert tab.told == [] and tab.requests == [page.as_uri()]

    with_tab(tmp_path, work)


def test_addresses_lead_to_operations_messages_and_rules(page: Path, tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.open(page, "#op11")
        await tab.until("document.querySelector('#row-op11 + tr.detail svg.mrtr')")
        assert await tab.run(SEEN.format("row-op11"))
        await tab.open(page, "#m93")
        await tab.until("document.getElementById('m93').open")
        assert await tab.run("document.querySelector('tr.op.open').id") == "row-op24"
        assert "‹" not in await tab.run("document.querySelector('#m93 pre').textContent")
        await tab.run(
            "document.querySelector('svg.mrtr a[href=\"#m92\"]')"
            ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        )
        await tab.until("document.getElementById('m92').open")
        await tab.run("document.querySelector('.found a[href^=\"#rule-\"]').click()")
        await tab.until("document.getElementById('rule-mrtr/state-echoed-verbatim').open")
        await tab.open(page, "#op999")
        await tab.until(f"{SHOWN} === 'There is no op999 in this report.'")
        assert tab.told == []

    with_tab(tmp_path, work)


def test_every_message_pretty_and_as_sent(page: Path, tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.open(page, "#m9")
        await tab.until("document.querySelector('#m9 .body')")
        nice = await tab.run("document.querySelector('#m9 .body > pre:last-of-type').textContent")
        await tab.run("document.querySelectorAll('#m9 .views button')[1].click()")
        sent = await tab.run("document.querySelector('#m9 .body > pre:last-of-type').textContent")
        assert json.loads(nice) == json.loads(sent) and "\n" in nice and "\n" not in sent
        assert json.loads(sent)["params"]["arguments"] == {"kind": "plum"}

    with_tab(tmp_path, work)


def test_the_keyboard_is_enough(page: Path, tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.open(page)
        await tab.press("/")
        assert await tab.run("document.activeElement.id") == "q"
        await tab.run("document.querySelector('#row-op1 button').focus()")
        await tab.press("ArrowDown")
        await tab.press("ArrowDown")
        assert await tab.run("document.activeElement.closest('tr').id") == "row-op3"
        await tab.press("Enter")
        await tab.until("document.querySelector('#row-op3 + tr.detail svg')")
        assert (
            await tab.run("document.querySelector('#row-op3 button').getAttribute('aria-expanded')") == "true"
        )
        await tab.press("ArrowDown")
        assert await tab.run("document.activeElement.closest('tr').id") == "row-op4"
        await tab.press("ArrowUp")
        await tab.press("Escape")
        assert await tab.run("document.querySelector('#row-op3 + tr.detail')") is None

    with_tab(tmp_path, work)


def test_light_dark_and_paper(page: Path, tmp_path: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    drawn = "getComputedStyle(document.querySelector('svg.mrtr .f-bg')).fill"

    async def work(tab: Tab) -> None:
        await tab.looks(dark=True)
        await tab.open(page, "#op4")
        await tab.until("document.querySelector('svg.mrtr')")
        assert await tab.run(f"[{ground}, {drawn}]") == ["rgb(15, 20, 27)", "rgb(15, 20, 27)"]
        await tab.run("document.getElementById('theme').click()")
        assert await tab.run(f"[{ground}, {drawn}]") == ["rgb(255, 255, 255)", "rgb(255, 255, 255)"]
        await tab.run("document.getElementById('theme').click()")
        await tab.looks(dark=True, media="print")
        assert await tab.run(f"[{ground}, {drawn}]") == ["rgb(255, 255, 255)", "rgb(255, 255, 255)"]
        await tab.open(page)
        await tab.until("document.documentElement.dataset.loaded")
        assert (await tab.paper()).startswith(b"%PDF-")
        opened = await tab.run(
            "['tr.detail svg.mrtr', '.message .body'].map((what) => document.querySelectorAll(what).length)"
        )
        assert opened == [26, 102], "on paper everything is unfolded"
        assert tab.told == []

    with_tab(tmp_path, work)


# How wide the page is, and which words stick out of it without scrolling by themselves.
WIDEST = """(() => {
    const wide = document.documentElement.clientWidth, out = [], range = document.createRange();
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
        range.selectNodeContents(words.currentNode);
        const holder = words.currentNode.parentElement;
        if (range.getBoundingClientRect().right > wide + 1 && !holder.closest(".scroll:not(.ops), .figure, pre, svg"))
            out.push(holder.outerHTML.slice(0, 200));
    }
    return [document.documentElement.scrollWidth, out];
})()"""


@pytest.mark.parametrize("width", [360, 800, 1000, 1280])
def test_nothing_is_wider_than_the_window(page: Path, tmp_path: Path, width: int) -> None:
    async def work(tab: Tab) -> None:
        await tab.looks(width, 800)
        await tab.open(page, "#op11")
        await tab.until("document.querySelector('svg.mrtr')")
        await tab.until("document.documentElement.dataset.loaded")
        assert await tab.run(WIDEST) == [width, []]
        told = await tab.run("document.querySelector('meta[name=viewport]').content")
        assert told == "width=device-width, initial-scale=1"
        assert await tab.run("document.querySelector('.diff caption').getBoundingClientRect().height") < 60

    with_tab(tmp_path, work)


def test_many_operations_open_soon_and_are_drawn_when_they_are_reached(tmp_path: Path) -> None:
    captures.recorded(tmp_path / "capture", requests=700)
    done = made(tmp_path / "capture", tmp_path / "report.html")
    last = f"op{done.operations}"

    async def work(tab: Tab) -> None:
        await tab.open(tmp_path / "report.html")
        assert await tab.run("document.querySelectorAll('tr.op').length") < 200
        for _ in range(2):
            before = await tab.run("document.querySelectorAll('tr.op').length")
            await tab.run("document.getElementById('more-line').scrollIntoView()")
            await tab.until(f"document.querySelectorAll('tr.op').length > {before}")
        await tab.open(tmp_path / "report.html", f"#{last}")
        await tab.until(f"document.querySelector('#row-{last} + tr.detail svg')")
        assert await tab.run("document.querySelectorAll('tr.op').length") < 200
        await tab.run("document.querySelector('#earlier button').click()")
        await tab.until("document.querySelectorAll('tr.op').length > 30")
        assert tab.told == []

    with_tab(tmp_path / "profile", work)


def test_parts_lead_to_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mrtrscope.views.report import pages

    captures.recorded(tmp_path / "capture", requests=200)
    monkeypatch.setattr(pages, "FILE", 60_000)
    done = made(tmp_path / "capture", tmp_path / "report.html")
    last = f"op{done.operations}"

    async def work(tab: Tab) -> None:
        await tab.open(tmp_path / "report.html", f"#{last}")
        await tab.until(
            f"location.pathname.endsWith('{done.files[-1].name}')"
            f" && document.querySelector('#row-{last} + tr.detail svg')"
        )
        await tab.run("document.querySelector('header a').click()")
        await tab.until(
            "location.pathname.endsWith('/report.html') && document.documentElement.dataset.ready"
        )

    with_tab(tmp_path / "profile", work)


def test_no_label_runs_loads_or_hides(tmp_path: Path) -> None:
    capture = hostile.record(tmp_path / "capture")
    made(
        capture, tmp_path / "report.html", raw=True
    )  # a label that is the value of a secret name would be hidden

    async def work(tab: Tab) -> None:
        await tab.open(tmp_path / "report.html")
        found = await tab.run(script("open_all.js"))
        assert found["odd"] == [] and found["bad"] is None
        assert found["names"] == [visible(label) for label in hostile.LABELS] and len(found["names"]) > 200
        assert found["pictures"] >= len(hostile.LABELS)
        assert tab.told == [] and tab.requests == [(tmp_path / "report.html").as_uri()]

    with_tab(tmp_path / "profile", work)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible(page: Path, tmp_path: Path, dark: bool, width: int) -> None:
    async def work(tab: Tab) -> None:
        await everything_open(tab, page, width, dark)
        assert await tab.run(script("accessible.js")) == []

    with_tab(tmp_path, work)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(page: Path, tmp_path: Path, dark: bool, width: int) -> None:
    axe = npm("axe-core/axe.min.js", "the page is held to what axe-core knows of accessibility")

    async def work(tab: Tab) -> None:
        await everything_open(tab, page, width, dark)
        await tab.run(axe.read_text(encoding="utf-8") + "; 0")
        found = await tab.run(
            "axe.run(document).then((found) =>"
            " found.violations.map((v) => [v.id, v.impact, v.nodes.map((n) => n.html.slice(0, 200))]))"
        )
        assert found == []

    with_tab(tmp_path, work)


async def everything_open(tab: Tab, page: Path, width: int, dark: bool) -> None:
    """The page with an operation, its picture, and all that unfolds."""
    await tab.looks(width, 900, dark=dark)
    await tab.open(page, "#op11")
    await tab.until("document.querySelector('svg.mrtr')")
    await tab.run(UNFOLD)
