// Files to keep of attention as it forms: the whole picture, and every measure of every head at every step.
import { text } from "#view/canvas.js";
import { keepFile, part, say } from "#view/elements.js";
import { keepAllFigures } from "#view/figures/expose.js";
import { PNGS, blobOf, inTheme, paper } from "#view/figures/png.js";
import { filmEntries } from "#view/film/keep.js";
import { FILM_KINDS } from "#view/film/kinds.js";
import {
  gridHeight,
  gridOf,
  matrixOf,
  measurePlot,
  overMeasure,
  overTimeline,
  timelinePlot,
  underMeasure,
  underTimeline,
} from "#view/forming/draw.js";
import { keepFormingFilm } from "#view/forming/film.js";
import {
  ROWS,
  SHOWN,
  everyHead,
  infoOf,
  lossWords,
  measured,
  missing,
  stepOf,
  stepWords,
  tokensOf,
  valued,
} from "#view/forming/snapshots.js";
import { paintGrid } from "#view/grid.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/matrix.js";
import { fileName, kindName } from "#view/names.js";

const WIDTH = 1240; // px
const HALF = 580;
const TOP = 250;

// For a chooser: what it is called, in words. `look` is called where that has changed.
export const formingEntries = (view, selection) => [
  ...Object.entries(PNGS).map(([kind, { words }]) => [kind, words]),
  ["csv", "CSV"],
  ...filmEntries(view, selection),
  ["zip", "all figures of this page, zip"],
];

export function save(view, kind) {
  if (missing(view)) return;
  if (kind === "zip") return keepAllFigures().catch((error) => say(view.parts.readout, error.message));
  if (kind in FILM_KINDS) return keepFormingFilm(view, kind, nameOf(view, "film"));
  const keep = (blob) => keepFile(blob, `${nameOf(view, `step${stepOf(view)}`)}.${kind.split("-")[0]}`);
  if (kind === "csv") keep(new Blob([table(view)], { type: "text/csv" }));
  else picture(inTheme(view, kind)).toBlob(keep);
}

const nameOf = ({ message, selection }, last) =>
  fileName(message.name, "forming", selection.kind, `sentence${selection.sentence}`, last);

// What a zip of the page holds of it: [name, Blob] pairs.
export async function formingFiles(view) {
  if (missing(view)) return [];
  const png = await blobOf(picture(inTheme(view, view.theme.dark ? "png-dark" : "png-light")));
  return [[`${nameOf(view, `step${stepOf(view)}`)}.png`, png]];
}

function caption(view) {
  const { message, selection } = view;
  const loss = lossWords(view);
  const head = `layer ${selection.layer}, head ${selection.head}`;
  const sentence = `sentence ${selection.sentence}: ${tokensOf(view).label}`;
  return [
    `${kindName(selection.kind)} attention as it forms: ${stepWords(view)}${loss ? ` · ${loss}` : ""}`,
    `${message.name} · training step ${stepOf(view)} · kind ${selection.kind} · ${sentence} · ${head}`,
  ];
}

function picture(view) {
  const { theme, selection } = view;
  const canvas = part("canvas");
  const made = matrixLayout(infoOf(view), HALF);
  const middle = Math.max(made.height + 40, gridHeight(view, HALF) + 10);
  const height = TOP + middle + 260;
  const context = paper(canvas, WIDTH, height, theme);
  caption(view).forEach((line, i) => {
    const options = i ? { colour: theme.muted, size: 13 } : { colour: theme.ink, weight: 700, size: 17 };
    text(context, line, 16, 20 + i * 22, options);
  });
  const plot = timelinePlot(view, { x: 8, y: 62, width: WIDTH - 16, height: 170 });
  underTimeline(view, context, plot);
  overTimeline(view, context, plot);
  paintGrid(context, { x: 16, y: TOP, width: HALF, height: middle - 10 }, { ...gridOf(view), at: null });
  const title = { colour: theme.ink, weight: 700, size: 14 };
  text(context, `layer ${selection.layer}, head ${selection.head}`, 640, TOP + 2, title);
  const box = { x: 640, y: TOP + 12, width: made.width, height: made.height };
  paintMatrix(context, box, { ...matrixOf(view, made), cursor: null });
  paintLegend(context, 644, box.y + made.height + 4, { stage: { high: 1 }, scale: "sqrt", theme });
  SHOWN.forEach((one, i) => paintMeasure(view, context, one, { i, top: TOP + middle + 40, title }));
  return canvas;
}

function paintMeasure(view, context, one, { i, top, title }) {
  const width = (WIDTH - 16) / SHOWN.length;
  const x = 8 + i * width;
  const plot = measurePlot(view, { x, y: top, width, height: 200 }, one);
  text(context, `${one.title}: ${valued(measured(view, stepOf(view), one.row))}`, x + 8, top - 8, title);
  underMeasure(view, context, plot, one);
  overMeasure(view, context, plot, one);
}

function table(view) {
  const { steps, losses, called } = view.message;
  const named = called.map((words) => words.replaceAll(" ", "_"));
  const names = ["step", "layer", "head", ...ROWS.map(([name]) => name), ...named];
  const row = (step, at, head) => {
    const values = ROWS.map((_, measure) => measured(view, step, measure, ...head));
    const written = values.map((value) => (Number.isFinite(value) ? value : ""));
    return [step, ...head, ...written, ...losses[at].map((loss) => loss ?? "")].join(",");
  };
  const lines = [
    ...caption(view).map((line) => `# ${line.replace(/\s+/g, " ")}`),
    names.join(","),
    ...steps.flatMap((step, at) => everyHead(view).map((head) => row(step, at, head))),
  ];
  return `${lines.join("\n")}\n`;
}
