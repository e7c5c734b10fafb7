// What is asked for, as `decoding.js` reads it.

// The settings of a page or a link, of which the values that change nothing are null.
export function samplingOf(values, settings) {
  const sampling = {};
  for (const { name, off } of settings) {
    const needed = name === "temperature" || name === "seed";
    sampling[name] = !needed && values[name] === off ? null : (values[name] ?? (needed ? off : null));
  }
  return sampling;
}

// Heads that are off, [{kind, layer, head}], as numbers that multiply them; null where none is.
export function switchesOf(heads, { layers, heads: count }) {
  if (!heads.length) return null;
  const scale = {};
  for (const { kind, layer, head } of heads) {
    scale[kind] ??= Array.from({ length: layers[kind] }, () => new Array(count).fill(1));
    scale[kind][layer][head] = 0;
  }
  return { scale };
}
