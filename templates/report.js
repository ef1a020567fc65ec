// The report's own script. Captured text is only ever put in as text; pictures are parsed as SVG, which cannot run here.
"use strict";
(() => {
  // Columns of a line of the index, as views/report/entry.py writes it.
  const ID = 0, T = 1, WHEN = 2, CHANNEL = 3, METHOD = 4, TARGET = 5, KIND = 6, ROUNDS = 7, OUTCOME = 8, SERVER = 9,
    WAITING = 10, TOTAL = 11, FINDINGS = 12, WORST = 13, MESSAGES = 14, RULES = 15, ALL = 16, TOOL_ERROR = 17;
  const CHUNK = 60, PRINTED = 2000, OPENED = 100, SEARCHED = 150;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  let rows = [], blocks = [], home = [];
  let view = [], start = 0, end = 0, sort = [T, 1], inside = null, day = "";
  const places = new Map(), cache = new Map(), words = [];

  // ---- small things

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  function duration(s) {
    if (s < 0.9995) { const ms = s * 1000; return ms > 0 && ms < 9.95 ? ms.toFixed(1) + " ms" : ms.toFixed(0) + " ms"; }
    if (s < 59.95) return s.toFixed(s < 9.995 ? 2 : 1) + " s";
    const all = Math.round(s), h = Math.floor(all / 3600), m = Math.floor(all / 60) % 60;
    return h ? h + " h " + m + " min" : m + " min " + (all % 60) + " s";
  }

  const number = (n) => n.toLocaleString("en-US");
  const counted = (n, one, many) => number(n) + " " + (n === 1 ? one : many || one + "s");

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  }

  // ---- operations: their blocks

  function blockOf(place) {
    let low = 0, high = blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (blocks[middle][0] <= place) low = middle; else high = middle - 1;
    }
    return low;
  }

  async function block(n) {
    if (!cache.has(n)) {
      cache.set(n, await unpacked("block-" + n));
      if (cache.size > 24) cache.delete(cache.keys().next().value);
    }
    return cache.get(n);
  }

  async function entry(place) {
    const n = blockOf(place);
    return (await block(n))[place - blocks[n][0]];
  }

  function entryNow(place) {
    const n = blockOf(place), held = cache.get(n);
    return held && held[place - blocks[n][0]];
  }

  const elsewhere = (place) => {
    let file = "";
    for (const [first, name] of home) if (first <= place) file = name;
    return file;
  };

  // ---- filter and order

  function holds(numbers, n) {
    return numbers.split(" ").some((run) => {
      const [first, last] = run.split("-").map(Number);
      return first === n || (first <= n && n <= (last || first));
    });
  }

  function ofMessage(m) {
    const n = Number(m.slice(1));
    return rows.findIndex((row) => holds(row[MESSAGES], n));
  }

  function fits(row, place) {
    const outcome = $("outcome").value, channel = $("channel").value, level = $("level").value, several = $("rounds").value;
    if (outcome && ended(row) !== outcome) return false;
    if (channel && row[CHANNEL] !== channel) return false;
    if (level === "none" ? row[FINDINGS] : level === "any" ? !row[FINDINGS] : level && row[WORST] !== level) return false;
    if (several && (several === "1") !== (row[ROUNDS] === 1)) return false;
    return asked().every((word) => words[place].includes(word) || row[ID] === word
      || (/^m[0-9]+$/.test(word) && holds(row[MESSAGES], Number(word.slice(1)))) || (inside && inside.has(word) && inside.get(word).has(place)));
  }

  // What came in good order, but says that the tool failed, is no plain success.
  const ended = (row) => row[OUTCOME] + (row[TOOL_ERROR] ? ", isError" : "");

  const asked = () => $("q").value.toLowerCase().split(/\s+/).filter(Boolean);

  let turn = 0;
  async function filter() {
    const mine = ++turn;
    inside = null;
    if ($("inside").checked && asked().length) {
      $("shown").textContent = "Searching the messages …";
      const found = await searched(asked(), mine);
      if (mine !== turn) return;
      inside = found;
    }
    view = [];
    for (let i = 0; i < rows.length; i++) if (fits(rows[i], i)) view.push(i);
    const [column, way] = sort;
    view.sort((a, b) => {
      const x = rows[a][column], y = rows[b][column];
      return (x < y ? -1 : x > y ? 1 : a - b) * way;
    });
    draw(0);
    $("shown").textContent = view.length === rows.length ? counted(rows.length, "operation")
      : number(view.length) + " of " + counted(rows.length, "operation");
  }

  async function searched(wanted, mine) {
    const found = new Map(wanted.map((word) => [word, new Set()]));
    for (let n = 0; n < blocks.length && mine === turn; n++) {
      (cache.get(n) || await unpacked("block-" + n)).forEach((one, i) => {
        const text = Object.values(one.ms).map((m) => m.x || "").join("\n").toLowerCase();
        for (const word of wanted) if (text.includes(word)) found.get(word).add(blocks[n][0] + i);
      });
    }
    return found;
  }

  // ---- the table

  const HEADS = [["Operation", T], ["When", T], ["What", METHOD], ["Channel", CHANNEL], ["Rounds", ROUNDS], ["Outcome", OUTCOME],
    ["Server", SERVER, "rest"], ["Waiting", WAITING, "rest"], ["Total", TOTAL], ["Findings", FINDINGS]];

  function heads() {
    $("heads").replaceChildren(...HEADS.map(([name, column, more], i) => {
      const own = i !== 1 && sort[0] === column;
      const button = make("button", { type: "button" }, name + (own ? (sort[1] > 0 ? " ↑" : " ↓") : ""));
      button.addEventListener("click", () => {
        sort = [column, sort[0] === column ? -sort[1] : column >= ROUNDS && column !== OUTCOME ? -1 : 1];
        heads();
        filter();
        $("heads").children[i].firstChild.focus();
      });
      return make("th", { scope: "col", class: [column >= SERVER || column === ROUNDS ? "n" : "", more || ""].join(" ").trim() || null,
        "aria-sort": own ? (sort[1] > 0 ? "ascending" : "descending") : null }, button);
    }));
  }

  // The day is only said where the operations are not all of one.
  function shortly(when) {
    return (day ? when.slice(day.length) : when.replace(/^\d{4}-/, "")).replace(" UTC", "");
  }

  function line(place) {
    const row = rows[place], button = make("button", { type: "button", "aria-expanded": "false" }, row[ID]);
    const cell = (name, ...children) => make("td", { class: name }, ...children);
    const badge = row[WORST] ? make("span", { class: "badge l-" + row[WORST] }, row[FINDINGS] + " " + (row[WORST] === "info" ? "note" : row[WORST])
      + (row[ALL] > row[FINDINGS] ? " +" + (row[ALL] - row[FINDINGS]) : "")) : "–";
    const made = make("tr", { class: "op", id: "row-" + row[ID], "data-place": place },
      make("th", { scope: "row" }, button), cell("optional", shortly(row[WHEN])),
      cell("what", row[METHOD], row[TARGET] ? " " : "", row[TARGET] ? make("code", {}, row[TARGET]) : ""), cell("optional where", row[CHANNEL]),
      cell("n optional", String(row[ROUNDS])), cell("outcome o-" + (row[TOOL_ERROR] ? "error" : row[OUTCOME]), ended(row)), cell("n optional rest", duration(row[SERVER])),
      cell("n optional rest", row[WAITING] ? duration(row[WAITING]) : "–"), cell("n", duration(row[TOTAL])), cell("n", badge));
    made.addEventListener("click", (event) => {
      if (!event.target.closest("a") && !String(getSelection())) toggle(made);
    });
    return made;
  }

  function draw(from) {
    start = end = Math.max(0, from);
    $("rows").replaceChildren();
    more();
  }

  function more(most) {
    const next = Math.min(view.length, end + (most || CHUNK));
    $("rows").append(...view.slice(end, next).map(line));
    end = next;
    $("more-line").hidden = end >= view.length;
    $("more").textContent = "Show more (" + number(view.length - end) + ")";
    $("earlier").hidden = !start;
  }

  function earlier() {
    const first = Math.max(0, start - CHUNK), before = $("rows").firstElementChild;
    $("rows").prepend(...view.slice(first, start).map(line));
    start = first;
    $("earlier").hidden = !start;
    if (before) before.scrollIntoView({ block: "nearest" });
  }

  // ---- one operation

  async function toggle(row, open) {
    const button = row.querySelector("button"), place = Number(row.dataset.place), file = elsewhere(place);
    const detail = row.nextElementSibling && row.nextElementSibling.classList.contains("detail") ? row.nextElementSibling : null;
    if (file) { location.href = file + "#" + rows[place][ID]; return; }
    if (detail) { if (!open) { detail.remove(); row.classList.remove("open"); button.setAttribute("aria-expanded", "false"); } return; }
    button.setAttribute("aria-expanded", "true");
    row.classList.add("open");
    const held = make("div", {}, make("p", { class: "muted" }, "…"));
    row.after(make("tr", { class: "detail" }, make("td", { colspan: HEADS.length }, held)));
    const here = entryNow(place);
    try {
      held.replaceChildren(...whole(here || await entry(place)));
    } catch (error) {
      held.replaceChildren(make("p", {}, "This operation cannot be shown: " + error.message));
    }
  }

  function link(m) {
    return /^m\d+$/.test(m) ? make("a", { href: "#" + m }, m) : m;
  }

  function whole(one) {
    const row = rows[places.get(one.id)];
    const out = [
      make("h3", { id: "title-" + one.id }, one.title, " ", make("a", { href: "#" + one.id, "aria-label": "Link to " + one.id }, "#")),
      facts([["outcome", ended(row)], ["kind", row[KIND]], ["era", one.era], ["began", row[WHEN]], ["channel", row[CHANNEL]], ["between", one.who]]),
      ...times(one, row), ...picture(one),
    ];
    if (one.findings.length) out.push(make("h4", {}, "Findings"), ...one.findings.map(found));
    if (one.states.length) out.push(make("h4", {}, "Where the states went"), states(one));
    one.rounds.forEach((round, i) => out.push(...told(one, round, i)));
    if (one.rest.length) out.push(make("h4", {}, "Besides"), ...one.rest.map((m) => message(m, one.ms[m])));
    return out;
  }

  function facts(pairs) {
    return make("dl", { class: "facts" }, ...pairs.filter(([, value]) => value).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  }

  function times(one, row) {
    const total = row[TOTAL] || 1, bar = make("div", { class: "span", "aria-hidden": "true" });
    for (const round of one.rounds) {
      const part = make("i", {});
      part.style.left = Math.min(99.5, 100 * round.at / total) + "%";
      part.style.width = Math.max(0.3, 100 * (round.took ?? total - round.at) / total) + "%";
      bar.append(part);
    }
    const parts = ["server " + duration(row[SERVER])];
    if (row[WAITING]) parts.push("waiting for input " + duration(row[WAITING]));
    parts.push("total " + duration(row[TOTAL]));
    return [bar, make("p", { class: "span-words" }, parts.join(" · "))];
  }

  function picture(one) {
    return one.svg.map((text, i) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
      const name = "Picture of " + one.id + (one.svg.length > 1 ? ", page " + (i + 1) : "");
      const broken = parsed.localName !== "svg";
      return make("div", { class: "figure", tabindex: "0", role: "region", "aria-label": name },
        broken ? "This picture cannot be shown." : document.importNode(parsed, true));
    });
  }

  function found(one) {
    const out = make("div", { class: "found f-" + one.level },
      make("p", {}, make("span", { class: "badge l-" + one.level }, one.level === "info" ? "note" : one.level), " ", one.party, " at ",
        link(one.at), ": ", make("strong", {}, one.text)));
    if (one.saw !== undefined) out.append(make("p", {}, make("span", { class: "muted" }, "saw "), make("code", {}, one.saw)));
    if (one.expected !== undefined) out.append(make("p", {}, make("span", { class: "muted" }, "expected "), make("code", {}, one.expected)));
    const rule = $("rule-" + one.rule) ? make("a", { href: "#rule-" + one.rule }, one.rule) : one.rule;
    const last = make("p", { class: "muted" }, rule, " · ", one.source);
    if (one.also) { last.append(" · see also "); one.also.forEach((m, i) => last.append(i ? ", " : "", link(m))); }
    out.append(last);
    return out;
  }

  const FATES = { kept: "came back equal", changed: "came back changed", dropped: "did not come back", invented: "was never issued",
    held: "was not sent back", unclear: "cannot be told apart" };

  function states(one) {
    return make("ul", { class: "states" }, ...one.states.map(([fate, issued, brought, label, after, said]) =>
      make("li", { class: "f-" + fate }, make("code", {}, label), issued ? " issued by " : "", issued ? link(issued) : "",
        brought ? (issued ? ", then " : " in ") : "", brought ? link(brought) : "", ": ", make("strong", {}, FATES[fate] || fate),
        after ? " as " : "", after ? make("code", {}, after) : "", said && fate !== "kept" && !(FATES[fate] || "").endsWith(said) ? " (" + said + ")" : "")));
  }

  function told(one, round, i) {
    const out = [make("h4", {}, "Round " + (i + 1) + " of " + one.rounds.length + ", " + round.state
      + (round.took !== undefined ? " after " + duration(round.took) : ""))];
    if (round.grade) {
      out.push(make("p", {}, round.to ? "takes up " : "takes up one of ", ...(round.to ? [link(round.to)] : (round.of || []).flatMap((m, n) => [n ? ", " : "", link(m)])),
        ": ", make("strong", {}, round.grade), round.why ? " (" + round.why + ")" : ""));
      for (const text of round.but || []) out.push(make("p", {}, make("mark", {}, "but " + text)));
    }
    if (round.asks) out.push(make("p", {}, "asks: ", ...round.asks.flatMap((key, n) => [n ? ", " : "", make("code", {}, key)])));
    if (round.diff) out.push(difference(round));
    out.push(...round.ms.map((m) => message(m, one.ms[m])));
    return out;
  }

  function difference(round) {
    if (!round.diff.length) return make("p", {}, "The request is the same as ", link(round.since), ".");
    const table = make("table", { class: "diff" }, make("caption", {}, "What changed since ", link(round.since), "; all else is equal"));
    const body = make("tbody", {});
    for (const [path, before, after, remark, breach] of round.diff) {
      const [b, a] = before !== null && after !== null ? marked(before, after) : [[before], [after]];
      const name = make("th", { scope: "row" }, path, remark ? make("small", {}, remark) : "");
      body.append(make("tr", { class: breach ? "breach" : null }, name,
        make("td", { class: before === null ? null : "before" }, ...(before === null ? [make("span", { class: "muted" }, "–")] : ["− ", ...b])),
        make("td", { class: after === null ? null : "after" }, ...(after === null ? [make("span", { class: "muted" }, "–")] : ["+ ", ...a]))));
    }
    table.append(body);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What changed since " + round.since }, table);
  }

  function marked(before, after) {
    let head = 0, tail = 0;
    const short = Math.min(before.length, after.length);
    while (head < short && before[head] === after[head]) head++;
    while (tail < short - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
    const cut = (text, tag) => [text.slice(0, head), make(tag, {}, text.slice(head, text.length - tail)), text.slice(text.length - tail)];
    return [cut(before, "del"), cut(after, "ins")];
  }

  // ---- one message

  function message(m, said) {
    const arrow = said.d === "c2s" ? "→" : "←";
    const made = make("details", { class: "message", id: m }, make("summary", {}, make("strong", {}, m), " ", said.t, " ",
      make("span", { "aria-label": said.d === "c2s" ? "client to server" : "server to client", role: "img" }, arrow), " ", said.w,
      make("span", { class: "muted" }, (said.s ? " · HTTP " + said.s : "") + " · " + said.z), said.o ? make("mark", {}, " " + said.o) : ""));
    made.addEventListener("toggle", () => filled(made, said));
    made.fill = () => filled(made, said);
    return made;
  }

  function filled(made, said) {
    if (!made.open || made.querySelector(".body")) return;
    const body = make("div", { class: "body" });
    if (said.h) {
      const [first, ...headers] = said.h;
      body.append(make("pre", { tabindex: "0", "aria-label": "HTTP head" }, first + "\n" + headers.map(([name, value]) => name + ": " + value).join("\n")));
    }
    if (said.x === undefined) body.append(make("p", {}, "Its text is not in the files any more."));
    else {
      const nice = pretty(said.x), pre = make("pre", { tabindex: "0", "aria-label": "Text of " + made.id });
      const one = make("button", { type: "button" }, "Pretty"), two = make("button", { type: "button" }, "As sent");
      const show = (good) => {
        one.setAttribute("aria-pressed", String(good)); two.setAttribute("aria-pressed", String(!good));
        pre.replaceChildren(...(good ? nice : [said.x]));
      };
      one.addEventListener("click", () => show(true));
      two.addEventListener("click", () => show(false));
      if (nice) body.append(make("div", { class: "views" }, one, two));
      show(Boolean(nice));
      body.append(pre);
      if (said.more) body.append(make("p", { class: "muted" }, number(said.more) + " more characters: mrtrscope show CAPTURE " + made.id + " --raw"));
    }
    made.append(body);
  }

  // JSON text with its lines broken and nothing else changed: spellings, order and repeated members stay.
  function pretty(text) {
    if (!/^\s*[{[]/.test(text)) return null;
    const tokens = text.match(/[{}[\],:]|"(?:[^"\\]|\\[^])*"|[^\s{}[\],:"]+/g) || [];
    const out = [], keys = tokens.length < 20000;
    let depth = 0, line = "";
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i], next = tokens[i + 1];
      if (token === "{" || token === "[") {
        line += token;
        if (next === "}" || next === "]") { line += next; i++; } else line += "\n" + "  ".repeat(Math.min(++depth, 40));
      } else if (token === "}" || token === "]") line += "\n" + "  ".repeat(Math.min(Math.max(--depth, 0), 40)) + token;
      else if (token === ",") line += ",\n" + "  ".repeat(Math.min(Math.max(depth, 0), 40));
      else if (token === ":") line += ": ";
      else if (next === ":" && keys) { out.push(line, make("b", {}, token)); line = ""; } else line += token;
    }
    out.push(line);
    return out;
  }

  // ---- the way to a place

  async function reach(hash) {
    const name = decodeURIComponent(hash.slice(1));
    if (name.startsWith("rule-") && $(name)) { $(name).open = true; $(name).scrollIntoView(); return; }
    if (/^f\d+$/.test(name) && $(name)) { $(name).open = true; $(name).scrollIntoView(); return; }
    if (!/^(op|m)\d+$/.test(name)) return;
    const place = name[0] === "o" ? places.get(name) : ofMessage(name);
    if ((place === undefined || place < 0) && $(name)) { $(name).open = true; $(name).scrollIntoView(); return; }
    if (place === undefined || place < 0) { $("shown").textContent = "There is no " + name + " in this report."; return; }
    if (elsewhere(place)) { location.href = elsewhere(place) + "#" + name; return; }
    let at = view.indexOf(place);
    if (at < 0) { $("filters").reset(); await filter(); at = view.indexOf(place); }
    if (at < start || at >= end) draw(Math.max(0, at - 3));
    const row = $("row-" + rows[place][ID]);
    await toggle(row, true);
    const aim = name[0] === "m" ? $(name) : row;
    if (!aim) return;
    document.querySelectorAll(".aim").forEach((old) => old.classList.remove("aim"));
    if (name[0] === "m") { aim.classList.add("aim"); aim.open = true; }
    aim.scrollIntoView({ block: "start" });
    (aim.querySelector("summary") || aim.querySelector("button")).focus({ preventScroll: true });
  }

  addEventListener("hashchange", () => reach(location.hash));
  document.addEventListener("click", (event) => {
    const at = event.target.closest("a");
    const href = at && at.getAttribute("href");
    if (href && /^#(op\d|m\d|f\d|rule-)/.test(href)) {
      event.preventDefault();
      history.replaceState(null, "", href);
      reach(href);
    }
  });

  // ---- keys, theme, print

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); $("q").focus(); return; }
    const row = event.target.closest("tr.op") || (event.target.closest("tr.detail") || {}).previousElementSibling;
    if (event.key === "Escape" && row) { toggleClosed(row); return; }
    if (!/^Arrow(Down|Up)$/.test(event.key) || !event.target.closest("tr.op")) return;
    event.preventDefault();
    let next = row;
    do next = event.key === "ArrowDown" ? next.nextElementSibling : next.previousElementSibling; while (next && !next.matches("tr.op"));
    if (!next && event.key === "ArrowDown" && end < view.length) { more(); next = row.nextElementSibling; }
    if (next) next.querySelector("button").focus();
  });

  function toggleClosed(row) {
    if (row.classList.contains("open")) toggle(row);
    row.querySelector("button").focus();
  }

  function dark(on) {
    root.dataset.theme = on ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(on));
  }

  const wish = matchMedia("(prefers-color-scheme: dark)");
  dark(wish.matches);
  wish.addEventListener("change", () => dark(wish.matches));
  $("theme").addEventListener("click", () => dark(root.dataset.theme !== "dark"));

  // On paper nothing unfolds: what the filter leaves is drawn, and opened when it is not too much.
  function unfold() {
    if (end < view.length) more(PRINTED);
    if (view.length <= OPENED) document.querySelectorAll("tr.op").forEach((row) => toggle(row, true));
    document.querySelectorAll("details").forEach((one) => { one.open = true; if (one.fill) one.fill(); });
  }

  addEventListener("beforeprint", unfold);
  $("print").addEventListener("click", async () => {
    if (view.length <= OPENED && blocks.length) for (const place of view) await entry(place);
    unfold();
    print();
  });

  // ---- begin

  async function begin() {
    ({ rows, blocks, home } = await unpacked("index"));
    const first = rows.length ? rows[0][WHEN].slice(0, 11) : "";
    day = /^\d{4}-/.test(first) && rows.every((row) => row[WHEN].startsWith(first)) ? first : "";
    rows.forEach((row, i) => {
      places.set(row[ID], i);
      words.push([row[METHOD], row[TARGET], row[CHANNEL], row[KIND], ended(row), row[WORST], row[RULES]].join(" ").toLowerCase());
    });
    for (const [name, told] of [["outcome", ended], ["channel", (row) => row[CHANNEL]]]) {
      $(name).append(...[...new Set(rows.map(told))].map((value) => make("option", { value }, value)));
    }
    $("inside").closest("label").hidden = !blocks.length;
    const table = $("table").parentElement;
    table.before(make("p", { id: "earlier", hidden: true }, make("button", { type: "button" }, "Show earlier")));
    $("earlier").firstChild.addEventListener("click", earlier);
    $("more").addEventListener("click", () => more());
    // An observer tells of changes only; asked anew after each fill, it also tells that the end is still near.
    const near = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      more();
      near.unobserve($("more-line"));
      near.observe($("more-line"));
    }, { rootMargin: "600px" });
    near.observe($("more-line"));
    let wait = 0;
    $("filters").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, rows.length > 2000 ? SEARCHED : 0); });
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("reset", () => setTimeout(filter, 0));
    heads();
    await filter();
    if (location.hash) await reach(location.hash);
    root.dataset.ready = "true";
    for (let n = 0; n < Math.min(blocks.length, 3); n++) await block(n);
    root.dataset.loaded = "true";
  }

  begin().catch((error) => { $("shown").textContent = "This page cannot show its operations: " + error.message; });
})();
