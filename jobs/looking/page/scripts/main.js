// Filters, keys, and which part of the page is shown.
const field = (name) => document.getElementById(name);
const filters = () => ({ words: field("words").value.trim().toLowerCase(), site: field("site").value.trim().toLowerCase(), from: field("from").value, to: field("to").value, span: Number(field("span").value) });

function within(time) {
  const { from, to } = filters();
  return (!from || moment(time) >= Date.parse(`${from}Z`)) && (!to || moment(time) < Date.parse(`${to}Z`));
}

function fits(m) {
  const { words, site } = filters(), has = (text, part) => text.toLowerCase().includes(part);
  const texts = [m.name, m.title, m.source, m.question, ...(m.now ? m.now.answers.map((row) => row.key) : [])];
  return (!words || texts.some((text) => has(text, words))) && (!site || !m.now || m.now.missing_sites.some((name) => has(name, site)) || m.now.owed.some((one) => has(one.site, site)) || m.alerts.some((a) => has(a.site, site)));
}

const PAGES = { alerts: alertPage, quality: qualityPage, runs: runPage };
function show() {
  const [kind, name] = location.hash.slice(1).split("/");
  for (const tab of document.querySelectorAll("#tabs a")) {
    const mine = tab.getAttribute("href").slice(1) === (kind in PAGES ? kind : "");
    if (mine) tab.setAttribute("aria-current", "page"); else tab.removeAttribute("aria-current");
  }
  if (kind === "source" && name) { field("words").value = decodeURIComponent(name); location.replace("#"); return; }
  if (kind === "monitor" && name) return monitor(decodeURIComponent(name));
  (PAGES[kind] ?? overview)();
}

function dark(on) { document.documentElement.dataset.theme = on ? "dark" : "light"; }
function turn() { dark(document.documentElement.dataset.theme !== "dark"); show(); }

function step(by) {
  const names = ordered().map((m) => m.name), [kind, name] = location.hash.slice(1).split("/");
  const at = kind === "monitor" ? names.indexOf(decodeURIComponent(name)) : by > 0 ? -1 : names.length;
  if (names.length) location.hash = `monitor/${encodeURIComponent(names[(at + by + names.length) % names.length])}`;
}

const KEYS = { "/": () => field("words").focus(), j: () => step(1), k: () => step(-1), o: () => { location.hash = ""; }, d: turn };
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("input")) { event.preventDefault(); event.target.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key in KEYS) { event.preventDefault(); KEYS[event.key](); }
});

field("generated").textContent = `as of ${data.generated}`;
field("sites").append(...[...new Set(data.monitors.flatMap((m) => m.now ? m.now.missing_sites : []))].slice(0, 200).map((value) => element("option", { value })));
field("theme").addEventListener("click", turn);
field("filters").addEventListener("input", () => show());
field("filters").addEventListener("submit", (event) => event.preventDefault());
field("filters").addEventListener("reset", () => setTimeout(show));
addEventListener("hashchange", async () => { await show(); if (location.hash !== "#main") { main.focus(); scrollTo(0, 0); } });
dark(matchMedia("(prefers-color-scheme: dark)").matches);
show();
