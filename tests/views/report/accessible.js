// The worst of what axe-core would say, for machines that do not have it: names, ids, labels, contrast.
(() => {
  const bad = [];
  const label = (e) => e.labels && e.labels[0] && e.labels[0].textContent.trim();
  const name = (e) => e.getAttribute("aria-label") || e.textContent.trim() || label(e);
  for (const e of document.querySelectorAll("button, a[href], input, select, summary")) {
    if (!name(e)) bad.push("no name: " + e.outerHTML.slice(0, 120));
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => bad.push("id twice: " + id));
  for (const e of document.querySelectorAll("[aria-labelledby]")) {
    for (const id of e.getAttribute("aria-labelledby").split(" ")) if (!document.getElementById(id)) bad.push("labelled by nothing: " + id);
  }
  const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  for (const e of document.querySelectorAll("main *, header *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (e.closest("svg") || !text || !e.getClientRects().length) continue;
    let under = e, ground = [0, 0, 0, 0];
    while (under && ground.length === 4 && !ground[3]) {
      ground = parts(getComputedStyle(under).backgroundColor);
      under = under.parentElement;
    }
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push("contrast " + ratio.toFixed(2) + ": " + e.outerHTML.slice(0, 120));
  }
  return bad;
})()
