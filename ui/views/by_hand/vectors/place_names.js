// Where the names of arrows stand: beyond their tips where nothing is there, else turned to a side, off every arrow.

const GAP = 14; // px, from a tip to its name
const HALF_TALL = 9; // px, half of a name's height
const TURNS = [0, 45, -45, 90, -90, 135, -135, 180]; // degrees, from the direction of the arrow; the first is the best
const CLEAR = 5; // px, around the middle of an arrow

// arrows: {id, from, tip, half}, the most important first; half: of its name's width. -> [id, [x, y]] of its middle.
export function placed(arrows, { width, height }) {
  const boxes = [];
  return arrows.map(({ id, from, tip, half }) => {
    const angle = Math.atan2(tip[1] - from[1], tip[0] - from[0]);
    const places = TURNS.map((turn, at) => {
      const towards = angle + (turn * Math.PI) / 180;
      const x = within(tip[0] + (GAP + half) * Math.cos(towards), half, width);
      const y = within(tip[1] + (GAP + HALF_TALL) * Math.sin(towards), HALF_TALL, height);
      const box = { left: x - half, right: x + half, top: y - HALF_TALL, bottom: y + HALF_TALL };
      const hidden = boxes.filter((other) => overlap(box, other)).length;
      const crossed = arrows.filter((other) => crosses(other.from, other.tip, box)).length;
      return { x, y, box, cost: at + 40 * crossed + 60 * hidden };
    });
    const best = places.reduce((one, other) => (other.cost < one.cost ? other : one));
    boxes.push(best.box);
    return [id, [best.x, best.y]];
  });
}

const within = (at, half, size) => Math.max(half, Math.min(size - half, at));

const overlap = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

// Whether an arrow goes through a box: what is left of it, as shares of its length, between the sides of the box.
export function crosses(from, tip, { left, right, top, bottom }) {
  let [first, last] = [0, 1];
  const sides = [
    [left, right],
    [top, bottom],
  ];
  for (const [axis, [low, high]] of sides.entries()) {
    const far = tip[axis] - from[axis];
    const ends = [low - CLEAR - from[axis], high + CLEAR - from[axis]];
    if (far === 0) {
      if (ends[0] > 0 || ends[1] < 0) return false;
      continue;
    }
    const [near, beyond] = ends.map((end) => end / far).sort((a, b) => a - b);
    [first, last] = [Math.max(first, near), Math.min(last, beyond)];
  }
  return first <= last;
}
