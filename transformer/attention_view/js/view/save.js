// Files to keep: the picture, as pixels or as lines and areas, and the numbers.
import { text } from "#view/canvas.js";
import { openSaid } from "#view/checks.js";
import { keepFile, part, say } from "#view/elements.js";
import { keepAllFigures } from "#view/figures/expose.js";
import { PNGS, blobOf, inTheme, paper } from "#view/figures/png.js";
import { linesHeight, paintLines } from "#view/lines.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/matrix.js";
import { fileName } from "#view/names.js";
import { Pdf } from "#view/pdf.js";
import { rowNames } from "#view/rows.js";
import { missingSaid } from "#view/stages.js";
import { Vector } from "#view/svg.js";
import { gridOf, matrixOf, paintHeads } from "#view/view/painting.js";
import { inLines, infoOf, lit, stageNow } from "#view/view/selection.js";
import { caption, headName, layerName } from "#view/view/words.js";
import { layerOf } from "#view/weights.js";

const WIDTH = 720;
const LINE = 20;
const BELOW = 110; // px

// Each gives its file to `keep`.
export const FILES = {
  ...Object.fromEntries(Object.keys(PNGS).map((kind) => [kind, (view, keep) => pixelPicture(view, kind).toBlob(keep)])),
  svg: (view, keep) => {
    const picture = compose(view, (width, height) => new Vector(width, height, view.theme.page));
    keep(new Blob([String(picture)], { type: "image/svg+xml" }));
  },
  pdf: (view, keep) => {
    const picture = compose(view, (width, height) => new Pdf(width, height, view.theme.page));
    keep(new Blob(picture.bytes(), { type: "application/pdf" }));
  },
  csv: (view, keep) => keep(new Blob([table(view)], { type: "text/csv" })),
};

// For a chooser: what it is called, in words.
export const fileEntries = (view) => [
  ...Object.entries(PNGS).map(([kind, { words }]) => [kind, words]),
  ...["svg", "pdf", "csv"].map((kind) => [kind, kind.toUpperCase()]),
  ...(view.message.standalone ? [] : [["zip", "all figures of this page, zip"]]),
];

export function save(view, kind) {
  if (kind === "zip") return keepAllFigures().catch((error) => say(view.parts.readout, error.message));
  const why = notHere(view, kind);
  if (why) return say(view.parts.readout, `Nothing is saved. ${why}`);
  const [ending, ...selection] = kind.split("-"); // light, dark
  FILES[kind](view, (blob) => keepFile(blob, `${[nameOf(view), ...selection].join("-")}.${ending}`));
}

// Why there is nothing to keep of that kind; empty where there is. Lines are drawn from a whole layer, and a CSV has the
// numbers of the head in focus.
function notHere(view, kind) {
  const { why } = stageNow(view);
  if (inLines(view) && kind !== "csv") return layerOf(view.message, view.selection) ? "" : missingSaid(view.message);
  return why === "…" ? "The numbers are still on their way; try again." : (why ?? "");
}

function nameOf(view) {
  const { message, selection } = view;
  const name = (words) => words.replace(" ", "");
  const of = selection.of === "head" ? name(headName(view)) : selection.of;
  const words = [message.about.checkpoint ?? "attention", selection.kind, name(layerName(view)), of, selection.stage];
  if (infoOf(view).merged?.words) words.push("words");
  return fileName(...words);
}

// What a zip of the page holds of it: [name, Blob] pairs.
export async function figureFiles(view) {
  if (notHere(view)) return [];
  const png = await blobOf(pixelPicture(view, view.theme.dark ? "png-dark" : "png-light"));
  const svg = await new Promise((keep) => FILES.svg(view, keep));
  return [
    [`${nameOf(view)}.png`, png],
    [`${nameOf(view)}.svg`, svg],
  ];
}

function pixelPicture(view, kind) {
  const canvas = part("canvas");
  const inked = inTheme(view, kind);
  compose(inked, (width, height) => paper(canvas, width, height, inked.theme));
  return canvas;
}

// The whole picture, whatever is in sight of it: the title, what is looked at, and all heads.
function compose(view, make) {
  const { theme, selection } = view;
  const info = { ...infoOf(view), ahead: undefined }; // a file has no room for what is yet to come
  const { layers, heads } = info;
  const gridWidth = Math.max(220, Math.min(620, heads * 70));
  const made = inLines(view)
    ? { width: WIDTH, height: linesHeight(view.layer) }
    : matrixLayout(info, WIDTH, { selection });
  const lines = caption(view);
  const above = 20 + lines.length * LINE;
  const height = Math.max(made.height, Math.min(560, 40 + layers * 84)) + BELOW + (lines.length - 2) * LINE;
  const context = make(made.width + gridWidth + 60, height);
  lines.forEach((line, i) => {
    const options = i ? { colour: theme.muted, size: 12 } : { colour: theme.ink, weight: 700, size: 15 };
    text(context, line, 12, 18 + i * LINE, options);
  });
  const box = { x: 12, y: above, width: made.width, height: made.height };
  if (inLines(view)) {
    const { layer, gutter } = view;
    paintLines(context, box, { info, selection, layer, lit: lit(view), hover: null, scroll: 0, theme, gutter });
  } else {
    paintMatrix(context, box, { ...matrixOf(view, made), info, scroll: [0, 0], cursor: null });
    const legend = { stage: stageNow(view), scale: selection.scale, theme, words: info.open && openSaid(info) };
    paintLegend(context, 16, height - 40, legend);
  }
  const grid = gridOf(view);
  const gridBox = { x: made.width + 40, y: above, width: gridWidth, height: height - BELOW };
  paintHeads(context, gridBox, { ...grid, info: { ...grid.info, ahead: undefined } });
  return context;
}

function table(view) {
  const { values, weights } = stageNow(view);
  const info = infoOf(view);
  const { keys } = info;
  const K = keys.length;
  const numbers = values ?? weights;
  const cell = (value) => `"${String(value).replace(/"/g, '""')}"`;
  const lines = [
    ...caption(view).map((line) => `# ${line.replace(/\s+/g, " ")}`),
    ["query \\ key", ...keys].map(cell).join(","),
    ...rowNames(info, view.selection).map((query, q) =>
      [cell(query), ...Array.from(numbers.subarray(q * K, (q + 1) * K), String)].join(","),
    ),
  ];
  return `${lines.join("\n")}\n`;
}
