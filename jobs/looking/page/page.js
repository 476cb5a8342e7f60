"use strict";
// Everything out of the data is put into the page as text, never as markup. Charts take a small set of tags in their
// labels, so what goes into one is escaped first.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const filter = document.getElementById("filter");
const span = document.getElementById("span");

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") made.className = value; else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, most = 40) => (text.length > most ? text.slice(0, most - 1) + "…" : text) || "(all)";
const number = (value) => value === null || value === undefined ? "∞" : Math.abs(value) >= 1000 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(4)).toString();
const bytes = (count) => count >= 1e6 ? `${(count / 1e6).toFixed(1)} MB` : count >= 1e3 ? `${(count / 1e3).toFixed(1)} kB` : `${count} B`;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function table(columns, rows, caption) {
  const head = element("tr", {}, columns.map((c) => element("th", { class: c.number ? "number" : "", title: c.hint, scope: "col" }, c.title)));
  const body = rows.map((row) => element("tr", {}, columns.map((c) => {
    const cell = c.value(row);
    return element("td", { class: c.number ? "number" : c.key ? "key" : "" }, cell instanceof Node ? cell : String(cell ?? ""));
  })));
  return element("div", { class: "scroll" }, element("table", {}, caption ? element("caption", { class: "soft" }, caption) : null, element("thead", {}, head), element("tbody", {}, body)));
}

function problems(m) {
  const found = [];
  if (!m.now) return [["warn", "no epoch is sealed yet"]];
  if (m.now.stale) found.push(["bad", `stale from ${m.now.stale.from}: ${m.now.stale.why}; ${m.now.stale.command}`]);
  const broken = m.verdicts.of.reduce((sum, of, i) => sum + of - m.verdicts.kept[i], 0);
  if (broken) found.push(["bad", `${broken} promises were broken`]);
  if (m.now.partial) found.push(["warn", "the answer is partial"]);
  if (m.now.missing_sites.length) found.push(["warn", `${m.now.missing_sites.length} sites missing`]);
  if (m.behind) found.push(["warn", `${m.behind} epochs behind`]);
  return found;
}
function headline(m) {
  if (!m.now) return "–";
  const rows = m.now.answers;
  if (!rows.length) return "nothing";
  const ranked = rows.filter((r) => r.rank !== null);
  if (ranked.length) return ranked.slice(0, 3).map((r) => `${short(r.key, 24)} ${number(r.estimate)}`).join(", ");
  return rows.slice(0, 3).map((r) => `${r.key ? short(r.key, 24) + " " : ""}${number(r.estimate)} (${number(r.low)}..${number(r.high)})`).join(", ");
}
function spark(m) {
  if (!m.now) return "";
  const shares = m.traffic.bytes.map((b, i) => b / Math.max(1, m.traffic.shipping[i])).slice(-60);
  const most = Math.max(...shares, 1e-9);
  const points = shares.map((s, i) => `${(i / Math.max(1, shares.length - 1) * 118 + 1).toFixed(1)},${(23 - s / most * 21).toFixed(1)}`).join(" ");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "spark"); svg.setAttribute("viewBox", "0 0 120 24"); svg.setAttribute("role", "img");
  const total = m.traffic.bytes.reduce((a, b) => a + b, 0), ship = m.traffic.shipping.reduce((a, b) => a + b, 0);
  svg.setAttribute("aria-label", `${bytes(total)} crossed where sending everything would take ${bytes(ship)}`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points); svg.append(line);
  return element("span", { title: svg.getAttribute("aria-label") }, svg);
}
function audited(m) {
  if (!m.now || !m.verdicts.at.length) return element("span", { class: "soft" }, "not audited");
  const kept = m.verdicts.at.filter((_, i) => m.verdicts.kept[i] === m.verdicts.of[i]).length;
  return element("span", { class: kept === m.verdicts.at.length ? "good" : "bad" }, `kept in ${kept} of ${m.verdicts.at.length} epochs`);
}
function matches(m, words) {
  if (!words) return true;
  const texts = [m.name, m.title, m.source, m.question, ...(m.series || []).map((s) => s.key), ...((m.coverage || {}).sites || [])];
  return texts.some((text) => text.toLowerCase().includes(words));
}

