// The answer of one monitor: over time, ranks, bars, quantiles, views of nodes.
const ROW = [
  { title: "estimate", number: true, hint: meaning("answers.estimate"), value: (r) => number(r.estimate) },
  { title: "low", number: true, hint: meaning("answers.low"), value: (r) => r.low === null ? "-∞" : number(r.low) },
  { title: "high", number: true, hint: meaning("answers.high"), value: (r) => number(r.high) },
];
const KEY = { title: "key", hint: meaning("answers.key"), key: true, value: (r) => r.key || "(all)" };
const RANK = { title: "rank", number: true, hint: meaning("answers.rank"), value: (r) => r.rank ?? "" };

// Where in a series the shown times begin, and the pairs (time, place in the series) that are shown.
const visible = (times) => { const chosen = times.map((t, at) => at).filter((at) => within(times[at])); return new Set(chosen.slice(-filters().span)); };
// Of a series all ticks of the epochs that are shown.
function visibleTicks(detail) {
  const { span, from, to } = filters(), first = from || to ? -Infinity : moment(detail.epochs.at(-span) ?? detail.epochs[0]);
  return new Set(detail.answer.times.map((t, at) => at).filter((at) => within(detail.answer.times[at]) && moment(detail.answer.times[at]) >= first));
}
const cut = (s, seen) => s.at.map((at, i) => [at, i]).filter(([at]) => seen.has(at));
// Stretches without a gap: where a key was not in the answer, neither a line nor a band is drawn.
const stretches = (pairs) => pairs.reduce((found, pair) => { if (pair[0] === found.at(-1)?.at(-1)[0] + 1) found.at(-1).push(pair); else found.push([pair]); return found; }, []);
const apart = (parts) => parts.flatMap((part, n) => n ? [null, ...part] : part);

function chosenSeries(m, detail) {
  const words = filters().words;
  const named = detail.answer.series.filter((s) => words && s.key.toLowerCase().includes(words));
  return named.length ? named : detail.answer.series;
}

function answerTable(series, times, seen) {
  const rows = series.flatMap((s) => cut(s, seen).map(([at, i]) => ({ time: times[at], key: s.key, estimate: s.estimate[i], low: s.low[i], high: s.high[i], rank: s.rank[i], exact: s.exact[i] })));
  rows.sort((a, b) => a.time < b.time ? 1 : a.time > b.time ? -1 : (a.rank ?? 0) - (b.rank ?? 0));
  return () => table([{ title: "time", hint: "start of the epoch, or the tick", value: (r) => r.time }, KEY, RANK, ...ROW,
    { title: "exact", number: true, hint: "the exact value, computed by the audit from all landed events", value: (r) => r.exact === null ? "" : number(r.exact) }], rows, "Answers");
}

function answerNow(m, detail) {
  const rows = detail.now.answers, has = (name) => rows.some((r) => r[name] !== null && r[name] !== "" && r[name] !== undefined);
  const nodes = new Set(rows.map((r) => r.node)).size > 1 ? detail.answer.views[0]?.nodes[0] : null;
  const shown = nodes ? rows.filter((r) => r.node.endsWith(nodes)) : rows;
  const columns = [...(has("rank") ? [RANK] : []), ...(has("key") ? [KEY] : []), ROW[0], { title: "low..high", number: true, hint: "the exact value lies between these, as often as the promise says", value: bounds },
    ...(has("since") ? [{ title: "since", hint: "the first epoch of its present stay in the list", value: (r) => r.since ?? "" }] : []), ...(m.now.partial ? [{ title: "", hint: meaning("answers.partial"), value: (r) => r.partial ? "partial" : "" }] : [])];
  const rest = shown.length > 12 ? element("details", {}, element("summary", {}, `All ${plural(detail.now.rows, "row")}`), table(columns, shown, "All rows")) : null;
  return element("section", {}, heading("The answer now", `epoch ${detail.now.epoch_start}, ${age(m.age_seconds)} ago: ${detail.now.says}`), shown.length ? table(columns, shown.slice(0, 12), "The answer now") : none("The answer of this epoch has no rows."), rest,
    element("details", {}, element("summary", {}, `As farwatch query ${m.name} prints it`), element("pre", { tabindex: "0" }, detail.now.text.join("\n"))));
}

