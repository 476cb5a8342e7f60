// Parts of the file that travel packed: the page of each monitor, and the library that draws charts.
// They stand behind the script, so that it can show the overview before they have been read.
const complete = new Promise((done) => { if (document.readyState === "loading") addEventListener("DOMContentLoaded", done); else done(); });
async function unpacked(selector) {
  await complete;
  const packed = Uint8Array.from(atob(document.querySelector(selector).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const details = new Map();
async function detailOf(name) {
  if (!details.has(name)) {
    details.set(name, JSON.parse(await unpacked(`script[data-monitor="${data.packed.indexOf(name)}"]`)));
  }
  return details.get(name);
}

let library = null;
function chartLibrary() {
  library ??= unpacked("#charts").then((text) => { document.head.append(element("script", {}, text)); });
  return library;
}
