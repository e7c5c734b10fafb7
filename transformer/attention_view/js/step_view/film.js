// A film of a decoding: each step is a frame, with the text so far, the head looked at, all heads, and what comes next.
import { text, widest } from "#view/drawing/canvas.js";
import { BAR } from "#view/drawing/colours.js";
import { keepFilm } from "#view/export/film/keep.js";
import { matrixLayout, paintMatrix } from "#view/pictures/matrix.js";
import { unpack } from "#view/message/message.js";
import { fileName, kindName } from "#view/text/names.js";
import { inPercent } from "#view/text/numbers.js";
import { stageOf } from "#view/attention/stages.js";
import { stepOf } from "#view/step_view/upto.js";
import { visible } from "#view/text/tokens.js";
import { paintHeads, withHeads } from "#view/view/layout/painting.js";
import { BODY, DISPLAY, LARGE, TITLE } from "#view/drawing/type.js";
import { pooled } from "#view/attention/weights.js";

const SIZE = { width: 1280, height: 720 };
const EDGE = 32; // px
const ABOVE = 150;
const TALL = 520;
const ZOOM = 1.4; // of the head looked at
const COLUMNS = { head: 600, heads: 320, bars: 230 };
const FPS = 2;

// bytes: of a whole decoding, as for an offline page.
export function keepDecodeFilm({ parts, root }, bytes, kind) {
  const { theme, selection } = parts.picture.view;
  const message = unpack(bytes);
  const frames = message.path.bars.length;
  const name = fileName(
    message.about.checkpoint,
    selection.kind,
    `layer${selection.layer}`,
    `head${selection.head}`,
    "film",
  );
  const paint = (context, at) => paintStep({ message, theme, selection: bare(selection) }, context, at);
  root.dataset.film = "made";
  return keepFilm(parts.making, { name, kind, frames, paint, ...SIZE, fps: FPS });
}

// Only weights of single heads are in every file.
const bare = (selection) => ({
  ...selection,
  of: "head",
  stage: "weights",
  pair: null,
  tokens: "pieces",
  special: "shown",
});

function paintStep({ message, theme, selection }, context, at) {
  const step = stepOf(message, at);
  pooled(step);
  context.fillStyle = theme.page;
  context.fillRect(0, 0, SIZE.width, SIZE.height);
  paintWords(context, message, theme, selection, at);
  const info = step.kinds[selection.kind];
  const made = matrixLayout(info, COLUMNS.head / ZOOM, { selection, tall: TALL / ZOOM });
  const newest = selection.kind !== "encoder";
  const painting = {
    info,
    stage: stageOf(step, selection),
    selection,
    ...made,
    scroll: [0, 0],
    cursor: null,
    newest,
    theme,
  };
  context.save();
  context.translate(EDGE, ABOVE);
  context.scale(ZOOM, ZOOM);
  paintMatrix(context, { x: 0, y: 0, width: COLUMNS.head / ZOOM, height: TALL / ZOOM }, painting);
  context.restore();
  const grid = withHeads({ info, selection, theme, scale: selection.scale, lit: null }, step);
  const left = EDGE + COLUMNS.head + 24;
  paintHeads(context, { x: left, y: ABOVE, width: COLUMNS.heads, height: TALL }, grid);
  paintCandidates(context, { x: left + COLUMNS.heads + 24, y: ABOVE + 10 }, message.path.bars[at], theme);
}

function paintWords(context, message, theme, selection, at) {
  const { outputs } = message.path;
  const { text: typed, checkpoint } = message.about;
  const large = { colour: theme.ink, weight: 650, size: DISPLAY };
  text(context, endOf(typed.replaceAll("\n", " ↵ ")), EDGE, 36, { ...large, weight: 400, size: TITLE });
  text(context, endOf(`→ ${outputs[at].replaceAll("\n", " ↵ ")}`), EDGE, 80, large);
  const head = `${kindName(selection.kind)} attention, layer ${selection.layer}, head ${selection.head}`;
  text(context, `${head} · ${checkpoint} · step ${at}`, EDGE, 122, { colour: theme.muted, size: BODY });
}

// What fits on a line: its end, where most happens.
const endOf = (words) => (words.length > 70 ? `…${words.slice(-69)}` : words);

function paintCandidates(context, { x, y }, bars, theme) {
  text(context, "What comes next?", x, y, { colour: theme.ink, weight: 650, size: LARGE });
  const rows = bars.slice(0, 5);
  const room = Math.min(
    110,
    widest(
      rows.map((bar) => visible(bar.label)),
      400,
      LARGE,
    ) + 8,
  );
  const most = COLUMNS.bars - room - 68;
  rows.forEach((bar, nth) => {
    const line = y + 40 + nth * 34;
    const options = { colour: theme.ink, size: LARGE, weight: bar.chosen ? 650 : 400 };
    text(context, visible(bar.label), x + room - 8, line, { ...options, align: "right" });
    context.fillStyle = bar.chosen ? theme.mark : BAR;
    context.fillRect(x + room, line - 9, Math.max(1, bar.probability * most), 18);
    text(context, inPercent(bar.probability), x + COLUMNS.bars, line, { ...options, align: "right" });
  });
}
