// A film of attention as it forms: every snapshot is a frame, with its step written on it.
import { text } from "#view/canvas.js";
import { keepFilm } from "#view/film/keep.js";
import { gridOf, matrixOf, overTimeline, timelinePlot, underTimeline } from "#view/forming/draw.js";
import { infoOf, lossWords, stepWords, tokensOf } from "#view/forming/snapshots.js";
import { paintGrid } from "#view/grid.js";
import { matrixLayout, paintLegend, paintMatrix } from "#view/matrix.js";
import { kindName } from "#view/names.js";

const SIZE = { width: 1280, height: 720 };
const EDGE = 32; // px
const UNDER_WORDS = 104;
const TALL = 420;
const ACROSS = 590;
const FEW = 12; // tokens
const LEGEND = 34;
const FPS = 5;

export function keepFormingFilm(view, kind, name) {
  const { steps } = view.message;
  const seen = { ...view, selection: { ...view.selection }, at: null, over: null };
  const paint = (context, at) => paintSnapshot({ ...seen, selection: { ...seen.selection, step: steps[at] } }, context);
  return keepFilm(view.parts.making, { name, kind, frames: steps.length, paint, ...SIZE, fps: FPS });
}

function paintSnapshot(view, context) {
  const { theme, selection, message } = view;
  context.fillStyle = theme.page;
  context.fillRect(0, 0, SIZE.width, SIZE.height);
  const loss = lossWords(view);
  const step = stepWords(view);
  text(context, step[0].toUpperCase() + step.slice(1), EDGE, 40, { colour: theme.ink, weight: 700, size: 34 });
  text(context, loss, SIZE.width - EDGE, 40, { colour: theme.ink, size: 20, align: "right" });
  const { kind, sentence } = selection;
  const of = `${message.name} · ${kindName(kind)} attention · sentence ${sentence}: ${tokensOf(view).label}`;
  text(context, of, EDGE, 78, { colour: theme.muted, size: 16 });
  const head = `layer ${selection.layer}, head ${selection.head}`;
  const right = SIZE.width - EDGE - ACROSS;
  text(context, head, right + 8, UNDER_WORDS + 6, { colour: theme.ink, weight: 700, size: 16 });
  text(context, `All ${selection.kind} heads`, EDGE, UNDER_WORDS + 6, { colour: theme.ink, weight: 700, size: 16 });
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
