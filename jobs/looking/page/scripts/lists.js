// Lists with links into Airflow: sources, alerts, failed checks and quarantine, runs.
const inAirflow = location.pathname.match(/^(.*)\/farwatch\/?$/);
const airflow = inAirflow && location.protocol !== "file:" ? inAirflow[1] : data.airflow.replace(/\/$/, "");
const hasAirflow = Boolean(inAirflow && location.protocol !== "file:") || Boolean(data.airflow);

// Airflow shows this page in a frame that may not leave it; a link made in Airflow's own document may.
function follow(event) {
  if (window.parent === window) return;
  event.preventDefault();
  const link = window.parent.document.createElement("a");
  link.href = event.currentTarget.href;
  link.click();
}
const airflowLink = (path, text) => hasAirflow ? element("a", { href: airflow + path, title: "opens Airflow", on: { click: follow } }, text) : null;
const runsLink = (row) => airflowLink(`/dags/epochs-${encodeURIComponent(row.source)}/runs`, "runs") ?? "";

function runLink(row) {
  const [dag, ...run] = (row.run ?? "").split("/");
  return run.length ? airflowLink(`/dags/${encodeURIComponent(dag)}/runs/${encodeURIComponent(run.join("/"))}`, "run") : runsLink(row);
}

const hits = (row, names) => {
  const { words, site } = filters();
  return (!words || names.some((n) => String(row[n] ?? "").toLowerCase().includes(words))) && (!site || String(row.site ?? "").toLowerCase().includes(site)) && (!row.epoch_start || within(row.epoch_start));
};
const column = (of, name) => ({ title: name.replaceAll("_", " "), key: true, hint: meaning(`${of}.${name}`) ?? name.replaceAll("_", " "), value: (row) => row[name] });

function list(title, hint, of, rows, names) {
  const shown = rows.filter((row) => hits(row, names));
  const columns = [...names.map((name) => column(of, name)), ...(hasAirflow ? [{ title: "Airflow", hint: "the run, or the runs of the source", value: runLink }] : [])];
  columns.rowClass = (row) => row.severity === "critical" && row.state !== "closed" ? "critical" : "";
  const made = table(columns, shown, title);
  made.classList.add("stacked");
  return element("section", {}, element("h2", {}, title), none(hint), shown.length ? made : none(rows.length ? "None fits the filter." : "None."));
}

function sourceTable() {
  const count = (title, hint, name) => ({ title, hint, number: true, value: (s) => number(s[name]) });
  return element("section", {}, element("h2", {}, "Sources"), table([{ title: "source", hint: "where events come from", value: (s) => s.name }, { title: "epoch", hint: "length of an epoch", value: (s) => s.epoch }, count("landings", "commits of new files as events", "landings"),
    { title: "last landed epoch", hint: "the last epoch that has events", value: (s) => s.last_landed ?? "none" }, count("files waiting", "files that are there and have not landed", "waiting"), count("rows in quarantine", "rows that could not be read", "quarantined"), count("rows owed", "rows that were set aside and wait for a decision", "owed"),
    { title: "trouble", hint: "why its files could not be looked at", key: true, value: (s) => s.trouble }, ...(hasAirflow ? [{ title: "Airflow", hint: "the runs of the source", value: (s) => runsLink({ source: s.name }) }] : [])], data.sources, "Sources"));
}

const alertPage = () => main.replaceChildren(list("Alerts", "one when something opens, reminders, one when it closes; the newest first", "alerts", data.alerts, ["raised_at", "state", "severity", "source", "monitor", "site", "epoch_start", "subject", "detail"]));

function qualityPage() {
  const found = data.quarantine;
  main.replaceChildren(
    list("Failed checks", "what data or rows did not meet; the newest first", "validations", data.findings, ["checked_at", "severity", "source", "monitor", "epoch_start", "step", "expectation", "site", "observed", "detail"]),
    element("section", {}, element("h2", {}, "Quarantine by kind"), found.trouble ? element("p", { class: "bad" }, found.trouble) : null, found.kinds.length ? table([column("quarantine", "source"), column("quarantine", "kind"), { title: "rows", number: true, hint: "rows in quarantine", value: (k) => number(k.rows) }], found.kinds, "Quarantine by kind") : none("None.")),
    list("Rows in quarantine", "rows that could not be read as events, with the reason; the newest first", "quarantine", found.rows, ["day", "source", "kind", "site", "value", "reason", "path", "line"]));
}

const runPage = () => main.replaceChildren(list("Runs", "seals, the newest first: seconds are the work of all steps of the epoch", "epochs", data.runs, ["sealed_at", "source", "monitor", "epoch_start", "revision", "seconds", "missing", "reason"]));
