// The marks of a picture that svg.js has written down, as lines of text: what stands where is written in whole pixels,
// what grows with a number in tenths, and colours that numbers have by how light they are, so that another processor's
// rounding is no other picture.
const NUMBERS = /-?\d+(?:\.\d+)?/g;
const KINDS = { text: "words", image: "images", path: "lines", rect: "boxes" };

// [{kind, line, words}], those that are in sight.
export function marksOf(parts, [width, height]) {
  return parts.flatMap((part) => {
    const tag = part.match(/^<(\w+)/)?.[1];
    if (!KINDS[tag]) return [];
    const mark = WRITTEN[tag](part);
    const [x, y, w, h] = mark.box;
    const seen = x <= width && y <= height && x + w >= 0 && y + h >= 0;
    return seen ? [{ kind: KINDS[tag], ...mark }] : [];
  });
}

const attribute = (part, name) => part.match(new RegExp(` ${name}="([^"]*)"`))?.[1];
const numbersIn = (text) => (text.match(NUMBERS) ?? []).map(Number);
const boxIn = (part) => ["x", "y", "width", "height"].map((name) => Number(attribute(part, name)));
const whole = (numbers) => numbers.map((one) => Math.round(one));
const tenths = (numbers) => numbers.map((one) => one.toFixed(1));
const placed = ([x, y, w, h]) => `${x},${y} ${w}×${h}`;

// A colour by its name, or how light one is that stands for a number.
function colourOf(text) {
  if (!text.startsWith("rgb")) return text.replace(/^oklch\(([\d.]+) .*/, (_, light) => `light ${light}`);
  const [r, g, b] = numbersIn(text);
  return `light ${((2 * r + 5 * g + b) / 8 / 255).toFixed(2)}`;
}

const faint = (part) => {
  const seen = attribute(part, "opacity") ?? attribute(part, "stroke-opacity");
  return seen && Number(seen) < 1 ? ` at ${Number(seen).toFixed(2)}` : "";
};

const WRITTEN = {
  text(part) {
    const turn = attribute(part, "transform");
    const [x, y] = turn ? numbersIn(turn) : [Number(attribute(part, "x")), Number(attribute(part, "y"))];
    const words = wordsOf(part.match(/>([^]*)<\/text>/)[1]);
    const style = `${Number(attribute(part, "font-size"))}/${attribute(part, "font-weight")}`;
    const place = `${whole([x, y])} ${attribute(part, "text-anchor")}${turn ? " turned" : ""}`;
    return { box: [x, y, 0, 0], words, line: `“${words}” ${place} ${style} ${attribute(part, "fill")}${faint(part)}` };
  },
  image(part) {
    const box = boxIn(part);
    return { box, line: `image ${attribute(part, "href")} at ${placed(whole(box))}${faint(part)}` };
  },
  rect(part) {
    const [fill, stroke] = [attribute(part, "fill"), attribute(part, "stroke")];
    const box = boxIn(part);
    if (stroke)
      return { box, line: `frame ${placed(whole(box))} ${stroke} ${attribute(part, "stroke-width")}${faint(part)}` };
    return { box, line: `box ${placed(tenths(box))} ${colourOf(fill)}${faint(part)}` };
  },
  path(part) {
    const numbers = numbersIn(attribute(part, "d"));
    const across = numbers.filter((_, at) => at % 2 === 0);
    const down = numbers.filter((_, at) => at % 2);
    const [x, y] = [across, down].map((all) => all.reduce((least, one) => Math.min(least, one)));
    const [w, h] = [Math.max(...across) - x, Math.max(...down) - y];
    const [fill, stroke] = [attribute(part, "fill"), attribute(part, "stroke")];
    const inked = stroke ? `line ${colourOf(stroke)} ${Number(attribute(part, "stroke-width")).toFixed(1)}` : "shape";
    const colour = stroke ? "" : ` ${colourOf(fill)}`;
    return {
      box: [x, y, w, h],
      line: `${inked}${colour} of ${across.length} points ${placed(tenths([x, y, w, h]))}${faint(part)}`,
    };
  },
};

// Without the signs that keep directions of writing apart, and with the 0 of a number that begins with its point.
export const wordsOf = (text) =>
  text
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
    .replace(/[\u2066-\u2069]/g, "")
    .replace(/(?<![\w.])\.(?=\d)/g, "0.");

// A picture in a few lines: how many marks of each kind, its words, each once with how often it stands there, and of
// its numbers how many there are, from where to where, and what they add up to.
export function digest(marks) {
  const [kinds, words, numbers] = [new Map(), new Map(), []];
  for (const { kind, words: said } of marks) {
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (said === undefined) continue;
    const number = Number(said.replace("−", "-"));
    if (Number.isFinite(number)) numbers.push(number);
    else words.set(said, (words.get(said) ?? 0) + 1);
  }
  const count = Object.values(KINDS).map((kind) => `${kinds.get(kind) ?? 0} ${kind}`);
  const often = [...words].map(([said, times]) => (times > 1 ? `${said} (${times})` : said));
  if (!numbers.length) return [count.join(", "), ...often];
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)].map((one) => one.toFixed(2));
  const sum = numbers.reduce((all, one) => all + one, 0).toFixed(2);
  return [`${count.join(", ")}; ${numbers.length} numbers from ${least} to ${most}, ${sum} in all`, ...often];
}