// Queries of a series have units of their own, so each has a chart of its own.
function overTime(m, detail) {
  const all = chosenSeries(m, detail);
  if (m.shape !== "series" || all.length < 2) return lines(m, detail, "The answer over time", all);
  return element("div", { class: "pair" }, all.slice(0, 12).map((s) => lines(m, detail, `${short(s.key)} over time`, [s])));
}

function lines(m, detail, title, all) {
  const { times } = detail.answer, seen = m.shape === "series" ? visibleTicks(detail) : visible(times), series = all.slice(0, 6);
  const quantity = m.shape === "series" ? "tick by tick" : "epoch by epoch";
  const traces = series.flatMap((s, n) => {
    const pairs = cut(s, seen), parts = stretches(pairs), bands = stretches(pairs.filter(([, i]) => s.low[i] !== null && s.high[i] !== null)), x = (list) => list.map(([at]) => times[at]);
    const of = (value) => apart(parts.map((part) => part.map(value))), round = (there, back) => apart(bands.map((band) => [...band.map(there), ...band.map(back).reverse()]));
    const judged = pairs.filter(([, i]) => s.exact[i] !== null), name = escaped(short(s.key, 32));
    return [
      { x: round(([at]) => times[at], ([at]) => times[at]), y: round(([, i]) => s.high[i], ([, i]) => s.low[i]), fill: "toself", fillcolor: faint(n), line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: s.key, type: "scatter", mode: "lines" },
      { x: of(([at]) => times[at]), y: of(([, i]) => s.estimate[i]), customdata: of(([, i]) => bounds({ low: s.low[i], high: s.high[i] })), name, legendgroup: s.key, line: { color: tone(n), width: 2 }, mode: pairs.length > 80 && parts.every((part) => part.length > 1) ? "lines" : "lines+markers", marker: { size: 4 }, type: "scatter", hovertemplate: "%{x}<br>estimate %{y}, %{customdata}<extra>%{fullData.name}</extra>" },
      { x: x(judged), y: judged.map(([, i]) => s.exact[i]), name: "exact", legendgroup: s.key, showlegend: false, mode: "markers", type: "scatter", marker: { symbol: "x-thin", size: judged.length > 150 ? 3 : 7, line: { width: judged.length > 150 ? 1 : 1.5, color: tone(n) } }, hovertemplate: "%{x}<br>exact %{y}<extra>audit</extra>" },
    ];
  });
  const more = all.length > series.length ? ` The ${series.length} first of ${detail.answer.keys} keys are drawn; the filter finds others.` : "";
  const drawn = m.shape !== "series" && detail.coverage.revised.length + detail.coverage.changed.length ? " Dotted lines: orange where an epoch was sealed anew, blue where the configuration changed." : "";
  return chart(title, `${quantity}: the line is the estimate, the band reaches from low to high, a cross is the exact value that the audit found.${more}${drawn}`, traces,
    { shapes: m.shape === "series" ? [] : changeLines(detail, Math.min(...seen)) }, answerTable(all, times, seen));
}

