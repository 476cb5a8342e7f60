// How numbers, sizes, ages and names are written.
const short = (text, most = 40) => (text.length > most ? text.slice(0, most - 1) + "…" : text) || "(all)";
const meaning = (column) => data.meanings[column];

function number(value) {
  if (value === null || value === undefined) return "∞";
  if (Number.isInteger(value) || Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}
const bounds = (row) => row.low === row.high ? "exact" : `${row.low === null ? "-∞" : number(row.low)}..${number(row.high)}`;
const plural = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

function bytes(count) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (count >= size * 0.9995) return `${(count / size).toFixed(count >= size * 99.95 ? 0 : 1)} ${unit}`;
  }
  return `${Math.round(count)} B`;
}

function age(seconds) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${seconds} s`;
}
const moment = (text) => Date.parse(text.includes("T") ? text : `${text}T00:00Z`);
