"""Mermaid: what the template makes, and what the real program says of it in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mrtrscope.views import escape
from mrtrscope.views.build import build
from mrtrscope.views.scene import Scene
from mrtrscope.views.writers import mermaid
from tests.conftest import npm
from tests.views import browser, nasty, scenes
from tests.views.scenes import CONFIRM, Script
from tests.views.test_build import GOLDEN, golden

PAGE = """<!doctype html><meta charset="utf-8"><pre id="result">"not finished"</pre><div id="d"></div>
<script src="{library}"></script><script type="application/json" id="in">{diagrams}</script><script>
window.bad = 0;
(async () => {{
  const out = [];
  mermaid.initialize({{startOnLoad: false, securityLevel: "loose"}});
  for (const [i, text] of JSON.parse(document.getElementById("in").textContent).entries()) {{
    try {{
      const {{svg}} = await mermaid.render("g" + i, text);
      const box = document.createElement("div");
      box.innerHTML = svg;
      document.body.append(box);
      const odd = [...box.querySelectorAll("script, iframe, object, img, a[href]")].map(e => e.outerHTML);
      for (const e of box.querySelectorAll("*"))
        for (const a of e.attributes) if (a.name.startsWith("on")) odd.push(a.name);
      const texts = [...box.querySelectorAll("text, tspan")].map(e => e.textContent);
      out.push({{texts, odd}});
      box.remove();
    }} catch (e) {{ out.push({{error: String(e).slice(0, 500)}}); }}
  }}
  document.getElementById("result").textContent = JSON.stringify({{out, bad: window.bad, n: out.length}});
}})();
</script>"""


@pytest.mark.parametrize("name", ["asks-once", "broken-state", "one-round", "scripts"])
def test_text_is_the_golden_one(name: str) -> None:
    golden(GOLDEN / "mermaid" / f"{name}.mmd", mermaid.write(build(scenes.ALL[name]())))


def test_every_frame_is_closed() -> None:
    for make in scenes.ALL.values():
        text = mermaid.write(build(make()))
        assert len(re.findall("^rect ", text, re.M)) == len(re.findall("^end$", text, re.M))


def test_what_would_be_too_long_is_told_shorter() -> None:
    text = mermaid.write(build(scenes.many_arrows(3000), unfold=True))
    assert len(text) <= mermaid.LIMIT
    assert "more rows" in text


def labelled(label: str) -> Scene:
    """A scene in which every place has the label."""
    script = Script(label, {label: label}).ask({label: CONFIRM["confirm"]}, label)
    script.retry({label: {"action": label, "content": {label: label}}}, label, differences=(label,))
    return build(script.fail(-1, label).detail(client=label, server=label))


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_the_real_program_draws_every_nasty_label_as_text(tmp_path: Path) -> None:
    library = npm("mermaid/dist/mermaid.min.js", "the real Mermaid draws every label")
    labels = [label for label in nasty.ALL if len(label) < 400]
    diagrams = [mermaid.write(labelled(label)) for label in labels] + [
        mermaid.write(build(make())) for make in scenes.ALL.values()
    ]
    page = tmp_path / "page.html"
    page.write_text(
        PAGE.format(library=library.as_uri(), diagrams=escape.json_in_script(diagrams)), encoding="utf-8"
    )
    found = browser.result(
        browser.run(page, "--virtual-time-budget=1000000", "--allow-file-access-from-files")
    )
    assert found["n"] == len(diagrams)
    assert found["bad"] == 0
    failures = {i: one["error"] for i, one in enumerate(found["out"]) if "error" in one}
    assert failures == {}
    assert [one["odd"] for one in found["out"] if one["odd"]] == []
    for label, one in zip(labels, found["out"], strict=False):
        shown = "".join(escape.visible(label).split())
        told = ["".join(text.split()) for text in one["texts"]]
        assert any(shown[:40] in text for text in told), (label, told)
