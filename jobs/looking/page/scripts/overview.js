// The first page: a row for each monitor, problems first.
function problems(m) {
  if (m.trouble) return [["bad", m.trouble]];
  if (!m.now) return [["warn", "no epoch is sealed yet"]];
  const found = [];
  if (m.now.stale) found.push(["bad", `stale from ${m.now.stale.from}`]);
  if (m.now.audited && m.now.audited.kept < m.now.audited.epochs) found.push(["bad", `audit: not kept in ${plural(m.now.audited.epochs - m.now.audited.kept, "epoch")}`]);
  if (m.overdue) found.push(["bad", `${plural(m.overdue, "epoch")} overdue`]);
  if (m.now.partial) found.push(["warn", "the answer is partial"]);
  if (m.now.missing_sites.length) found.push(["warn", `${plural(m.now.missing_sites.length, "site")} missing`]);
  if (m.behind) found.push(["warn", `${plural(m.behind, "epoch")} behind`]);
  if (m.now.config_changed) found.push(["warn", "the configuration has changed since"]);
  return found;
}
const severity = (m) => {
  const kinds = [...problems(m).map(([kind]) => kind), ...m.alerts.map((a) => a.severity === "critical" ? "bad" : "warn")];
  return kinds.includes("bad") ? 0 : kinds.length ? 1 : 2;
};

function headline(m) {
  if (!m.now) return element("span", { class: "soft" }, "–");
  const rows = m.now.answers;
  if (!rows.length) return element("span", { class: "soft" }, "no rows");
  const line = (r) => element("div", { class: "answer", title: `${r.key || "the answer"}: estimate ${number(r.estimate)}, low..high ${bounds(r)}, holds ${r.confidence === 1 ? "always" : `with probability ${r.confidence}`}` },
    r.rank ? element("span", { class: "soft" }, `${r.rank}.`) : null, r.key ? element("span", { class: "name" }, short(r.key, 28)) : null,
    element("b", {}, number(r.estimate)), r.low === r.high ? null : element("span", { class: "soft" }, bounds(r)));
  return element("div", {}, rows.map(line), m.now.rows > rows.length ? element("div", { class: "soft" }, `and ${plural(m.now.rows - rows.length, "more row")}`) : null);
}

function promise(m) {
  if (!m.now) return "";
  const audited = m.now.audited;
  const kept = !audited ? element("div", { class: "soft", title: `farwatch audit ${m.source} judges it` }, "not audited")
    : element("div", { class: audited.kept === audited.epochs ? "good" : "bad", title: `audited up to ${audited.up_to}` }, `kept in ${audited.kept} of ${plural(audited.epochs, "epoch")}`);
  return element("div", {}, element("div", { title: m.now.meaning }, m.now.promise), kept);
}

function sites(m) {
  if (!m.now) return "";
  const missing = m.now.missing_sites.length, owed = m.now.owed.filter((one) => !one.rejected).reduce((sum, one) => sum + one.rows, 0);
  return element("div", {}, element("div", { title: "sites that took part in the newest epoch, of those known" }, `${(m.now.sites - missing).toLocaleString("en")} of ${m.now.sites.toLocaleString("en")}`),
    missing ? element("div", { class: "warn", title: m.now.missing_sites.slice(0, 20).join(", ") }, `${missing} missing`) : null,
    owed ? element("div", { class: "warn nowrap", title: "rows that were set aside and wait for a decision" }, `${plural(owed, "row")} owed`) : null);
}

