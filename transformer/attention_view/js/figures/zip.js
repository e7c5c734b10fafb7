// Files in one zip; the same files give the same bytes.
const PACKED = /\.(png|gif|webm|mp4|zip)$/; // smaller they do not get
const EPOCH = "1980-01-01T00:00:00"; // where the clock of a zip begins

// A second file of a name gets a number.
export function distinct(names) {
  const taken = new Set();
  return names.map((name) => {
    const [, stem, ending] = name.match(/^(.*?)(\.\w+)?$/s);
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${stem}-${n}${ending ?? ""}`;
    taken.add(free);
    return free;
  });
}

// files: {name: Blob}. Gives a Blob.
export async function zipped(files) {
  const { zipSync } = await import("#view/vendor/fflate/fflate.js");
  const entries = Object.entries(files).map(async ([name, blob]) => {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return [name, [bytes, { level: PACKED.test(name) ? 0 : 6, mtime: EPOCH }]];
  });
  return new Blob([zipSync(Object.fromEntries(await Promise.all(entries)))], { type: "application/zip" });
}
