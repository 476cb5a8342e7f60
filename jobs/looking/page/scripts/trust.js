// Why an answer can be trusted: the certificate in words, verdicts, sites that were missing, revisions.
function validity(detail) {
  return element("section", {}, heading("Why this answer is valid", "each sentence is read from what is sealed"),
    element("dl", { class: "why" }, detail.valid.flatMap((one) => [element("dt", {}, one.about), element("dd", {}, inWords(one.text))])));
}

function strip(detail) {
  const found = detail.verdicts, seen = visible(detail.epochs);
  if (!found.at.length) return element("section", {}, heading("Verdicts of the audit"), none("No epoch was audited yet."));
  const places = new Map(found.at.map((at, i) => [at, i])), shown = [...seen].sort((a, b) => a - b);
  const state = (at) => !places.has(at) ? 0.5 : found.kept[places.get(at)] === found.of[places.get(at)] ? 1 : 0;
  const says = (at) => places.has(at) ? `${found.kept[places.get(at)]} of ${found.of[places.get(at)]} kept` : "not audited";
  const rows = found.at.map((at, i) => ({ epoch: detail.epochs[at], kept: found.kept[i], of: found.of[i] })).reverse();
  const promises = table([{ title: "promise", hint: meaning("verdicts.promise"), value: (p) => p.promise }, { title: "holds", hint: "always, or with this probability", value: (p) => p.confidence === 1 ? "always" : `with ${p.confidence}` },
    { title: "kept", number: true, hint: "verdicts that found it kept", value: (p) => number(p.kept) }, { title: "of", number: true, hint: "verdicts", value: (p) => number(p.of) }, { title: "worst error", number: true, hint: "the largest error found", value: (p) => number(p.error) }, { title: "allowed", number: true, hint: "the largest error that the promise allows", value: (p) => number(p.allowed) }], found.promises, "Promises");
  return element("section", {}, chart("Verdicts of the audit", "a cell is an epoch: green where every promise was kept, red where one was broken, grey where it was not audited", [{ type: "heatmap", x: shown.map((at) => detail.epochs[at]), y: [""], z: [shown.map(state)], text: [shown.map(says)], zmin: 0, zmax: 1, showscale: false, xgap: shown.length > 150 ? 0 : 1,
    colorscale: [[0, color("--bad")], [0.34, color("--bad")], [0.34, color("--line")], [0.67, color("--line")], [0.67, color("--good")], [1, color("--good")]], hovertemplate: "%{x}<br>%{text}<extra></extra>" }], { height: 96, yaxis: { visible: false } },
    () => table([{ title: "epoch", hint: "start of the epoch", value: (r) => r.epoch }, { title: "kept", number: true, hint: "verdicts that found the promise kept", value: (r) => r.kept }, { title: "of", number: true, hint: "verdicts", value: (r) => r.of }], rows, "Verdicts")), promises);
}

const KINDS = ["missing, without a row", "set aside, its rows are owed", "set aside, its rows were rejected"];
function siteMap(detail) {
  const found = detail.coverage, seen = visible(detail.epochs), wanted = filters().site;
  const cells = found.missing.filter(([at, site]) => seen.has(at) && (!wanted || found.sites[site].toLowerCase().includes(wanted)));
  const title = "Sites and epochs", about = `${found.ever_missing} of ${plural(found.known, "site")} were missing at some time`;
  if (!cells.length) return element("section", {}, heading(title), none(`${wanted ? `No site named like that was missing in these epochs; ${about}` : found.ever_missing ? `No site was missing in these epochs; ${about}` : `All of ${plural(found.known, "site")} took part in every epoch shown`}.`));
  const shown = [...seen].sort((a, b) => a - b), column = new Map(shown.map((at, i) => [at, i])), rows = [...new Set(cells.map(([, site]) => site))].slice(0, 60);
  const z = rows.map(() => shown.map(() => 0)), text = rows.map(() => shown.map(() => "took part"));
  for (const [at, site, kind] of cells) { const y = rows.indexOf(site); if (y >= 0) { z[y][column.get(at)] = kind + 1; text[y][column.get(at)] = KINDS[kind]; } }
  for (const [at, site] of found.joined) { const y = rows.indexOf(site); if (y >= 0) shown.forEach((epoch, i) => { if (epoch < at) { z[y][i] = 4; text[y][i] = "not known yet"; } }); }
  const tints = [color("--line"), tone(1), color("--bad"), color("--soft"), color("--back")], steps = tints.flatMap((tint, i) => [[i / 5, tint], [(i + 1) / 5, tint]]);
  const names = rows.map((s) => short(found.sites[s], innerWidth < 600 ? 12 : 24));
  return chart(title, `${about}${rows.length < new Set(cells.map(([, s]) => s)).size ? `, the ${rows.length} most often missing are drawn; the filter finds others` : ""}. Orange: without a row. Red: its rows are owed. Dark grey: rejected.`, [{ type: "heatmap", x: shown.map((at) => detail.epochs[at]), y: rows.map((s, at) => at), z, text, customdata: rows.map((s) => shown.map(() => escaped(found.sites[s]))), zmin: -0.5, zmax: 4.5, showscale: false, colorscale: steps, xgap: shown.length > 150 ? 0 : 1, ygap: 1, hovertemplate: "%{customdata}, %{x}<br>%{text}<extra></extra>" }],
    { height: 80 + 18 * rows.length, yaxis: { ...named(names), autorange: "reversed" } },
    () => table([{ title: "epoch", hint: "start of the epoch", value: ([at]) => detail.epochs[at] }, { title: "site", key: true, hint: "the site that took no part", value: ([, s]) => found.sites[s] }, { title: "why", hint: "whether it sent nothing, or its rows were set aside", value: ([, , kind]) => KINDS[kind] }], cells.slice().reverse(), "Missing sites"));
}

function owed(detail) {
  const rows = detail.now.owed;
  if (!rows.length) return [];
  const names = Object.keys(rows[0]);
  return [element("section", {}, heading("Rows that are owed or rejected", "rows of the answer's window that it does not count; decide by `farwatch admit` or `farwatch reject`"),
    table(names.map((n) => ({ title: n.replaceAll("_", " "), key: true, hint: meaning(`answers.${n}`) ?? n.replaceAll("_", " "), value: (o) => typeof o[n] === "boolean" ? (o[n] ? "yes" : "no") : o[n] })), rows, "Owed rows"))];
}

function revisions(detail) {
  const { revised, changed } = detail.coverage, parts = [];
  if (revised.length) parts.push(heading("Revisions", "epochs that were sealed anew; the answers before stay readable"), table([{ title: "epoch", hint: "start of the epoch", value: (r) => detail.epochs[r.at] }, { title: "revision", number: true, hint: meaning("answers.revision"), value: (r) => r.revision }, { title: "reason", hint: "why it was done anew", key: true, value: (r) => r.reason }], revised.slice().reverse(), "Revisions"));
  if (changed.length) parts.push(heading("Changes of the configuration", "the first epoch under each"), element("p", {}, changed.map((at) => detail.epochs[at]).join(", ")));
  return parts.length ? [element("section", {}, parts)] : [];
}
