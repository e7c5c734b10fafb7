// The numbers of every stage of attention: scores, masked scores, weights, and what they move.
import { formula, hasBias, mayLook, rowsOf, score } from "#view/attention/scores.js";
import { weightsOf } from "#view/attention/weights.js";
/** @import { AttentionKind, Message, Selection } from "#view/message/fields.js" */

export const STAGES = {
  scores: "scores",
  masked: "masked scores",
  weights: "weights (softmax)",
  moved: "what it moves: weight × ‖value·W_O‖",
};

// What a stage is called, of what is selected in a message.
/**
 * @param {Pick<Message, "kinds"> & Partial<Message>} message
 * @param {Selection} selection
 */
export function stageName(message, selection, stage = selection.stage) {
  const info = message.kinds[selection.kind];
  if (stage === "weights" && info.open) return "values given, not weights";
  if (stage !== "scores") return STAGES[stage];
  return `scores ${formula({ scale: info.scale, cap: info.cap, bias: hasBias(message, selection) })}`;
}

// The matrix of a stage: {values, low, high, signed, why}; values is null, and why says it, where it was not captured.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
export function stageOf(message, selection) {
  const id = [selection.kind, selection.layer, selection.head, selection.of, selection.stage].join();
  if (!message.made.has(id)) message.made.set(id, computed(message, selection));
  return message.made.get(id);
}

/**
 * @param {Message} message
 * @param {Selection} selection
 */
function computed(message, selection) {
  const weights = weightsOf(message, selection);
  const rows = rowsOf(message, selection);
  const why = reasonMissing(message, selection, weights, rows);
  if (why || !weights) return { values: null, why };
  const info = message.kinds[selection.kind];
  if (selection.stage === "weights") return { values: weights, weights, rows, ...scaleOf(info) };
  const Q = info.queries.length;
  const K = info.keys.length;
  const values = new Float32Array(Q * K);
  let high = 0;
  for (let q = 0, at = 0; q < Q; q++) {
    for (let k = 0; k < K; k++, at++) {
      if (selection.stage === "moved") values[at] = weights[at] * rows?.moved[k];
      else values[at] = selection.stage === "masked" && !mayLook(info, q, k, selection) ? -Infinity : score(rows, q, k);
      if (Number.isFinite(values[at])) high = Math.max(high, Math.abs(values[at]));
    }
  }
  const signed = selection.stage !== "moved";
  return { values, weights, rows, low: signed ? -high : 0, high: high || 1, signed };
}

// From where to where the colours of weights go, or of what is given in their place.
/** @param {Pick<AttentionKind, "open">} info */
export function scaleOf({ open }) {
  if (!open) return { low: 0, high: 1 };
  return { low: open.signed ? -open.most : 0, high: open.most, signed: open.signed };
}

export const missingText = (/** @type {Pick<Message, "standalone">} */ { standalone }) =>
  standalone ? "This file holds this head pooled only; the picture of all heads shows it." : "…";

// The reason why a stage cannot be shown; "…" where Python is asked for its numbers.
/**
 * @param {Message} message
 * @param {Selection} selection
 */
function reasonMissing(message, selection, weights, rows) {
  if (weights === null) {
    return missingText(message);
  }
  if (selection.stage === "weights") return null;
  if (selection.of !== "head") {
    const what = selection.stage === "moved" ? "values" : "scores";
    return `A mean has no ${what} of its own: choose weights, or a single head.`;
  }
  const captured = rows && (selection.stage !== "moved" || rows.moved);
  return captured ? null : "Queries, keys and values were not captured here, only weights.";
}
