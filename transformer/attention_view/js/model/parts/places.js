// Where every part of the picture of a model is: nodes, each with a box in the whole (0..1, y down), from the whole
// model to a single number; and the camera that looks at one of them.
import SHARED from "#view/message/shared.json";
/** @import { Selection } from "#view/message/fields.js" */

export const LEVELS = SHARED.choices.level;
export const levelOf = ({ level }) => LEVELS.indexOf(level);

// What a head, a cell and a number hold, in parts of their boxes.
export const HEAD = {
  matrix: [0.3, 0.27, 0.44, 0.52],
  q: [0.13, 0.27, 0.12, 0.52],
  k: [0.3, 0.1, 0.44, 0.12],
  z: [0.79, 0.27, 0.12, 0.52],
  v: [0.3, 0.84, 0.44, 0.12],
};
export const ROWS = { first: [0.12, 0.1, 0.86, 0.12], second: [0.12, 0.32, 0.86, 0.12], sum: [0.12, 0.5, 0.86, 0.26] };

export const inside = (/** @type {number[]} */ [x, y, w, h], /** @type {number[]} */ [dx, dy, dw, dh]) => [
  x + dx * w,
  y + dy * h,
  dw * w,
  dh * h,
];

export const stackOf = (kind) => (kind === "encoder" ? "encoder" : "decoder");

// The nodes of a model, made from the blocks that Python has laid out.
export class Places {
  constructor(blocks) {
    this.blocks = blocks;
    this.known = new Map();
    this.whole = { level: 0, id: "", type: "model", block: blocks, box: [0, 0, 1, 1] };
    this.parts = (blocks.blocks ?? []).map((block) => ({
      level: 0,
      id: block.id,
      type: block.type,
      block,
      box: block.box,
    }));
  }

  stacks() {
    return this.parts.filter(({ type }) => type === "stack");
  }

  stack(kind) {
    const node = this.parts.find(({ id, type }) => type === "stack" && id === stackOf(kind));
    return node && { ...node, level: 1, kind: node.id };
  }

  layer(kind, layer) {
    const id = `${stackOf(kind)}.${layer}`;
    if (!this.known.has(id)) {
      const stack = this.stack(kind);
      const count = stack.block.layers.length;
      const box = inside(stack.box, [0, 1 - (layer + 1) / count, 1, 1 / count]);
      const block = stack.block.blocks[stack.block.layers[layer]];
      this.known.set(id, { level: 2, id, type: "layer", block, box, kind: stack.id, layer });
    }
    return this.known.get(id);
  }

  // The parts of a layer, in the order of computation.
  partsOf(layer) {
    layer.parts ??= (layer.block.blocks ?? []).map((block) => ({
      level: 2,
      id: block.id.replace("{layer}", layer.layer),
      type: block.type,
      block,
      box: inside(layer.box, block.box),
      kind: block.kind ?? layer.kind,
      layer: layer.layer,
    }));
    return layer.parts;
  }

  attention(kind, layer) {
    return this.partsOf(this.layer(kind, layer)).find((part) => part.type === "attention" && part.kind === kind);
  }

  // Heads stand in rows, the first above.
  head(attention, head) {
    const { count, columns, box } = attention.block.heads;
    const rows = Math.ceil(count / columns);
    const [column, row] = [head % columns, Math.floor(head / columns)];
    const place = inside(inside(attention.box, box), [column / columns, row / rows, 1 / columns, 1 / rows]);
    const { kind, layer } = attention;
    return {
      level: 3,
      id: `${kind}.${layer}.${head}`,
      type: "head",
      block: attention.block,
      box: place,
      kind,
      layer,
      head,
    };
  }

  heads(attention) {
    attention.heads ??= Array.from({ length: attention.block.heads.count }, (_, head) => this.head(attention, head));
    return attention.heads;
  }

  cell(head, /** @type {number[]} */ [query, key], /** @type {number[]} */ [queries, keys]) {
    const box = inside(inside(head.box, HEAD.matrix), [key / keys, query / queries, 1 / keys, 1 / queries]);
    return { ...head, level: 4, id: `${head.id}/${query}:${key}`, type: "cell", box, pair: [query, key] };
  }

