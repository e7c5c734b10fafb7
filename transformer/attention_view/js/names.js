// What layers, heads and kinds of attention are called.

export const kindName = (kind) => kind[0].toUpperCase() + kind.slice(1);

// The number of a layer or head, where some are left out.
export const numbered = (info, name, at) => info.numbers?.[name][at] ?? at;

// Tokens that look at themselves, with all layers and all pieces there, and not too many of these.
export const rollsOut = (kind, info) =>
  ["encoder", "decoder"].includes(kind) && !info.numbers && !info.merged && !info.too_long;

export const OF = {
  mean_heads: (info, look) => `mean over the ${info.heads} heads of layer ${numbered(info, "layers", look.layer)}`,
  mean_all: (info) => `mean over all ${info.layers * info.heads} heads of all layers${info.numbers ? " shown" : ""}`,
  rollout: (info, look) => `attention rollout, layers 0 to ${look.layer}`,
};

// A name that every system takes for a file.
export const fileName = (...words) => words.join("-").replace(/[^\w@.-]+/g, "_");
