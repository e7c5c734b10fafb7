// Which of many heads are drawn first, and what the map of all of them shows.
import SHARED from "#view/message/shared.json";
import { chooser, part, rebuilt } from "#view/page/elements.js";
import { numbered } from "#view/text/names.js";
import { change } from "#view/attention/selection.js";
/** @import { AttentionKind } from "#view/message/fields.js" */

// What can come first -> [in the chooser, what a dark square of the map means, what is said of a number].
const ALONG = ["that look as far along the source", "more weight lies as far along", "of its weight as far along"];
const ORDERS = {
  layers: ["by layer", "a head differs more from the mean of its layer", "apart from its layer’s mean"],
  apart: [
    "that differ most from their layer",
    "a head differs more from the mean of its layer",
    "apart from its layer’s mean",
  ],
  previous: [
    "that look at the token before",
    "more weight lies on the token before",
    "of its weight on the token before",
  ],
  first: ["that look at the first token", "more weight lies on the first token", "of its weight on the first token"],
  diagonal: [
    "that look at the token itself",
    "more weight lies on the token itself",
    "of its weight on the token itself",
  ],
  same: [
    "that look at the same token elsewhere",
    "more weight lies on the same token elsewhere",
    "of its weight on the same token elsewhere",
  ],
};
// Of values that are no weights there is one number of a head.
const OPEN = ["its largest value is further from 0", "of the largest value of all heads"];
const CROSS = { previous: null, diagonal: ALONG, same: null };

function orderWords({ open }, { kind, order }) {
  if (open) return [order === "layers" ? ORDERS.layers[0] : "with the largest values", ...OPEN];
  return (kind === "cross" && CROSS[order]) || ORDERS[order];
}

// How a head stands in that order: "34% of its weight on the token before".
export const orderText = (info, selection, number) => `${Math.round(100 * number)}% ${orderWords(info, selection)[2]}`;

// A name under which many heads are drawn, such as 17.5, in words.
/** @param {AttentionKind} info */
function nameText(info, /** @type {number[]} */ [layer, head]) {
  const [first, second] = [numbered(info, "layers", layer), numbered(info, "heads", head)];
  return `${first}.${second} is head ${second} of layer ${first}.`;
}

export function ordering(view, { many, info }) {
  const { parts, selection, theme } = view;
  const count = info.layers * info.heads;
  parts.sideTitle.textContent = many
    ? `All ${count.toLocaleString("en")} ${selection.kind} heads`
    : `All ${selection.kind} heads`;
  parts.order.classList.toggle("none", !many);
  if (!many) return;
  const every = info.open ? SHARED.choices.order.slice(0, 2) : SHARED.choices.order;
  const offered = every.filter((order) => selection.kind !== "cross" || CROSS[order] !== null);
  const names = offered.map((order) => [order, orderWords(info, { kind: selection.kind, order })[0]]);
  const choice = chooser("Heads", names, selection.order, (order) => change(view, { order }));
  const over = view.message.path ? ", over all steps" : "";
  const where = `${theme.dark ? "brighter" : "darker"} where ${orderWords(info, selection)[1]}${over}`;
  const left = `Left: each square is a head; ${where}.`;
  const says = part("p", {
    textContent: selection.order === "layers" ? left : `${left} ${nameText(info, many.drawn[0])}`,
  });
  rebuilt(parts.order, [choice, says]);
}
