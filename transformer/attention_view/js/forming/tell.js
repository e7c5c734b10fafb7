// What the pointer or the keyboard is on, said.
import { say } from "#view/elements.js";
import { SHOWN, infoOf, measured, stepOf, stepWords, valued, weightsNow } from "#view/forming/snapshots.js";
import { plain, thousands } from "#view/numbers.js";
import { same } from "#view/pointer.js";
import { mayLook } from "#view/scores.js";
import { placed } from "#view/tokens.js";

// A head of the grid: what it measures at this step.
export function tellHead(view, [layer, head]) {
  const step = stepOf(view);
  const values = SHOWN.map(({ row }) => measured(view, step, row, layer, head));
  const words = SHOWN.map(({ title }, i) => `${title.toLowerCase()} ${valued(values[i])}`).join(" · ");
  const marks = Object.fromEntries(SHOWN.map(({ name }, i) => [name, values[i]]));
  const where = `layer ${layer} · head ${head} at ${stepWords(view)}`;
  say(view.parts.readout, `${where}: ${words}`, { kind: view.selection.kind, layer, head, step, ...marks });
}

// A line of a measure, at the step that the pointer is nearest to.
export function tellLine(view, { row, name, title }, [layer, head], step) {
  const value = measured(view, step, row, layer, head);
  const words = `layer ${layer} · head ${head}: ${title.toLowerCase()} ${valued(value)} at step ${thousands(step)}`;
  say(view.parts.readout, words, { kind: view.selection.kind, layer, head, step, [name]: value });
}

export function tellCell(view) {
  const [query, key] = view.cursor;
  const info = infoOf(view);
  const weight = weightsNow(view)[query * info.keys.length + key];
  const pair = `${placed(info.queries, query)} looks at ${placed(info.keys, key)} at ${stepWords(view)}`;
  const words = mayLook(info, query, key) ? `weight ${plain(weight)}` : "masked, weight 0";
  const { kind, layer, head } = view.selection;
  say(view.parts.readout, `${pair}: ${words}`, { query, key, weight, kind, layer, head, step: stepOf(view) });
}

// The head that the pointer is on: `at` in the grid, `over` in a measure.
export function putHead(view, name, to) {
  if (same(to, view[name])) return;
  view[name] = to;
  view.soon();
}