function overview() {
  const words = filter.value.trim().toLowerCase();
  const rank = (m) => { const p = problems(m); return p.some(([k]) => k === "bad") ? 0 : p.length ? 1 : 2; };
  const shown = data.monitors.filter((m) => matches(m, words)).sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
  const columns = [
    { title: "monitor", value: (m) => element("div", {}, element("a", { href: `#monitor/${encodeURIComponent(m.name)}` }, m.title), element("div", { class: "soft" }, `${m.question} of ${m.source}`)) },
    { title: "answer now", hint: "the newest sealed epoch", value: headline, key: true },
    { title: "promise", hint: "what the answer promises", value: (m) => m.now ? m.now.says : "" },
    { title: "audit", hint: "whether the audit found the promise kept", value: audited },
    { title: "sites", number: true, hint: "sites that took part, of those known", value: (m) => m.now ? `${m.now.sites - m.now.missing_sites.length} of ${m.now.sites}` : "" },
    { title: "traffic", hint: "bytes that crossed against sending everything, by epoch", value: spark },
    { title: "epoch", hint: "the newest sealed epoch", value: (m) => m.now ? m.now.epoch_start : "" },
    { title: "needs a look", value: (m) => element("div", {}, problems(m).map(([kind, text]) => element("div", { class: kind }, text))) },
  ];
  main.replaceChildren(element("h2", {}, "Monitors"), shown.length ? table(columns, shown) : element("p", { class: "soft" }, "No monitor fits the filter."),
    element("h2", {}, "Sources"), table([
      { title: "source", value: (s) => s.name }, { title: "epoch", value: (s) => s.epoch }, { title: "landings", number: true, value: (s) => s.landings },
      { title: "last landed epoch", value: (s) => s.last_landed ?? "none" }, { title: "files waiting", number: true, value: (s) => s.waiting },
      { title: "rows in quarantine", number: true, value: (s) => s.quarantined }, { title: "trouble", value: (s) => s.trouble },
    ], data.sources), list("Alerts", data.alerts, ["raised_at", "severity", "monitor", "epoch_start", "subject", "detail"]),
    list("Failed checks", data.findings, ["checked_at", "severity", "monitor", "epoch_start", "step", "expectation", "site", "observed", "detail"]));
}
function list(title, rows, names) {
  const words = filter.value.trim().toLowerCase();
  const shown = rows.filter((row) => !words || names.some((n) => String(row[n] ?? "").toLowerCase().includes(words)));
  return element("section", {}, element("h2", {}, title), shown.length
    ? table(names.map((n) => ({ title: n.replace("_", " "), value: (row) => row[n], key: true })), shown)
    : element("p", { class: "soft" }, "None."));
}

