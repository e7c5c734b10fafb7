// What is typed and chosen on a page, as `decoding.js` reads it.

const LONGEST = 20_000; // characters of a text

// "a", "a and b", "a, b and c".
export const enumerated = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");

// Why a text is not read: "empty", or a sentence; "" for one that is.
export function problemOf(text, page) {
  if (!text.trim() && !page.emptyReads) return "empty";
  if (text.length <= LONGEST) return "";
  const [has, most] = [text.length, LONGEST].map((size) => size.toLocaleString("en"));
  return `This text has ${has} characters; at most ${most} are read. Please shorten it.`;
}

// The settings that are set and change nothing, since at temperature 0 no token is sampled.
export function idleOf(values, settings) {
  if (values.temperature) return [];
  return settings.filter(({ name, off, sampled }) => sampled && (values[name] ?? off) !== off);
}

// The settings of a page or a link, of which the values that change nothing are null, or the seed's first.
export function samplingOf(values, settings) {
  const sampling = {};
  const idle = idleOf(values, settings);
  for (const setting of settings) {
    const { name, off } = setting;
    const value = idle.includes(setting) ? off : (values[name] ?? off);
    sampling[name] = value === off && name !== "temperature" && name !== "seed" ? null : value;
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
