// The page of one monitor.
async function monitor(name) {
  const m = data.monitors.find((one) => one.name === name);
  if (!m) { main.replaceChildren(element("p", {}, `There is no monitor ${name}.`)); return; }
  const about = `${m.question} of ${m.source}, method ${m.method}${m.shadows.length ? `, beside it ${m.shadows.join(", ")}` : ""}`;
  const head = [element("p", { class: "trail" }, element("a", { href: "#" }, "← all monitors"), airflowLink(`/dags/epochs-${encodeURIComponent(m.source)}`, "runs in Airflow"), airflowLink(`/dags/audit-${encodeURIComponent(m.source)}`, "audits in Airflow")),
    element("h2", {}, m.title), element("p", { class: "asks" }, m.asks), element("p", { class: "soft" }, about)];
  if (m.trouble) { main.replaceChildren(...head, element("p", { class: "bad" }, m.trouble)); return; }
  if (!m.now) { main.replaceChildren(...head, element("p", {}, "No epoch is sealed yet."), none("`farwatch status` says what it waits for.")); return; }
  const detail = await detailOf(name);
  if (location.hash.slice(1) !== `monitor/${encodeURIComponent(name)}`) return;
  const trouble = [...problems(m).map(([kind, text]) => element("p", { class: kind }, text)), ...m.alerts.map((a) => element("p", { class: a.severity === "critical" ? "bad" : "warn" }, `alert: ${a.subject}`))];
  if (m.now.stale) trouble.push(element("p", {}, `${m.now.stale.why}; replay it by `, element("code", {}, m.now.stale.command)));
  const thinned = detail.thinned ? [none(`Charts show ${detail.epochs.length} of ${plural(m.sealed, "epoch")}: all of the newest, fewer of the older ones.`)] : [];
  main.replaceChildren(...head, ...trouble, ...thinned, element("div", { class: "pair" }, answerNow(m, detail), validity(detail)), overTime(m, detail),
    element("div", { class: "pair" }, ...ranks(m, detail), ...quantiles(detail), ...views(detail), ...traffic(m, detail), ...loads(detail), ...compared(m, detail), strip(detail), siteMap(detail), ...owed(detail), ...revisions(detail)));
}