function layout(extra) {
  const axis = { gridcolor: color("--line"), zerolinecolor: color("--line"), automargin: true };
  return Object.assign({ margin: { t: 10, r: 10, b: 40, l: 50 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: color("--text"), size: 12 }, hovermode: "closest", legend: { orientation: "h", y: -0.2 } },
    extra, { xaxis: Object.assign({}, axis, extra.xaxis), yaxis: Object.assign({}, axis, extra.yaxis) });
}
function chart(title, hint, traces, extra, tableOf) {
  const place = element("div", { class: "chart", role: "img", "aria-label": `${title}: ${hint}` });
  const section = element("section", {}, element("h3", {}, title), element("div", { class: "soft" }, hint), place,
    element("details", {}, element("summary", {}, "Table"), tableOf()));
  requestAnimationFrame(() => Plotly.newPlot(place, traces, layout(extra), { responsive: true, displaylogo: false, displayModeBar: false }));
  return section;
}
function monitor(name) {
  const m = data.monitors.find((one) => one.name === name);
  if (!m) { main.replaceChildren(element("p", {}, `There is no monitor ${name}.`)); return; }
  const parts = [element("p", {}, element("a", { href: "#" }, "← all monitors")), element("h2", {}, m.title),
    element("div", { class: "soft" }, `${m.question} of ${m.source}, method ${m.method}${m.shadows.length ? `, beside it ${m.shadows.join(", ")}` : ""}`)];
  if (!m.now) { main.replaceChildren(...parts, element("p", {}, "No epoch is sealed yet.")); return; }
  parts.push(...problems(m).map(([kind, text]) => element("p", { class: kind }, text)), element("pre", {}, m.now.text.join("\n")));
  const first = Math.max(0, m.epochs.length - Number(span.value));
  const words = filter.value.trim().toLowerCase();
  const kept = m.series.filter((s) => !words || s.key.toLowerCase().includes(words) || matches({ ...m, series: [], coverage: {} }, words));
  const cut = (s) => s.at.map((at, i) => [at, i]).filter(([at]) => at >= first);
  const x = (pairs) => pairs.map(([at]) => m.epochs[at]);
  const rows = () => kept.flatMap((s) => cut(s).map(([at, i]) => ({ epoch: m.epochs[at], key: s.key, estimate: s.estimate[i], low: s.low[i], high: s.high[i], rank: s.rank[i] })));
  const answers = () => table([{ title: "epoch", value: (r) => r.epoch }, { title: "key", value: (r) => r.key, key: true }, { title: "rank", number: true, value: (r) => r.rank ?? "" },
    { title: "estimate", number: true, value: (r) => number(r.estimate) }, { title: "low", number: true, value: (r) => number(r.low) }, { title: "high", number: true, value: (r) => number(r.high) }], rows().slice(-2000));
  const ranked = kept.filter((s) => s.rank.some((r) => r !== null));
  const lines = (ranked.length ? ranked : kept).slice(0, 8);
  const traces = lines.flatMap((s, n) => {
    const pairs = cut(s);
    const tone = `hsl(${(n * 47 + 212) % 360} 65% 50%)`, soft = `hsla(${(n * 47 + 212) % 360}, 65%, 50%, 0.18)`;
    const band = pairs.filter(([, i]) => s.low[i] !== null && s.high[i] !== null);
    return [
      { x: [...x(band), ...x(band).reverse()], y: [...band.map(([, i]) => s.high[i]), ...band.map(([, i]) => s.low[i]).reverse()], fill: "toself", fillcolor: soft, line: { width: 0 }, hoverinfo: "skip", showlegend: false, type: "scatter", mode: "lines" },
      { x: x(pairs), y: pairs.map(([, i]) => s.estimate[i]), name: escaped(short(s.key)), line: { color: tone }, mode: "lines+markers", marker: { size: 4 }, type: "scatter", hovertemplate: "%{x}<br>%{y}<extra>%{fullData.name}</extra>" },
    ];
  });
  parts.push(chart("The answer over time", "the line is the estimate, the band reaches from low to high", traces, {}, answers));
  if (ranked.length) {
    parts.push(chart("Ranks over time", "rank 1 is the largest", ranked.slice(0, 12).map((s, n) => { const pairs = cut(s); return { x: x(pairs), y: pairs.map(([, i]) => s.rank[i]), name: escaped(short(s.key)), mode: "lines+markers", type: "scatter", line: { color: `hsl(${(n * 47 + 212) % 360} 65% 50%)` } }; }), { yaxis: { autorange: "reversed", dtick: 1 } }, answers));
    const now = m.now.answers.filter((r) => r.rank !== null).slice(0, 20).reverse();
    parts.push(chart("Now", "bars are estimates, whiskers reach from low to high", [{ type: "bar", orientation: "h", y: now.map((r) => `${r.rank}. ${escaped(short(r.key, 30))}`), x: now.map((r) => r.estimate), marker: { color: color("--mark") },
      error_x: { type: "data", symmetric: false, array: now.map((r) => Math.max(0, (r.high ?? r.estimate) - r.estimate)), arrayminus: now.map((r) => Math.max(0, r.estimate - (r.low ?? r.estimate))) } }], {}, () => table([{ title: "rank", number: true, value: (r) => r.rank }, { title: "key", value: (r) => r.key, key: true }, { title: "estimate", number: true, value: (r) => number(r.estimate) }, { title: "low", number: true, value: (r) => number(r.low) }, { title: "high", number: true, value: (r) => number(r.high) }, { title: "since", value: (r) => r.since ?? "" }], now.slice().reverse())));
  }
  const epochs = m.epochs.slice(first);
  parts.push(chart("Traffic", "bytes that crossed in each epoch, shadows included, against sending everything", [
    { x: epochs, y: m.traffic.bytes.slice(first), name: "crossed", type: "scatter", mode: "lines", line: { color: color("--mark") } },
    { x: epochs, y: m.traffic.shipping.slice(first), name: "sending everything", type: "scatter", mode: "lines", line: { color: color("--soft"), dash: "dot" } }], { yaxis: { rangemode: "tozero" } },
    () => table([{ title: "method", value: (k) => k.method }, { title: "kind", value: (k) => k.kind }, { title: "messages", number: true, value: (k) => number(k.messages) }, { title: "entries", number: true, value: (k) => number(k.entries) }, { title: "bytes", number: true, value: (k) => bytes(k.bytes) }], m.kinds, "by kind of message, in the last epochs")));
  if (m.coverage.sites.length) {
    const cells = m.coverage.missing.filter(([at]) => at >= first);
    parts.push(chart("Missing sites", `${m.coverage.all_missing} sites were missing at some time; a mark is an epoch without the site`, [{ x: cells.map(([at]) => m.epochs[at]), y: cells.map(([, s]) => escaped(short(m.coverage.sites[s], 24))), mode: "markers", type: "scatter", marker: { symbol: "square", color: color("--warn"), size: 7 } }], {},
      () => table([{ title: "epoch", value: ([at]) => m.epochs[at] }, { title: "site", value: ([, s]) => m.coverage.sites[s], key: true }], cells)));
  }
  if (m.verdicts.at.length) {
    parts.push(chart("Audit", "promises found kept, of those judged, by epoch", [{ type: "bar", x: m.verdicts.at.map((at) => m.epochs[at]), y: m.verdicts.kept, name: "kept", marker: { color: color("--good") } },
      { type: "bar", x: m.verdicts.at.map((at) => m.epochs[at]), y: m.verdicts.of.map((of, i) => of - m.verdicts.kept[i]), name: "broken", marker: { color: color("--bad") } }], { barmode: "stack" },
      () => table([{ title: "epoch", value: (i) => m.epochs[m.verdicts.at[i]] }, { title: "kept", number: true, value: (i) => m.verdicts.kept[i] }, { title: "of", number: true, value: (i) => m.verdicts.of[i] }], m.verdicts.at.map((_, i) => i))));
  }
  if (m.now.owed.length) parts.push(element("h3", {}, "Rows that are owed or rejected"), table(Object.keys(m.now.owed[0]).map((n) => ({ title: n.replace("_", " "), value: (o) => o[n], key: true })), m.now.owed));
  if (m.coverage.revised.length) parts.push(element("h3", {}, "Revisions"), table([{ title: "epoch", value: (r) => m.epochs[r.at] }, { title: "revision", number: true, value: (r) => r.revision }, { title: "reason", value: (r) => r.reason, key: true }], m.coverage.revised));
  if (m.coverage.changed.length) parts.push(element("p", { class: "soft" }, `The configuration changed at ${m.coverage.changed.map((at) => m.epochs[at]).join(", ")}.`));
  if (m.thinned) parts.push(element("p", { class: "soft" }, `Charts show ${m.epochs.length} of ${m.sealed.toLocaleString("en")} epochs: all of the newest, fewer of the older ones.`));
  main.replaceChildren(...parts);
}
function show() {
  const [kind, name] = location.hash.slice(1).split("/");
  if (kind === "monitor") monitor(decodeURIComponent(name)); else overview();
}
document.getElementById("generated").textContent = `as of ${data.generated}`;
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("theme").addEventListener("click", () => { const root = document.documentElement; root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; show(); });
filter.addEventListener("input", show); span.addEventListener("change", show);
addEventListener("hashchange", () => { show(); main.focus(); scrollTo(0, 0); });
show();
