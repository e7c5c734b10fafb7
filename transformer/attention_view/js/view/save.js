// Files to keep: the picture, as pixels or as lines and areas, and the numbers.
import { openText } from "#view/attention/checks.js";
import { say } from "#view/page/elements.js";
import { PNGS } from "#view/export/figures/png.js";
import { linesHeight, paintLines } from "#view/pictures/lines.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/pictures/matrix.js";
import { fileName } from "#view/text/names.js";
import { Pdf } from "#view/drawing/pdf.js";
import {
  CAPTION_LINE,
  PNG_ENTRIES,
  ZIP_ENTRY,
  csvFile,
  keepAs,
  keepZip,
  pagePng,
  paintCaption,
  pngFile,
} from "#view/export/picture_files.js";
import { keyNames, rowNames } from "#view/pictures/rows.js";
import { missingText } from "#view/attention/stages.js";
import { Vector } from "#view/drawing/svg.js";
import { gridOf, matrixOf, paintHeads } from "#view/view/layout/painting.js";
import { inLines, inModel, infoOf, lit, stageNow } from "#view/attention/selection.js";
import { caption, headName, layerName } from "#view/view/words/words.js";
import { layerOf } from "#view/attention/weights.js";

const WIDTH = 720;
const BELOW = 110; // px
const MODEL = { width: 1200, height: 760 };

// Each makes a Blob of a view, or a promise of one.
export const FILES = {
  ...Object.fromEntries(Object.keys(PNGS).map((kind) => [kind, (view) => pngFile(view, kind, compose)])),
  svg: (view) => new Blob([String(vectorPicture(view, Vector))], { type: "image/svg+xml" }),
  pdf: (view) => new Blob(vectorPicture(view, Pdf).bytes(), { type: "application/pdf" }),
  csv: (view) =>
    inModel(view) ? csvFile(modelCaption(view), view.model.files.table()) : csvFile(caption(view), table(view)),
};

const vectorPicture = (view, Format) => compose(view, (width, height) => new Format(width, height, view.theme.page));

// For a chooser: what it is called, in words. Parts of a model are painted over one another, so none is seen through.
export const fileEntries = (view) => [
  ...PNG_ENTRIES.filter(([kind]) => !inModel(view) || !PNGS[kind].clear),
  ...["svg", "pdf", "csv"].map((kind) => [kind, kind.toUpperCase()]),
  ...(view.message.standalone || view.message.zips === false ? [] : [ZIP_ENTRY]),
];

export async function save(view, kind) {
  if (kind === "zip") return keepZip(view);
  const why = notHere(view, kind);
  if (why) return say(view.parts.readout, `Nothing is saved. ${why}`);
  const name = nameOf(view);
  keepAs(await FILES[kind](view), name, kind);
}

// Why there is nothing to keep of that kind; empty where there is. Lines are drawn from a whole layer; a CSV has the
// numbers of the head in focus.
function notHere(view, kind) {
  const { message, selection } = view;
  if (inModel(view)) return view.model?.places ? "" : "The model is still on its way; try again.";
  if (inLines(view) && kind !== "csv") return layerOf(message, selection) ? "" : missingText(message);
  const { why } = stageNow(view);
  return why === "…" ? "The numbers are still on their way; try again." : (why ?? "");
}

function nameOf(view) {
  const { message, selection } = view;
  if (inModel(view)) return view.model.files.name();
  const name = (words) => words.replace(" ", "");
  const of = selection.of === "head" ? name(headName(view)) : selection.of;
  const words = [message.about.checkpoint ?? "attention", selection.kind, name(layerName(view)), of, selection.stage];
  if (infoOf(view).merged?.words) words.push("words");
  return fileName(...words);
}

// What a zip of the page holds of it: [name, Blob] pairs.
export async function figureFiles(view) {
  if (notHere(view)) return [];
  const name = nameOf(view);
  const svg = FILES.svg(view);
  return [
    [`${name}.png`, await pagePng(view, compose)],
    [`${name}.svg`, svg],
  ];
}

// A model at the level it is seen from, over its caption.
function composeModel(view, make) {
  const { width, height } = MODEL;
  const lines = modelCaption(view);
  const context = make(width, height + 20 + lines.length * CAPTION_LINE);
  view.model.files.paint(context, view, [width, height]);
  paintCaption(context, lines, view.theme, height);
  return context;
}

// What fills the picture, where it is from, and what is said of it.
function modelCaption(view) {
  const { title, lines } = view.model.files.words(MODEL.width - 24);
  return [title, caption(view)[1], ...lines];
}

// The whole picture, whatever is in sight of it: the title, what is looked at, and all heads.
function compose(view, make) {
  if (inModel(view)) return composeModel(view, make);
  const { theme, selection } = view;
  const info = { ...infoOf(view), ahead: undefined }; // a file has no room for what is yet to come
  const { layers, heads } = info;
  const gridWidth = Math.max(220, Math.min(620, heads * 70));
  const made = inLines(view)
    ? { width: WIDTH, height: linesHeight(view.layer) }
    : matrixLayout(info, WIDTH, { selection });
  const lines = caption(view);
  const above = 20 + lines.length * CAPTION_LINE;
  const height = Math.max(made.height, Math.min(560, 40 + layers * 84)) + BELOW + (lines.length - 2) * CAPTION_LINE;
  const context = make(made.width + gridWidth + 60, height);
  paintCaption(context, lines, theme);
  const box = { x: 12, y: above, width: made.width, height: made.height };
  if (inLines(view)) {
    const { layer, gutter } = view;
    paintLines(context, box, { info, selection, layer, lit: lit(view), hover: null, scroll: 0, theme, gutter });
  } else {
    paintMatrix(context, box, { ...matrixOf(view, made), info, scroll: [0, 0], cursor: null });
    const legend = { stage: stageNow(view), scale: selection.scale, theme, words: info.open && openText(info) };
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
  const K = info.keys.length;
  const numbers = values ?? weights;
  return [
    ["query \\ key", ...keyNames(info)],
    ...rowNames(info, view.selection).map((query, q) => [query, ...numbers.subarray(q * K, (q + 1) * K)]),
  ];
}
