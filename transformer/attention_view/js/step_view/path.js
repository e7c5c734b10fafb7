// A whole decoding in one message, stepped through without anybody to ask: each step is what there was of it then.
import { mountMessage } from "#view/step_view/step_view.js";
import { stepOf } from "#view/step_view/upto.js";
import { spoken } from "#view/text/tokens.js";
/** @import { PathMessage, Selection } from "#view/message/fields.js" */

const BARS = { title: "What comes next?", label: "next tokens", keys: true, tokens: true, least: 4, most: 10 };

/** @param {PathMessage} message */
export function mountPath(root, message) {
  const path = { root, message, selection: message.selection, answered: 0, looked: 0 };
  path.index = message.path.bars.length - 1;
  showStep(path);
}

function showStep(path) {
  const { root, message, index } = path;
  const send = {
    move: (move) => {
      path.answered = move.number;
      path.index = move.choices.length ? afterChoice(path, move.choices.at(-1)) : Math.min(move.index, last(path));
      showStep(path);
    },
    selection: ({ number, ...asked }) => Object.assign(path, { selection: asked, looked: number }),
    choose: () => {},
    film: () => {},
  };
  const step = stepOf(message, index);
  const selection = withinSight(path.selection, step);
  const steps = { index, last: last(path), decoding: 0, answered: path.answered, farthest: 0 };
  mountMessage(
    root,
    { ...step, selection, answered: path.looked, step_view: { ...stepViewOf(message, index), steps } },
    send,
  );
}

// Of an earlier step, without a pair of which one had not been read.
/** @param {Selection} selection */
function withinSight(selection, { kinds }) {
  const { queries, keys } = kinds[selection.kind];
  const [query, key] = selection.pair ?? [0, 0];
  return query < queries.length && key < keys.length ? selection : { ...selection, pair: null };
}

const last = ({ message }) => message.path.bars.length - 1;

// Only the way that was gone is here: another token chosen leads nowhere.
function afterChoice({ message, index, root }, { at, nth }) {
  const taken = message.path.bars[at]?.[nth]?.chosen;
  root.stepView.controls.choices = [];
  return taken ? Math.min(at + 1, message.path.bars.length - 1) : index;
}

function stepViewOf({ path }, index) {
  const { prompt, source, target, unknown, outputs, bars } = path;
  const read = prompt + index;
  const rows = [];
  if (source) rows.push({ label: "Source", name: "source tokens", part: "source", tokens: source, unknown });
  rows.push({
    label: source ? "Target" : "Tokens",
    name: source ? "target tokens" : "tokens",
    part: "target",
    tokens: target,
    predicted: read,
    unknown: source ? [] : unknown,
  });
  const [written, whole] = [outputs[index], outputs.at(-1)];
  const coming = whole.startsWith(written) ? whole.slice(written.length) : "";
  const rest = Math.max(0, 1 - bars[index].reduce((sum, bar) => sum + (bar.excluded ? 0 : bar.probability), 0));
  const hint = "In this file only the token that was chosen leads on";
  return {
    rows,
    text: { label: "The text so far", written, coming },
    bars: { ...BARS, rows: bars[index], rest, hint },
    said: `Step ${index}: ${spoken(target[read])}`,
  };
}
