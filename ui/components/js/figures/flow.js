// Draws the picture that ui/figures/flow.py makes. A node or a head's edge that is clicked, or chosen with Enter, goes
// to Python.
import STYLE from "./flow.css";
import { dress, part, redrawWhenMoved, say, scrollToTarget, svgPart } from "#view/page/elements.js";
import { take } from "#view/page/pointer.js";

const SIDE = 56; // px beside the columns, for the names of the layers
const SLIM = 26; // px, of a column at least
const WIDE = 104; // and at most
const LOW = 16; // px, of a row; LOWEST where it is enlarged for a room
const LOWEST = 12;
const HIGH = 54;
const LETTER = 7.4; // px
const LINE = 17;
const TOP = 24; // px above the prediction's node
const THICKEST = 16; // px, of a thread with all of the flow
const APART = 10; // px, of the bends of several heads between the same nodes
const LABELS = 16; // threads that are labelled at most
const PHONE = 560; // px; the answer is below the picture there
// Dashes and gaps in px of a line, and of what its thickness adds to them.
const DASHES = { encoder: [9, 4, 1], cross: [2, 4, 0.7], feed_forward: [1, 3, 0.7] };
const NAMES = {
  encoder: "encoder head (E)",
  decoder: "decoder head (D)",
  cross: "cross-attention head (X)",
  residual: "residual stream",
  feed_forward: "feed-forward (square)",
};

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".flow");
  dress(root, STYLE);
  const pick = (id) => {
    setTriggerValue("pick", id);
    if (root.clientWidth < PHONE) scrollToTarget(data.target);
  };
  root.redraw = () => draw(root, data, pick);
  redrawWhenMoved(root);
  root.redraw();
}

function draw(root, data, pick) {
  const focused = root.getRootNode().activeElement?.dataset?.id;
  const left = root.querySelector(".room")?.scrollLeft;
  const readout = part("p", { className: "readout" });
  const view = { data, pick, readout, ...placed(root, data) };
  const room = part("div", { className: "room" }, picture(view));
  root.replaceChildren(room, legend(data), readout);
  room.scrollLeft = left ?? view.places.get(answerDot(data).id)[0]; // what is predicted is in sight
  if (!focused) return;
  [...root.querySelectorAll("[data-id]")].find(({ dataset }) => dataset.id === focused)?.focus({ preventScroll: true });
}

// Where everything stands: two stacks beside each other where there is room, else the decoder above the encoder.

function placed(root, { stacks, dots }) {
  const zoom = root.currentCSSZoom ?? 1;
  const width = Math.max(240, root.clientWidth);
  const columns = stacks.map(({ columns: own }) => Math.max(1, own.length));
  const all = columns.reduce((sum, count) => sum + count, 0) + (stacks.length - 1) * 1.6;
  const beside = all * SLIM + SIDE * stacks.length <= width;
  const across = beside ? all : Math.max(...columns);
  const sides = beside ? stacks.length : 1;
  const wide = Math.max(SLIM, Math.min(WIDE, (width - SIDE * sides - 8) / across));
  const feet = stacks.map(({ columns: own }) => footOf(own, wide));
  const rows = stacks.map(({ bands }, at) => bands.at(-1)[2] + (at === stacks.length - 1 ? 1 : 0));
  const feetHigh = beside ? Math.max(...feet) : feet.reduce((sum, foot) => sum + foot, 0);
  const count = beside ? Math.max(...rows) + 1 : rows.reduce((sum, own) => sum + own, 1);
  const above = Math.max(150, root.getBoundingClientRect().top + scrollY);
  const under = zoom > 1 ? 8 : 56; // the legend and what is said of the pointer's place
  const free = (innerHeight - Math.min(above, innerHeight * 0.45)) / zoom - feetHigh - TOP - under;
  const high = Math.max(zoom > 1 ? LOWEST : LOW, Math.min(HIGH, free / count));
  const frames = [];
  let x = SIDE;
  let bottom = TOP + (beside ? Math.max(...rows) + 0.6 : rows.at(-1) + 0.6) * high;
  const order = beside ? stacks.map((_, at) => at) : stacks.map((_, at) => at).reverse();
  for (const at of order) {
    frames[at] = { ...stacks[at], x, bottom, foot: feet[at], rows: rows[at] };
    if (beside) x += columns[at] * wide + SIDE + 0.6 * wide;
    else bottom += feet[at] + ((rows[at - 1] ?? 0) - 0.2) * high;
  }
  const last = frames[order.at(-1)];
  const edge = beside ? x - SIDE - 0.6 * wide : SIDE + across * wide;
  const height = Math.max(...frames.map((frame) => frame.bottom + frame.foot)) + 4;
  const places = new Map(dots.map((dot) => [dot.id, placeOf(dot, frames, wide, high)]));
  return { frames, places, wide, high, width: Math.max(edge + 8, beside ? 0 : last.x), height };
}

