// What crossed the network: by method and epoch, by kind of message, by link of a tree.
function traffic(m, detail) {
  const found = detail.traffic, seen = visible(detail.epochs);
  const places = found.at.map((at, i) => [at, i]).filter(([at]) => seen.has(at)), x = places.map(([at]) => detail.epochs[at]);
  const methods = Object.entries(found.methods);
  const traces = [...methods.map(([name, counts], n) => ({ x, y: places.map(([, i]) => counts[i]), name: escaped(n ? `${name} (shadow)` : name), type: "scatter", mode: "lines", line: { color: tone(n), width: n ? 1.5 : 2.5 }, hovertemplate: "%{x}<br>%{y:,} B<extra>%{fullData.name}</extra>" })),
    { x, y: places.map(([, i]) => found.shipping[i]), name: "sending everything", type: "scatter", mode: "lines", line: { color: color("--soft"), dash: "dot" }, hovertemplate: "%{x}<br>%{y:,} B<extra>sending everything</extra>" }];
  const hint = "bytes that crossed in an epoch";
  const columns = [{ title: "epoch", hint: "start of the epoch", value: ([at]) => detail.epochs[at] }, ...methods.map(([name, counts]) => ({ title: name, number: true, hint, value: ([, i]) => number(counts[i]) })),
    { title: "sending everything", number: true, hint: "bytes that sending every count would take", value: ([, i]) => number(found.shipping[i]) }];
  return [chart("Traffic", "bytes that crossed in each epoch, by method, against sending everything; a shadow runs beside the monitor's method and publishes nothing", traces, { yaxis: { rangemode: "tozero" } }, () => table(columns, places.slice().reverse(), "Traffic")), kinds(m, found)];
}

function kinds(m, found) {
  const methods = [m.method, ...Object.keys(found.methods).filter((name) => name !== m.method)];
  const names = [...new Set(found.kinds.map((k) => k.kind))];
  if (!names.length) return element("section", {}, heading("Messages by kind"), none("No message crossed in these epochs."));
  const of = (method, kind) => found.kinds.find((k) => k.method === method && k.kind === kind);
  const traces = names.map((kind, n) => ({ type: "bar", orientation: "h", y: methods.map((name) => escaped(name)).reverse(), x: methods.map((name) => of(name, kind)?.bytes ?? 0).reverse(), name: escaped(kind), marker: { color: tone(n) }, customdata: methods.map((name) => number(of(name, kind)?.messages ?? 0)).reverse(), hovertemplate: "%{y}: %{x:,} B in %{customdata} messages<extra>%{fullData.name}</extra>" }));
  return chart("Messages by kind", `bytes by method and kind of message, in the newest ${plural(found.at.length, "epoch")}; shadows beside the monitor's method`, traces, { barmode: "stack", bargap: 0.4, height: 130 + 34 * methods.length }, () => table([
    { title: "method", hint: meaning("messages.method"), value: (k) => k.method }, { title: "kind", hint: meaning("messages.kind"), value: (k) => k.kind }, { title: "messages", number: true, hint: "how many were sent", value: (k) => number(k.messages) },
    { title: "entries", number: true, hint: meaning("messages.entries"), value: (k) => number(k.entries) }, { title: "bytes", number: true, hint: meaning("messages.bytes"), value: (k) => bytes(k.bytes) }], found.kinds, "Messages by kind"));
}

function loads(detail) {
  const found = detail.links;
  if (!found) return [];
  const wanted = filters().site, shown = found.links.filter((l) => !wanted || `${l.child} ${l.parent}`.toLowerCase().includes(wanted));
  const drawn = shown.slice(0, 25).reverse(), names = drawn.map((l) => `${short(l.child, 18)} → ${short(l.parent, 18)}`);
  return [chart("Load of the tree's links", `entries that each link carried in the newest epoch, the heaviest first; the root's links carried ${number(found.root)} of ${number(found.total)}`,
    [{ type: "bar", orientation: "h", y: names.map((name, at) => at), x: drawn.map((l) => l.entries), customdata: drawn.map((l) => escaped(`${l.child} → ${l.parent}, ${bytes(l.bytes)}`)), marker: { color: tone(0) }, hovertemplate: "%{x:,} entries: %{customdata}<extra></extra>" }], { height: 80 + 20 * drawn.length, yaxis: named(names) },
    () => table([{ title: "from", hint: "the lower end of the link", key: true, value: (l) => l.child }, { title: "to", hint: "the upper end", key: true, value: (l) => l.parent }, { title: "entries", number: true, hint: "pairs of key and value that crossed, both ways together", value: (l) => number(l.entries) }, { title: "bytes", number: true, hint: "bytes that crossed", value: (l) => bytes(l.bytes) }], shown, "Links"))];
}

// What other methods, options and precisions would have sent, as `farwatch plan --keep` found.
function compared(m, detail) {
  const found = detail.comparison;
  if (!found) return [element("section", {}, heading("What other methods would cost"), none(`Nothing was compared yet: \`farwatch plan ${m.name} --keep\` replays the sealed epochs and shows the result here.`))];
  const drawn = found.variants.slice().reverse(), names = drawn.map((v) => short(v.variant, innerWidth < 600 ? 20 : 40));
  return [element("section", {}, chart("What other methods would cost", `bytes a day, replayed over ${plural(found.epochs, "epoch")} from ${found.from} to ${found.to}; sending everything takes ${bytes(Math.round(found.shipping_a_day))} a day`,
    [{ type: "bar", orientation: "h", y: names.map((name, at) => at), x: drawn.map((v) => Math.round(v.bytes_a_day)), customdata: drawn.map((v) => escaped(v.variant)), marker: { color: drawn.map((v) => tone(v.configured ? 0 : 1)) }, hovertemplate: "%{customdata}: %{x:,} B a day<extra></extra>" }], { height: 80 + 26 * drawn.length, yaxis: named(names) },
    () => table([{ title: "variant", hint: "what differs from the monitor's file", key: true, value: (v) => v.configured ? `${v.variant} (configured)` : v.variant }, { title: "promise", hint: "what it would have promised", value: (v) => v.promise },
      { title: "a day", number: true, hint: "bytes that would have crossed in a day", value: (v) => bytes(Math.round(v.bytes_a_day)) }, { title: "messages a day", number: true, hint: "messages that would have crossed in a day", value: (v) => number(Math.round(v.messages_a_day)) },
      { title: "width", number: true, hint: "how far apart low and high of a row were, the median", value: (v) => v.width === "∞" ? "∞" : number(v.width) }, { title: "widest", number: true, hint: "how far apart they were at most", value: (v) => v.widest === "∞" ? "∞" : number(v.widest) }], found.variants, "Variants")), element("p", {}, found.advice, ` (compared at ${found.at})`))];
}