function spark(m) {
  if (!m.now) return "";
  const shares = m.traffic.bytes.map((b, i) => b / Math.max(1, m.traffic.shipping[i]));
  const most = Math.max(...shares, 1e-9);
  const points = shares.map((s, i) => `${(i / Math.max(1, shares.length - 1) * 98 + 1).toFixed(1)},${(23 - s / most * 21).toFixed(1)}`).join(" ");
  const add = (list) => list.reduce((a, b) => a + b, 0);
  const sent = add(m.traffic.bytes), whole = add(m.traffic.shipping);
  const label = `${bytes(sent)} crossed in ${plural(shares.length, "epoch")}, where sending everything would take ${bytes(whole)}; the line is the share, epoch by epoch`;
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg"), line = document.createElementNS(space, "polyline");
  for (const [key, value] of [["class", "spark"], ["viewBox", "0 0 100 24"], ["role", "img"], ["aria-label", label]]) svg.setAttribute(key, value);
  line.setAttribute("points", points); svg.append(line);
  return element("div", { title: label }, svg, element("div", { class: "soft nowrap" }, whole ? `${(100 * sent / whole).toFixed(sent / whole < 0.1 ? 1 : 0)} % of ${bytes(whole)}` : bytes(sent)));
}

function looks(m) {
  const alerts = m.alerts.map((a) => element("div", { class: a.severity === "critical" ? "bad" : "warn", title: "an open alert" }, `alert: ${short(a.subject + (a.site && !a.subject.includes(a.site) ? `, ${a.site}` : ""), 60)}`));
  const found = [...problems(m).map(([kind, text]) => element("div", { class: kind }, text)), ...alerts];
  if (!found.length) return element("span", { class: "good" }, "all well");
  return element("div", {}, found.slice(0, 4), found.length > 4 ? element("div", { class: "soft" }, `and ${found.length - 4} more`) : null);
}

const COLUMNS = [
  { title: "Monitor", hint: "the question, in words", value: (m) => element("div", {}, element("a", { href: `#monitor/${encodeURIComponent(m.name)}` }, m.title), element("div", { class: "soft" }, m.asks || m.question), element("div", { class: "soft" }, `${m.question} of ${m.source}`)) },
  { title: "Needs a look", hint: "problems and open alerts", value: looks },
  { title: "Answer now", hint: "the answer of the newest sealed epoch, with its bounds", value: headline },
  { title: "Promise and audit", hint: "what the answer promises, and whether the audit found it kept", value: promise },
  { title: "Sites", hint: "sites that took part, of those known", value: sites },
  { title: "Traffic", hint: "bytes that crossed against sending everything", value: spark },
  { title: "Last epoch", hint: "the newest sealed epoch, and how long ago it ended when this page was made", value: (m) => m.now ? element("div", { class: "nowrap" }, m.now.epoch_start, element("div", { class: "soft" }, `${age(m.age_seconds)} ago`)) : "" },
];

function tiles(shown) {
  const open = new Set(data.alerts.length ? shown.flatMap((m) => m.alerts.map((a) => `${a.subject} ${a.site}`)) : []).size;
  const judged = shown.filter((m) => m.now && m.now.audited), kept = judged.filter((m) => m.now.audited.kept === m.now.audited.epochs).length;
  const tile = (value, label, kind = "") => element("div", { class: `tile ${kind}` }, element("b", {}, value), element("span", {}, label));
  const wrong = shown.filter((m) => severity(m) < 2).length;
  return element("div", { class: "tiles" }, tile(shown.length, shown.length === 1 ? "monitor" : "monitors"), tile(wrong, wrong === 1 ? "needs a look" : "need a look", wrong ? "warn" : "good"), tile(open, open === 1 ? "open alert" : "open alerts", open ? "warn" : "good"),
    tile(judged.length ? `${kept} of ${judged.length}` : "–", "audited monitors kept every promise", judged.length && kept < judged.length ? "bad" : ""));
}

const ordered = () => data.monitors.filter(fits).sort((a, b) => severity(a) - severity(b) || (a.name < b.name ? -1 : 1));

function overview() {
  const shown = ordered();
  const list = table(COLUMNS, shown, "Monitors");
  list.classList.add("cards", "stacked");
  main.replaceChildren(element("h2", {}, "Monitors"), tiles(shown), shown.length ? list : none("No monitor fits the filter."), sourceTable());
}