const slanted = (columns, wide) => columns.some(({ label }) => label.length * LETTER > wide - 4);

function footOf(columns, wide) {
  if (!slanted(columns, wide)) return LINE + 12;
  return Math.min(104, 16 + 0.8 * LETTER * Math.max(...columns.map(({ label }) => label.length)));
}

function placeOf(dot, frames, wide, high) {
  const frame = frames.find(({ name }) => name === dot.stack);
  const at = frame.columns.findIndex(({ position }) => position === dot.position);
  const column = at < 0 ? (frame.columns.length - 1) / 2 : at;
  const aside = dot.kind === "feed_forward" ? Math.min(0.34 * wide, 22) : 0;
  return [frame.x + (column + 0.5) * wide + aside, frame.bottom - (dot.row + 0.4) * high];
}

// The drawing, from behind to the front.

function picture(view) {
  const { data, width, height, frames } = view;
  const box = { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": data.alt };
  const svg = svgPart("svg", box);
  for (const frame of frames) svg.append(...bandsOf(view, frame));
  const threads = [...data.threads].reverse().map((thread) => threadOf(view, thread)); // the strongest in front
  svg.append(...threads.map(({ group }) => group), ...frames.flatMap((frame) => feetOf(view, frame)));
  svg.append(...data.dots.map((dot) => dotOf(view, dot)));
  svg.append(...labelsOf(threads.reverse()), answerOf(view));
  moves(svg);
  return svg;
}

function bandsOf({ high, wide }, { name, x, bottom, bands, columns }) {
  const parts = bands.flatMap(([words, from, to], i) => {
    const y = bottom - (to + 0.4 + 0.5) * high;
    const box = { x: x - SIDE + 4, y, width: SIDE + columns.length * wide, height: (to - from) * high };
    const middle = y + box.height / 2 + 5;
    return [
      svgPart("rect", { class: i % 2 ? "band odd" : "band", ...box, rx: 4 }),
      svgPart("text", { class: "name", x: x - SIDE + 8, y: middle }, words),
    ];
  });
  return [...parts, svgPart("text", { class: "name title", x: x - SIDE + 8, y: bottom + 14 }, name)];
}

function feetOf({ wide }, { x, bottom, columns }) {
  const slant = slanted(columns, wide);
  return columns.map(({ label, position }, i) => {
    const center = x + (i + 0.5) * wide;
    const gap = i > 0 && position !== columns[i - 1].position + 1 ? "… " : "";
    const turn = slant
      ? { transform: `translate(${center + 4} ${bottom + 8}) rotate(-50)`, "text-anchor": "end" }
      : { x: center, y: bottom + LINE - 2, "text-anchor": "middle" };
    const text = svgPart("text", { class: "foot", ...turn }, gap + label);
    text.prepend(svgPart("title", {}, `position ${position}`));
    return text;
  });
}

function dashes(kind, thick) {
  const [line, gap, more] = DASHES[kind];
  return [line, gap].map((length) => length + more * (thick - 1)).join(" ");
}

const thickness = ({ worth }) => Math.max(1, THICKEST * worth);

// Edges of several heads between the same nodes bend apart.
function threadOf(view, thread) {
  const { data, places } = view;
  const [from, to] = [places.get(thread.source), places.get(thread.target)];
  const twins = data.threads.filter(
    ({ source, target, label }) => label && source === thread.source && target === thread.target,
  );
  const number = twins.indexOf(thread);
  const [d, middle] = bent(from, to, Boolean(thread.label), number, view);
  const colour = data.colours[thread.kind] ?? data.colours.other;
  const line = { d, class: "thread", stroke: colour, "stroke-width": thickness(thread) };
  if (DASHES[thread.kind]) line["stroke-dasharray"] = dashes(thread.kind, line["stroke-width"]);
  const group = svgPart("g", { class: "thread-of", "data-kind": thread.kind, "data-worth": thread.worth });
  group.append(svgPart("path", line), svgPart("path", { d, class: "reach" }));
  if (thread.id) chooses(group, view, thread);
  hears(group, view, thread);
  return { group, middle, thread };
}

function bent([x1, y1], [x2, y2], isHead, number, { wide, high }) {
  if (!isHead) return [`M${x1} ${y1}L${x2} ${y2}`, null];
  const more = APART * number;
  const steep = Math.abs(x1 - x2) < 1;
  const aside = steep ? -Math.min(0.42 * wide, 16 + 0.7 * more) : more * Math.sign(x2 - x1);
  const rise = Math.max(0.55 * Math.abs(y1 - y2), 0.4 * high);
  const [c1, c2] =
    y2 > y1 // from the top of an encoder down into a decoder beside it
      ? [
          [x1 + 0.4 * (x2 - x1), y1 + more],
          [x2 - 0.4 * (x2 - x1), y2 + more],
        ]
      : [
          [x1 + aside, y1 - rise + more],
          [x2 + aside, y2 + rise + more],
        ];
  const along = (t) => [0, 1].map((i) => cubic([x1, y1][i], c1[i], c2[i], [x2, y2][i], t));
  return [`M${x1} ${y1}C${c1} ${c2} ${x2} ${y2}`, along];
}

const cubic = (a, b, c, d, t) => (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t ** 2 * c + t ** 3 * d;

// Names on the strongest heads' edges, where they do not cover each other.
function labelsOf(threads) {
  const taken = [];
  const labels = [];
  for (const { middle, thread } of threads) {
    if (!thread.label || labels.length >= LABELS) continue;
    const half = (thread.label.length * LETTER) / 2 + 2;
    const free = ([x, y]) => taken.every(([a, b, other]) => Math.abs(x - a) > half + other || Math.abs(y - b) > LINE);
    const place = [0.5, 0.36, 0.64, 0.25, 0.75].map(middle).find(free);
    if (!place) continue;
    taken.push([...place, half]);
    labels.push(svgPart("text", { class: "label", x: place[0], y: place[1] }, thread.label));
  }
  return labels;
}

function dotOf(view, dot) {
  const [x, y] = view.places.get(dot.id);
  const r = Math.min(3 + 7 * Math.sqrt(dot.worth), 0.4 * view.high, 0.3 * view.wide);
  const square = dot.kind === "feed_forward";
  const body = square
    ? svgPart("rect", { class: "body", x: x - 0.8 * r, y: y - 0.8 * r, width: 1.6 * r, height: 1.6 * r })
    : svgPart("circle", { class: "body", cx: x, cy: y, r });
  const reach = svgPart("circle", { class: "reach", cx: x, cy: y, r: Math.max(r, 6) });
  const group = svgPart("g", { class: "dot", "data-worth": dot.worth, "data-x": x, "data-y": y });
  group.append(body, svgPart("circle", { class: "ring", cx: x, cy: y, r: r + 4 }), reach);
  chooses(group, view, dot);
  hears(group, view, dot);
  return group;
}

const answerDot = ({ dots }) => dots.find(({ kind }) => kind === "prediction");

function answerOf({ data, places, width }) {
  const [x, y] = places.get(answerDot(data).id);
  const half = (data.answer.length * 8.4) / 2 + 4;
  const center = Math.max(half, Math.min(width - half, x));
  return svgPart("text", { class: "answer", x: center, y: y - 13 }, data.answer);
}

function chooses(group, { data, pick }, { id, words }) {
  const button = { role: "button", tabindex: -1, "aria-label": words, "aria-pressed": id === data.chosen };
  for (const [name, value] of Object.entries(button)) group.setAttribute(name, value);
  group.dataset.id = id;
  group.onclick = () => pick(id);
}

function hears(group, { readout }, { words }) {
  const tell = () => say(readout, words);
  group.onpointerenter = tell;
  group.onfocus = tell;
  group.onpointerleave = () => say(readout, "");
}

// One stop of Tab for the nodes and one for the edges; arrows reach the nearest node that way, or the next edge.
function moves(svg) {
  const dots = [...svg.querySelectorAll("g.dot")];
  const edges = [...svg.querySelectorAll("g.thread-of[data-id]")].reverse();
  for (const group of [dots, edges]) {
    const first = group.find((one) => one.getAttribute("aria-pressed") === "true") ?? group[0];
    first?.setAttribute("tabindex", 0);
  }
  svg.onkeydown = (event) => {
    const at = event.target.closest("[data-id]");
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (at && (event.key === "Enter" || event.key === " ")) {
      take(event);
      at.onclick();
    }
    if (!at || !way) return;
    take(event);
    const next = dots.includes(at) ? nearest(at, dots, way) : edges[edges.indexOf(at) + way[0] + way[1]];
    if (!next) return;
    at.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  };
}

function nearest(from, dots, [right, down]) {
  const place = ({ dataset }) => [Number(dataset.x), Number(dataset.y)];
  const [x, y] = place(from);
  const far = (one) => {
    const [dx, dy] = [place(one)[0] - x, place(one)[1] - y];
    const along = dx * right + dy * down;
    return along < 1 ? Infinity : along + 3 * Math.abs(right ? dy : dx);
  };
  const best = dots.reduce((least, one) => (far(one) < far(least) ? one : least), from);
  return best === from || far(best) === Infinity ? null : best;
}

function legend({ kinds, colours, threads }) {
  const there = ["residual", "feed_forward"].filter((kind) => threads.some((thread) => thread.kind === kind));
  const items = [...kinds, ...there].map((kind) => {
    const stroke = { stroke: colours[kind] ?? colours.other, "stroke-width": 4, d: "M0 6H30" };
    if (DASHES[kind]) stroke["stroke-dasharray"] = dashes(kind, 4);
    const line = svgPart("svg", { width: 30, height: 12, "aria-hidden": true }, svgPart("path", stroke));
    return part("span", {}, line, NAMES[kind]);
  });
  return part("div", { className: "legend" }, ...items);
}
