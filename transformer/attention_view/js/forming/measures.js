// The measures of a head that are recorded, in the order of their rows, and those that are drawn.
export const ROWS = [
  ["entropy", "entropy, nats"],
  ["entropy_share", "entropy, relative to maximum"],
  ["diagonal", "diagonal"],
  ["previous", "previous token"],
  ["first", "first token"],
];

export const SHOWN = [
  {
    row: 0,
    name: "entropy",
    title: "Entropy, nats",
    words: () => "How widely a head looks: 0 is all weight on one token, the top is uniform attention.",
  },
  {
    row: 2,
    name: "diagonal",
    title: "Diagonal",
    words: (kind) =>
      kind === "cross"
        ? "Weight on the source token that lies as far along its sentence as this one does."
        : "Weight on the token itself.",
  },
  {
    row: 3,
    name: "previous",
    title: "Previous token",
    words: (kind) =>
      kind === "cross"
        ? "Weight on the source token before the one on the diagonal."
        : "Weight on the token just before.",
  },
  {
    row: 4,
    name: "first",
    title: "First token",
    words: (kind) => `Weight on the first ${kind === "cross" ? "source " : ""}token.`,
  },
];

export const valued = (value) => (Number.isFinite(value) ? value.toFixed(3) : "–");
