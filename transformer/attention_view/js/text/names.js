// What layers, heads and kinds of attention are called.
/** @import { AttentionKind } from "#view/message/fields.js" */

export const kindName = (kind) => kind[0].toUpperCase() + kind.slice(1);

// The number of a layer or head, where some are left out.
export const numbered = (info, name, at) => info.numbers?.[name][at] ?? at;

// The first and the last of the heads that share keys and values with one, and which head of these they share.
/** @param {{heads: number, groups?: number}} info */
export function groupOf({ heads, groups = heads }, head) {
  const size = heads / groups;
  const at = Math.floor(head / size);
  return { at, first: at * size, last: (at + 1) * size - 1 };
}

// The same in words; empty where each head has its own.
/** @param {AttentionKind} info */
export function sharedText(info, head) {
  if (!info.groups) return "";
  if (info.groups === 1) return "all heads share keys and values";
  const { at, first, last } = groupOf(info, head);
  return `heads ${first} ${last - first > 1 ? "to" : "and"} ${last} share keys and values (key-value head ${at})`;
}

// How far a layer sees, where it has a window.
export function windowText({ near, causal }, layer) {
  if (!near?.layers.includes(layer)) return "";
  const reach = causal ? near.size : near.size - 1;
  return `window of ${reach} token${reach === 1 ? "" : "s"}${causal ? "" : " to each side"}`;
}

export const OF = {
  mean_heads: (info, selection) =>
    `mean over the ${info.heads} heads of layer ${numbered(info, "layers", selection.layer)}`,
  mean_all: (info) => `mean over all ${info.layers * info.heads} heads of all layers${info.numbers ? " shown" : ""}`,
  rollout: (info, selection) => `attention rollout, layers 0 to ${selection.layer}`,
};

// A name that every system takes for a file.
export const fileName = (...words) => words.join("-").replace(/[^\w@.-]+/g, "_");
