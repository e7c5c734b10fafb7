// The colours of the page and of numbers, from design.json.
import DESIGN from "#view/drawing/design.json";

const { colours: COLOURS, sequential: RAMP, diverging } = DESIGN;
export const SIGNED = { false: diverging[0], true: diverging[1] }; // from below zero to above, by dark
const colourOf = (name, dark) => COLOURS[name][Number(dark)];
export const BAR = colourOf("plus", false);
const PAINTS = {
  ink: "ink",
  muted: "quiet",
  accent: "accent",
  mark: "mark",
  forbidden: "tint",
  stripe: "line",
  page: "paper",
  right: "right",
};

// What a picture is painted with; large: for a projector.
/** @returns {{dark: boolean, brief: boolean, least: number} & Record<keyof typeof PAINTS, string>} */
export const themeOf = (dark, large = false) => ({
  dark,
  brief: large,
  least: large ? 12 : 10,
  ...paintsOf(dark),
});

const paintsOf = (dark) =>
  /** @type {Record<keyof typeof PAINTS, string>} */ (
    Object.fromEntries(Object.entries(PAINTS).map(([part, name]) => [part, colourOf(name, dark)]))
  );

export const prefersDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

function between(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const next = channels(stops[low + 1]);
  return channels(stops[low]).map((c, i) => Math.round(c + (next[i] - c) * (place - low)));
}

// 513 colours: the upper half for 0..1, the lower for -1..0. Zero is the end nearest the page.
const palettes = {};
export function palette(dark) {
  const ramp = dark ? [...RAMP].reverse() : RAMP;
  return (palettes[dark] ??= Array.from({ length: 513 }, (_, i) => {
    const at = (i - 256) / 256;
    return { signed: between(SIGNED[dark], (at + 1) / 2), plain: between(ramp, Math.max(at, 0)) };
  }));
}

export const css = (/** @type {number[]} */ [r, g, b]) => `rgb(${r}, ${g}, ${b})`;

export function inkOn(/** @type {number[]} */ [r, g, b]) {
  const light = 0.2126 * (r / 255) ** 2.2 + 0.7152 * (g / 255) ** 2.2 + 0.0722 * (b / 255) ** 2.2;
  return light > 0.179 ? "#000000" : "#ffffff";
}

// From a value of a stage to its place in the palette; scores are always drawn in proportion.
export function shade(stage, scale) {
  const bend = scale === "sqrt" && !stage.signed ? Math.sqrt : (x) => x;
  return (value) => 256 + Math.round(256 * Math.sign(value) * bend(Math.min(1, Math.abs(value) / stage.high)));
}

// A colour as the bytes of an ImageData spell it, alpha last.
export const pixelOf = (/** @type {number[]} */ [r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const pixels = {};
export const pixelPalette = (dark, kind) =>
  (pixels[dark + kind] ??= Uint32Array.from(palette(dark), (colour) => pixelOf(colour[kind])));

// Of a head among others: hues far apart, lightness alternating, so that neighbours differ without colour too.
export function headColour(head, heads, dark) {
  const light = (dark ? 0.72 : 0.55) + (head % 2 ? 0.1 : -0.04);
  return `oklch(${light} 0.15 ${(250 + (head * 360) / heads) % 360})`;
}
