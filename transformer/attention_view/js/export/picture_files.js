// What the attention view and attention as it forms share: their choosers, and the files that are kept of them.
import { app } from "#view/page/app.js";
import { text } from "#view/drawing/canvas.js";
import { chooser, counted, keepFile, part, say, segments } from "#view/page/elements.js";
import { keepAllFigures } from "#view/export/figures/expose.js";
import { PNGS, blobOf, inTheme, paper } from "#view/export/figures/png.js";
import { kindName } from "#view/text/names.js";
import { termLabel } from "#view/page/terms.js";
import { BODY, SMALL } from "#view/drawing/type.js";

// Choosers. change: called with the fields of the selection that somebody has changed.

export function kindChooser(kinds, { kind: chosen }, change, little = false) {
  if (kinds.length < 2) return false;
  const names = kinds.map((kind) => [kind, kindName(kind)]);
  const choice = (little ? bareChooser : segments)("Attention", names, chosen, (kind) => change({ kind }));
  if (!little)
    kinds.forEach((kind, at) => {
      /** @type {HTMLElement} */ (choice.children[at]).title = app().terms[kind] ?? "";
    });
  return choice;
}

/** @typedef {{layers: number, heads: number, numbers?: Record<string, number[]>}} Counts */

export const layerChooser = (/** @type {Counts} */ { layers, numbers }, { layer }, change, little = false) =>
  numberChooser("Layer", counted(layers, numbers?.layers), layer, (at) => change({ layer: at }), little);

export const headChooser = (/** @type {Counts} */ { heads, numbers }, { head }, change, little = false) =>
  numberChooser("Head", counted(heads, numbers?.heads), head, (at) => change({ head: at }), little);

function numberChooser(label, entries, value, pick, little = false) {
  const named = entries.map(([at, name]) => [at, `${label} ${name}`]);
  const choose = (at) => pick(Number(at));
  if (little) return bareChooser(label, named, value, choose);
  return chooser(label, entries, value, choose, termLabel(label.toLowerCase(), label));
}

// Where there is little room: what is chosen says what it is.
export const bareChooser = (label, entries, value, pick) => chooser(label, entries, value, pick, "");

// entries: [value, label] of what can be kept; pick: called with the value; redraw: shows the chooser anew.
export const fileChooser = (entries, pick, redraw) =>
  chooser("Save", [["", "as …"], ...entries], "", (kind) => {
    if (kind) pick(kind);
    redraw();
  });

// Files.

export const PNG_ENTRIES = Object.entries(PNGS).map(([kind, { words }]) => [kind, words]);
export const ZIP_ENTRY = ["zip", "all figures of this page, zip"];

export const keepZip = (view) => keepAllFigures().catch((error) => say(view.parts.readout, error.message));

// name: without its ending; kind: the ending, or with more behind it, such as "png-light", the rest of which goes into
// the name.
export function keepAs(blob, name, kind) {
  const [ending, ...more] = kind.split("-");
  keepFile(blob, `${[name, ...more].join("-")}.${ending}`);
}

// A picture of pixels as a Blob. compose: paints a view with what `make` gives, a context for a width and a height.
export function pngFile(view, kind, compose) {
  const canvas = part("canvas");
  const inked = inTheme(view, kind);
  compose(inked, (width, height) => paper(canvas, width, height, inked.theme));
  return blobOf(canvas);
}

// The same in the page's own colours.
export const pagePng = (view, compose) => pngFile(view, view.theme.dark ? "png-dark" : "png-light", compose);

// Lines over or under a picture that is kept: what it is, and where it is from.
export const CAPTION_LINE = 20; // px
export function paintCaption(context, lines, theme, top = 0) {
  lines.forEach((line, i) => {
    const options = i ? { colour: theme.muted, size: SMALL } : { colour: theme.ink, weight: 650, size: BODY };
    text(context, line, 12, top + 18 + i * CAPTION_LINE, options);
  });
}

// Rows of texts and numbers under the lines of a caption, for spreadsheets: as basics/spreadsheet.py does it.
export function csvFile(caption, rows) {
  const above = caption.map((line) => `# ${uncomputed(line.replace(/\s+/g, " "))}`);
  const lines = [...above, ...rows.map((row) => row.map(cellText).join(","))];
  return new Blob([`\ufeff${lines.join("\n")}\n`], { type: "text/csv" });
}

const FORMULA = /(^|[;|,\t\r\n])([\s\u200b-\u200f\u2060\ufeff"']*)([=+\-@＝＋－＠])/g;
const uncomputed = (words) => words.replaceAll("\0", "").replace(FORMULA, "$1$2'$3");
const cellText = (value) =>
  typeof value === "string" && value ? `"${uncomputed(value).replaceAll('"', '""')}"` : String(value ?? "");