  number(cell, feature, width) {
    const box = inside(inside(cell.box, ROWS.first), [feature / width, 0, 1 / width, 1]);
    return { ...cell, level: 5, id: `${cell.id}/${feature}`, type: "number", box, feature };
  }

  // The residual stream of a stack at a point, with how many parts have added to it there; null beside it.
  stream(stack, /** @type {number[]} */ [px, py]) {
    const [x, , w] = stack.box;
    const middle = x + (stack.block.mirrored ? 0.875 : 0.125) * w;
    if (Math.abs(px - middle) > 0.045 * w) return null;
    const sums = stack.block.layers.flatMap((_, layer) =>
      this.partsOf(this.layer(stack.id, layer)).filter(({ type }) => type === "sum"),
    );
    const at = sums.filter(({ box }) => box[1] + box[3] / 2 > py).length;
    const [top, bottom] = [sums[at]?.box[1] ?? stack.box[1], sums[at - 1]?.box[1] ?? stack.box[1] + stack.box[3]];
    const box = [middle - 0.04 * w, top, 0.08 * w, bottom - top];
    return { level: 0, id: `stream.${stack.id}.${at}`, type: "stream", block: stack.block, box, kind: stack.id, at };
  }

  // One of the products that a number is the sum of.
  product(number, at, count) {
    const box = inside(inside(number.box, ROWS.sum), [at / count, 0, 1 / count, 1]);
    return { ...number, level: 6, id: `${number.id}/${at}`, type: "product", box, at };
  }

  // The nodes from the whole down to what is selected, one of each level.
  /** @param {Selection} selection */
  path(selection, sizes, pair) {
    const { kind, layer, head, feature } = selection;
    const attention = this.attention(kind, layer);
    const headNode = this.head(attention, head);
    const cell = this.cell(headNode, pair, sizes);
    const width = attention.block.heads.width;
    const number = this.number(cell, Math.min(feature ?? 0, width - 1), width);
    return [this.whole, this.stack(kind), this.layer(kind, layer), headNode, cell, number];
  }
}

// The camera: the part of the whole that fills the picture, [x, y, width, height].

const AROUND = { 0: 0.008, 1: 0.02, 2: 0.03, 3: 0.04, 4: 0.05, 5: 0.05 };

export function cameraOn({ box: [x, y, w, h], level }) {
  const by = AROUND[level];
  return [x - by * w, y - by * h, (1 + 2 * by) * w, (1 + 2 * by) * h];
}

// On the way from one camera to another. Sizes change by a factor; where both have a point in common it stays in place.
export function cameraBetween(from, to, part) {
  const along = (at, size) => {
    const [a, b] = [from[size], to[size]];
    const now = a * (b / a) ** part;
    if (Math.abs(a / b - 1) < 1e-6) return [from[at] + (to[at] - from[at]) * part, now];
    const still = (to[at] - from[at]) / (a - b); // of the picture, where nothing moves
    return [from[at] + still * (a - now), now];
  };
  const [x, width] = along(0, 2);
  const [y, height] = along(1, 3);
  return [x, y, width, height];
}

export const onScreen = (
  /** @type {number[]} */ [cx, cy, cw, ch],
  /** @type {number[]} */ [width, height],
  /** @type {number[]} */ [x, y, w, h],
) => [((x - cx) / cw) * width, ((y - cy) / ch) * height, (w / cw) * width, (h / ch) * height];

export const inWhole = (
  /** @type {number[]} */ [cx, cy, cw, ch],
  /** @type {number[]} */ [width, height],
  /** @type {number[]} */ [x, y],
) => [cx + (x / width) * cw, cy + (y / height) * ch];

export const holds = (/** @type {number[]} */ [x, y, w, h], /** @type {number[]} */ [px, py]) =>
  px >= x && px < x + w && py >= y && py < y + h;
