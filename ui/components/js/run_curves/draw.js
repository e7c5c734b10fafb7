// The loss large, the other numbers small below it, and what they are where the pointer is.
import { resized, text } from "#view/canvas.js";
import { Column, nearest, smooth } from "./columns.js";
import { paintPanel } from "./paint.js";
import { amount } from "./scale.js";

const PANELS = [
  { name: "loss", title: "Loss", main: true },
  { name: "lr", title: "Learning rate" },
  { name: "grad_norm", title: "Gradient norm, before clipping" },
  { name: "tokens_per_sec", title: "Tokens a second" },
  { name: "gpu_util", title: "GPU use, share of the time" },
  { name: "gpu_memory", title: "GPU memory, GB", scale: 1e-9 },
  { name: "peak_share", title: "Share of the GPU's peak" },
];
const SMALL = 142; // px
const NOTHING = new Column();

export function draw(view) {
  const { root, parts, theme } = view;
  const runs = runsShown(view);
  const points = runs.filter((run) => run.train.step?.length || run.held_out.step?.length);
  const panels = PANELS.filter(({ main, name }) => main || points.some((run) => run.train[name]?.finite));
  const width = Math.max(280, root.clientWidth);
  const narrow = width < 640;
  const tall = narrow ? 290 : 360;
  const columns = narrow ? 1 : 3;
  const height = tall + Math.ceil((panels.length - 1) / columns) * SMALL;
  const context = resized(parts.canvas, width, height);
  context.fillStyle = theme.page;
  context.fillRect(0, 0, width, height);
  parts.back.hidden = !view.zoom;
  const painting = paintingOf(view, points);
  view.plots = panels.map((panel, i) => {
    const box = panel.main ? { x: 0, y: 0, width, height: tall } : smallBox(i - 1, tall, columns, width / columns);
    return paintPanel(context, panel, box, painting);
  });
  const nothing = { colour: theme.muted, align: "center", size: 14 };
  if (!points.length) text(context, "No step has been measured yet.", width / 2, tall / 2, nothing);
  describe(view, runs, points, painting);
}

function runsShown({ header, hidden, store }) {
  return header.runs.filter((run) => !hidden.has(run.name)).map((run) => ({ ...run, ...store[run.key] }));
}

function smallBox(at, tall, columns, width) {
  return { x: (at % columns) * width, y: tall + Math.floor(at / columns) * SMALL, width, height: SMALL };
}

// What every panel is painted with.
function paintingOf(view, runs) {
  const axisOf = (group) => group[view.axis] ?? NOTHING;
  const ends = runs.flatMap((run) => [run.train, run.held_out].map((group) => axisOf(group).at(-1)));
  const range = view.zoom ?? [0, Math.max(1, ...ends.filter(Number.isFinite))];
  const { theme, log, axis, cursor } = view;
  const { unit, reference, guessing } = view.header;
  const more = { zoomed: Boolean(view.zoom), unit, reference, guessing };
  return { runs, range, axisOf, lossOf: (run) => lossOf(view, run), theme, log, axis, cursor, ...more };
}

function lossOf(view, run) {
  if (!view.smooth) return run.train.loss;
  const begun = { out: new Column(), weight: view.smooth, sum: 0, share: 1 };
  if (!view.made.has(run.key)) view.made.set(run.key, begun);
  return smooth(view.made.get(run.key), run.train.loss);
}

function describe({ root, parts, cursor }, runs, points, painting) {
  const last = (column) => amount(column?.at(-1));
  const losses = points.map(
    ({ name, train }) => `${name}: training loss ${last(train.loss)} at step ${last(train.step)}`,
  );
  const count = `${runs.length} run${runs.length === 1 ? "" : "s"}`;
  parts.canvas.setAttribute("aria-label", `Curves of ${count}. ${losses.join("; ")}`);
  parts.readout.textContent = points.map((run) => readout(run, cursor, painting)).join("\n");
  root.dataset.points = points.reduce((sum, run) => sum + (run.train.step?.length ?? 0), 0);
  const kinds = ["training", "smoothed", ...(points.some((run) => run.held_out.step?.length) ? ["held-out"] : [])];
  root.dataset.kinds = points.length ? kinds.join(", ") : "";
}

function readout(run, cursor, { runs, axisOf, lossOf: smoothed }) {
  const { train, held_out: held } = run;
  const name = runs.length > 1 ? `${run.name}: ` : "";
  const place = (group) => (cursor === null ? axisOf(group).length - 1 : nearest(axisOf(group), cursor));
  const i = place(train);
  if (i < 0) return `${name}not measured yet`;
  const words = [`step ${amount(train.step.at(i))}`, `loss ${amount(train.loss.at(i))}`];
  words.push(`smoothed ${amount(smoothed(run).at(i))}`);
  if (axisOf(held).length) {
    const j = place(held);
    words.push(`held-out ${amount(held.validation_loss.at(j))} (step ${amount(held.step.at(j))})`);
  }
  words.push(`lr ${amount(train.lr.at(i))}`, `gradient norm ${amount(train.grad_norm.at(i))}`);
  words.push(`${amount(train.tokens_per_sec.at(i))} a second`);
  return name + words.join(" · ");
}