function ranks(m, detail) {
  const { times } = detail.answer, seen = visible(times), series = chosenSeries(m, detail).filter((s) => s.rank.some((r) => r !== null)).slice(0, 16);
  if (!series.length) return [];
  const traces = series.map((s, n) => {
    const pairs = [...seen].sort((a, b) => a - b).map((at) => [at, s.at.indexOf(at)]);
    return { x: pairs.map(([at]) => times[at]), y: pairs.map(([, i]) => i < 0 ? null : s.rank[i]), name: escaped(short(s.key, 32)), mode: "lines+markers", type: "scatter", marker: { size: 5 }, line: { color: tone(n), width: 2 }, connectgaps: false, hovertemplate: "%{x}<br>rank %{y}<extra>%{fullData.name}</extra>" };
  });
  const last = Math.max(...traces.flatMap((one) => one.y));
  const now = detail.now.answers.filter((r) => r.rank !== null && r.node === detail.now.answers[0].node).slice(0, 20);
  const reversed = now.slice().reverse(), spread = (end) => reversed.map((r) => Math.max(0, end === "high" ? (r.high ?? r.estimate) - r.estimate : r.estimate - (r.low ?? r.estimate)));
  return [
    chart("Ranks over time", "rank 1 is at the top; a line ends where the item leaves the list", traces, { yaxis: { range: [last + 0.5, 0.5], tick0: 1, dtick: last > 10 ? 2 : 1 } }, answerTable(series, times, seen)),
    chart("The list now", "bars are estimates, whiskers reach from low to high", [{ type: "bar", orientation: "h", y: reversed.map((r) => `${r.rank}. ${escaped(short(r.key, innerWidth < 600 ? 14 : 30))}`), x: reversed.map((r) => r.estimate), customdata: reversed.map(bounds), marker: { color: tone(0) }, hovertemplate: "%{y}<br>estimate %{x}, %{customdata}<extra></extra>",
      error_x: { type: "data", symmetric: false, array: spread("high"), arrayminus: spread("low"), color: color("--text"), thickness: 1.2 } }], { height: Math.max(160, 60 + 24 * now.length) },
    () => table([RANK, KEY, ...ROW, { title: "since", hint: "the first epoch of its present stay in the list", value: (r) => r.since ?? "" }], now, "The list now")),
  ];
}

// Keys that are quantiles: q0.5 of a whole answer, or name:0.5 of one query.
function quantiles(detail) {
  const groups = new Map();
  for (const row of detail.now.answers) {
    const found = /^(?:(.*):|q)(0?\.\d+|1|0|1\.0|0\.0)$/.exec(row.key);
    if (found) groups.set(found[1] ?? "", [...(groups.get(found[1] ?? "") ?? []), { ...row, q: Number(found[2]) }]);
  }
  if (![...groups.values()].some((rows) => rows.length > 1)) return [];
  const named = [...groups.entries()].map(([name, rows]) => [name, rows.sort((a, b) => a.q - b.q)]);
  const traces = named.map(([name, rows], n) => ({ x: rows.map((r) => r.q), y: rows.map((r) => r.estimate), name: escaped(short(name || "quantiles", 32)), mode: "lines+markers", type: "scatter", line: { color: tone(n) }, customdata: rows.map(bounds),
    error_y: { type: "data", symmetric: false, array: rows.map((r) => Math.max(0, (r.high ?? r.estimate) - r.estimate)), arrayminus: rows.map((r) => Math.max(0, r.estimate - (r.low ?? r.estimate))), color: tone(n), thickness: 1.2 }, hovertemplate: "quantile %{x}: %{y}, %{customdata}<extra>%{fullData.name}</extra>" }));
  return [chart("Quantiles now", "the value at each quantile, with the values between which it lies", traces, { xaxis: { title: { text: "quantile" } } },
    () => table([KEY, ...ROW], named.flatMap(([, rows]) => rows), "Quantiles"))];
}

// What single nodes say: who agrees with whom.
function views(detail) {
  const found = detail.answer.views;
  if (!found.length) return [];
  const nodes = found.reduce((sum, view) => sum + view.nodes.length, 0), agree = found[0].nodes.length;
  const wanted = filters().site;
  const shown = found.filter((view) => !wanted || view.nodes.some((node) => node.toLowerCase().includes(wanted)));
  return [element("section", {}, heading("Views by node", `${agree} of ${plural(nodes, "node")} name the same list${agree === nodes ? "" : "; the others, with what they name, stand below"}. Charts show the view that most share.`),
    element("div", { class: "meter", role: "img", "aria-label": `${agree} of ${nodes} agree`, title: `${agree} of ${nodes} agree` }, found.map((view, n) => element("span", { style: `flex:${view.nodes.length};background:${n ? tone(n) : color("--good")}` }))),
    table([{ title: "nodes", number: true, hint: "nodes that name this list", value: (v) => v.nodes.length }, { title: "who", key: true, hint: "the nodes", value: (v) => short(v.nodes.join(", "), 200) }, { title: "the list", key: true, hint: "what they name, best first", value: (v) => v.keys.join(", ") }], shown, "Views by node"))];
}
