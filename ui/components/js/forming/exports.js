// Files to keep of attention as it forms: the whole picture, every measure of every head at every step, and a film.
import { text } from "#view/drawing/canvas.js";
import { filmEntries, keepFilm } from "#view/export/film/keep.js";
import { FILM_KINDS } from "#view/export/film/kinds.js";
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
} from "./pictures.js";
import {
  drawnOf,
  everyHead,
  infoOf,
  lossWords,
  measured,
  measuresOf,
  missing,
  stepOf,
  stepWords,
  tokensOf,
  valued,
} from "./snapshots.js";
import { paintGrid } from "#view/pictures/grid.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/pictures/matrix.js";
import { fileName, kindName } from "#view/text/names.js";
import {
  PNG_ENTRIES,
  ZIP_ENTRY,
  csvFile,
  keepAs,
  keepZip,
  pagePng,
  paintCaption,
  pngFile,
} from "#view/export/picture_files.js";
import { BODY, DISPLAY, TITLE } from "#view/drawing/type.js";

const WIDTH = 1240; // px
const HALF = 580;
const TOP = 250;

// For a chooser: what can be kept, and what it is called. redraw: called once it is known which films can be made.
export const formingEntries = (view, redraw) => [
  ...PNG_ENTRIES,
  ["csv", "CSV"],
  ...filmEntries(view, redraw),
  ZIP_ENTRY,
];

export async function save(view, kind) {
  if (missing(view)) return;
  if (kind === "zip") return keepZip(view);
  if (kind in FILM_KINDS) return keepFormingFilm(view, kind);
  const name = nameOf(view);
  keepAs(kind === "csv" ? csvFile(caption(view), table(view)) : await pngFile(view, kind, compose), name, kind);
}

const nameOf = (view, last = `step${stepOf(view)}`) =>
  fileName(view.message.name, "forming", view.selection.kind, `sentence${view.selection.sentence}`, last);

// What a zip of the page holds of it: [name, Blob] pairs.
export async function formingFiles(view) {
  if (missing(view)) return [];
  const name = nameOf(view);
  return [[`${name}.png`, await pagePng(view, compose)]];
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

// The whole picture, on a context that `make` gives for a width and a height.
function compose(view, make) {
  const { theme, selection } = view;
  const made = matrixLayout(infoOf(view), HALF);
  const middle = Math.max(made.height + 40, gridHeight(view, HALF) + 10);
  const context = make(WIDTH, TOP + middle + 260);
  paintCaption(context, caption(view), theme);
  const plot = timelinePlot(view, { x: 8, y: 62, width: WIDTH - 16, height: 170 });
  underTimeline(view, context, plot);
  overTimeline(view, context, plot);
  paintGrid(context, { x: 16, y: TOP, width: HALF, height: middle - 10 }, { ...gridOf(view), at: null });
  const title = { colour: theme.ink, weight: 650, size: BODY };
  text(context, `layer ${selection.layer}, head ${selection.head}`, 640, TOP + 2, title);
  const box = { x: 640, y: TOP + 12, width: made.width, height: made.height };
  paintMatrix(context, box, { ...matrixOf(view, made), cursor: null });
  paintLegend(context, 644, box.y + made.height + 4, { stage: { high: 1 }, scale: "sqrt", theme });
  drawnOf(view).forEach((one, i, all) => {
    paintMeasure(view, context, one, { i, of: all.length, top: TOP + middle + 40, title });
  });
}

function paintMeasure(view, context, one, { i, of, top, title }) {
  const width = (WIDTH - 16) / of;
  const x = 8 + i * width;
  const plot = measurePlot(view, { x, y: top, width, height: 200 }, one);
  text(context, `${one.title}: ${valued(measured(view, stepOf(view), one.row))}`, x + 8, top - 8, title);
  underMeasure(view, context, plot, one);
  overMeasure(view, context, plot, one);
}

function table(view) {
  const { steps, losses, called } = view.message;
  const measures = measuresOf(view);
  const names = ["step", "layer", "head", ...measures.map(({ name }) => name)];
  const row = (step, at, head) => {
    const values = measures.map(({ row }) => measured(view, step, row, ...head));
    const written = values.map((value) => (Number.isFinite(value) ? value : ""));
    return [step, ...head, ...written, ...losses[at].map((loss) => loss ?? "")];
  };
  return [
    [...names, ...called.map((words) => words.replaceAll(" ", "_"))],
    ...steps.flatMap((step, at) => everyHead(view).map((head) => row(step, at, head))),
  ];
}

// A film: every snapshot is a frame, with its step written on it.

const SIZE = { width: 1280, height: 720 };
const EDGE = 32; // px
const UNDER_WORDS = 104;
const TALL = 420;
const ACROSS = 590;
const FEW = 12; // tokens
const LEGEND = 34;
const FPS = 5;

function keepFormingFilm(view, kind) {
  const { steps } = view.message;
  const still = { ...view, selection: { ...view.selection }, at: null, over: null };
  const paint = (context, at) =>
    paintSnapshot({ ...still, selection: { ...still.selection, step: steps[at] } }, context);
  return keepFilm(view.parts.making, {
    name: nameOf(view, "film"),
    kind,
    frames: steps.length,
    paint,
    ...SIZE,
    fps: FPS,
  });
}

function paintSnapshot(view, context) {
  const { theme, selection, message } = view;
  context.fillStyle = theme.page;
  context.fillRect(0, 0, SIZE.width, SIZE.height);
  const loss = lossWords(view);
  const step = stepWords(view);
  text(context, step[0].toUpperCase() + step.slice(1), EDGE, 40, { colour: theme.ink, weight: 650, size: DISPLAY });
  text(context, loss, SIZE.width - EDGE, 40, { colour: theme.ink, size: TITLE, align: "right" });
  const { kind, sentence } = selection;
  const of = `${message.name} · ${kindName(kind)} attention · sentence ${sentence}: ${tokensOf(view).label}`;
  text(context, of, EDGE, 78, { colour: theme.muted, size: BODY });
  const head = `layer ${selection.layer}, head ${selection.head}`;
  const right = SIZE.width - EDGE - ACROSS;
  text(context, head, right + 8, UNDER_WORDS + 6, { colour: theme.ink, weight: 650, size: BODY });
  text(context, `All ${selection.kind} heads`, EDGE, UNDER_WORDS + 6, { colour: theme.ink, weight: 650, size: BODY });
  paintGrid(context, { x: EDGE, y: UNDER_WORDS + 20, width: ACROSS, height: TALL }, gridOf(view));
  paintHead(view, context, { x: right, y: UNDER_WORDS + 20, width: ACROSS, height: TALL });
  const top = UNDER_WORDS + TALL + 34;
  const plot = timelinePlot(view, { x: EDGE - 16, y: top, width: SIZE.width - EDGE, height: SIZE.height - top - 8 });
  underTimeline(view, context, plot);
  overTimeline(view, context, plot);
}

// The head looked at, larger where it has few tokens, and its scale.
function paintHead(view, context, { x, y, width, height }) {
  const info = infoOf(view);
  const zoom = Math.max(info.queries.length, info.keys.length) <= FEW ? 1.4 : 1;
  const made = matrixLayout(info, width / zoom, { tall: height / zoom - LEGEND });
  context.save();
  context.translate(x, y);
  context.scale(zoom, zoom);
  const box = { x: 0, y: 0, width: made.width, height: made.height };
  paintMatrix(context, box, { ...matrixOf(view, made), cursor: null });
  paintLegend(context, made.gutter.left, made.height + 6, { stage: { high: 1 }, scale: "sqrt", theme: view.theme });
  context.restore();
}
