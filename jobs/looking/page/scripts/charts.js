// Charts take a small set of tags in their labels, so what goes into one is escaped first.
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const TONES = ["#3b7dd8", "#d9822b", "#3a9d5d", "#c0504d", "#8064a2", "#2aa198", "#b8860b", "#d16ba5"];
const tone = (at) => TONES[at % TONES.length];
const faint = (at, part = 0.2) => `${tone(at)}${Math.round(part * 255).toString(16).padStart(2, "0")}`;

function layout(extra) {
  const axis = { gridcolor: color("--line"), zerolinecolor: color("--line"), linecolor: color("--line"), automargin: true, tickfont: { size: 11 } };
  const narrow = innerWidth < 600;
  return { margin: { t: 8, r: 8, b: 36, l: narrow ? 44 : 56 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: color("--text"), size: 12, family: "inherit" },
    hovermode: "closest", hoverlabel: { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--text") } },
    legend: { orientation: "h", y: narrow ? -0.24 : -0.16, yanchor: "top", font: { size: 11 } }, ...extra, xaxis: { ...axis, tickangle: 0, ...(narrow ? { nticks: 4 } : {}), ...extra.xaxis }, yaxis: { ...axis, ...extra.yaxis } };
}

// Every chart has its table: it opens below, and is made when it is opened.
function chart(title, hint, traces, extra, tableOf) {
  const place = element("div", { class: "chart", role: "img", "aria-label": `${title}: ${hint}`, style: extra.height ? `height:${extra.height}px` : null });
  const details = element("details", {}, element("summary", {}, "Table"));
  details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(tableOf()); });
  const draw = () => chartLibrary().then(() => { if (place.isConnected) Plotly.newPlot(place, traces, { ...layout(extra), showlegend: traces.filter((one) => one.showlegend !== false).length > 1 && !(innerWidth < 600 && traces.length > 8) }, { responsive: true, displaylogo: false, displayModeBar: false }); });
  requestAnimationFrame(draw);
  return element("section", {}, heading(title, hint), place, details);
}

// An axis of names: two that begin alike, or are the same, keep a place each.
const named = (names) => ({ tickmode: "array", tickvals: names.map((name, at) => at), ticktext: names.map(escaped) });

// Upright lines where epochs were sealed anew, or under another configuration.
function changeLines(detail, from) {
  const line = (at, tint) => ({ type: "line", x0: detail.epochs[at], x1: detail.epochs[at], yref: "paper", y0: 0, y1: 1, line: { color: tint, width: 1.5, dash: "dot" } });
  return [...detail.coverage.revised.filter((r) => r.at >= from).map((r) => line(r.at, tone(1))), ...detail.coverage.changed.filter((at) => at >= from).map((at) => line(at, color("--accent")))].slice(-60);
}
