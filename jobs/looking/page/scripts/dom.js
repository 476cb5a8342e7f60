// Everything out of the data is put into the page as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const MOST_ROWS = 100;

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "class") made.className = value;
    else if (key === "on") for (const [event, action] of Object.entries(value)) made.addEventListener(event, action);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  for (const child of children.flat(2)) if (child !== null && child !== undefined && child !== "") made.append(child);
  return made;
}

// A column has a title, the value of a row, and a hint: what its numbers mean, shown on every cell.
function table(columns, rows, name = "") {
  const head = element("tr", {}, columns.map((c) => element("th", { class: c.number ? "number" : "", title: c.hint, scope: "col" }, c.title)));
  const line = (row) => element("tr", { class: columns.rowClass ? columns.rowClass(row) : "" }, columns.map((c) => {
    const cell = c.value(row);
    const kind = c.number ? "number" : c.key ? "key" : "";
    return element("td", { class: kind, title: c.hint, "data-label": c.title }, cell instanceof Node ? cell : String(cell ?? ""));
  }));
  const body = element("tbody", {}, rows.slice(0, MOST_ROWS).map(line));
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name || "Table" },
    element("table", {}, element("thead", {}, head), body));
  if (rows.length <= MOST_ROWS) return box;
  let shown = MOST_ROWS;
  const left = () => `Show ${Math.min(10 * MOST_ROWS, rows.length - shown).toLocaleString("en")} more of ${rows.length.toLocaleString("en")} rows`;
  const more = element("button", { type: "button", on: { click: () => {
    body.append(...rows.slice(shown, shown + 10 * MOST_ROWS).map(line));
    shown += 10 * MOST_ROWS;
    if (shown >= rows.length) more.remove(); else more.textContent = left();
  } } }, left());
  return element("div", {}, box, more);
}

// What stands in backquotes is a command.
const inWords = (text) => text.split("`").map((part, at) => at % 2 ? element("code", {}, part) : part);
const heading = (text, hint) => element("div", {}, element("h3", {}, text), hint ? element("p", { class: "soft" }, inWords(hint)) : null);
const none = (text) => element("p", { class: "soft" }, inWords(text));
