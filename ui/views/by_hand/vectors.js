// One query and its keys as arrows that can be dragged, with the weights that follow and the value that is mixed of
// them. Everything is computed here; where the arrows are goes to Python when one is let go, for the link.
// `view` holds what was sent, where everything is now, and the parts that change.
import STYLE from "./vectors.css";
import { dress, part, redrawWhenMoved, svgPart } from "#view/page/elements.js";
import { take, withModifier } from "#view/page/pointer.js";
import { footHeight, topOnPage } from "#view/page/window.js";
import { placed } from "./vectors/place_names.js";
import { cosine, lengthOf, mixed, movedText, product, weighed } from "./vectors/weigh.js";

const TALL = 400; // px, of the picture at most
const LOW = 230; // and at least
const NARROW = 520; // px; the numbers are below the picture there
const SLIM = 350; // px; what is carried has no bar there
const SHARE = 0.46; // of the width, for the picture, where they are beside it
const ROOM = 1.12; // of the plane, beyond the longest arrow
const BEHIND = 0.4; // of that on the other side, at least: arrows are dragged there
const REACH = 24; // px, around the tip of an arrow that a finger can take
const STEP = 1 / 40; // of the plane, for an arrow key; with Shift five of them
const HEAD = 11; // px, of an arrow's tip
const THIN = 1.5; // px, of an arrow without weight; THICK more with all of it
const THICK = 7;
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const ENDS = new Set([...Object.keys(WAYS), "Home", "End"]);
const OWN = "The model's own numbers. Drag the tip of an arrow.";
const NOT_OWN = "Changed by hand: no longer what the model computes.";

export default function component({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".vectors");
  dress(root, STYLE);
  if (root.view?.data.name === data.name) {
    takeBack(root.view, data); // and no part is made anew under the reader's finger
    root.view.setState = setStateValue;
    return;
  }
  root.view = begun(root, data);
  root.view.setState = setStateValue;
  root.redraw = () => build(root.view);
  redrawWhenMoved(root, () => topOnPage(root));
  root.redraw();
}

function begun(root, data) {
  const view = { root, data, sent: [], chosen: data.keys[0].id };
  adopt(view, data);
  return view;
}

// An echo of what was sent from here changes nothing: the reader may have dragged on since.
function takeBack(view, data) {
  view.data = data;
  const echo = view.sent.indexOf(signature(data));
  if (echo >= 0) view.sent.splice(0, echo + 1);
  else if (!view.sent.length) {
    adopt(view, data);
    update(view);
  }
}

function adopt(view, data) {
  view.places = new Map([data.query, ...data.keys].map(({ id, place }) => [id, data.moved[id] ?? place]));
  view.temperature = data.temperature;
}

const signature = ({ moved, temperature }) =>
  [...Object.entries(moved).map(([id, place]) => [id, ...place].join(":")), temperature].join(",");

function send(view) {
  const moved = movedText(view.data, view.places);
  const temperature = String(view.temperature);
  const message = `${moved}${moved ? "," : ""}${temperature}`;
  if (view.sent.at(-1) === message) return;
  view.sent.push(message);
  view.setState("dragged", { moved, temperature });
}

// The parts, made anew when there is another width.

function build(view) {
  const { root } = view;
  const focused = root.getRootNode().activeElement?.dataset?.id;
  measure(view);
  const svg = picture(view);
  const side = part("div", { className: "side" }, told(view), table(view), heat(view), foot(view));
  root.replaceChildren(svg, side);
  root.classList.toggle("narrow", view.narrow);
  root.classList.toggle("slim", view.narrow && view.width < SLIM);
  update(view);
  [...root.querySelectorAll("[data-id]")].find(({ dataset }) => dataset.id === focused)?.focus({ preventScroll: true });
  root.dataset.drawn = "";
}

const shown = ({ data }) => data.keys.slice(0, data.drawn);

function measure(view) {
  const { root, data } = view;
  const zoom = root.currentCSSZoom ?? 1;
  const all = Math.max(240, root.clientWidth);
  view.narrow = all < NARROW;
  view.width = view.narrow ? all : Math.round(SHARE * all);
  const large = zoom > 1; // presented
  root.classList.toggle("large", large);
  const above = Math.max(large ? 8 : 120, topOnPage(root)) / zoom;
  const free = (innerHeight - footHeight() - 12) / zoom - above;
  view.height = Math.max(LOW, Math.min(view.narrow ? 0.8 * all : TALL, free));
  const [[left, right], [down, up]] = [0, 1].map((axis) =>
    sides([data.query, ...shown(view)].map(({ place }) => place[axis])),
  );
  view.scale = Math.min(view.width / (left + right), (view.height - 28) / (down + up));
  const middle = (far, behind, size) => size / 2 + (view.scale * (behind - far)) / 2;
  view.origin = [middle(right, left, view.width), middle(down, up, view.height)];
  view.room = [
    [-view.origin[0], view.width - view.origin[0]],
    [view.origin[1] - view.height, view.origin[1]],
  ].map((range) => range.map((far) => (0.97 * far) / view.scale));
}

// How far the plane goes below and above zero.
function sides(numbers) {
  const most = ROOM * Math.max(1e-6, ...numbers.map(Math.abs));
  const reach = (sign) => Math.max(BEHIND * most, ...numbers.map((number) => ROOM * sign * number));
  return [reach(-1), reach(1)];
}

const onScreen = ({ origin, scale }, [x, y]) => [origin[0] + scale * x, origin[1] - scale * y];

const inPlane = ({ origin, scale }, [x, y]) => [(x - origin[0]) / scale, (origin[1] - y) / scale];

function picture(view) {
  const { data, width, height } = view;
  const [x, y] = view.origin;
  const words = `The query ${data.query.label} and ${shown(view).length} keys as arrows from one point`;
  const svg = svgPart("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": words });
  svg.append(
    svgPart("path", { class: "axis", d: `M0 ${y}H${width}M${x} 0V${height}` }),
    (view.along = svgPart("path", { class: "along" })),
    (view.drop = svgPart("path", { class: "drop" })),
  );
  view.arrows = new Map([...shown(view)].reverse().map((key) => [key.id, arrow(view, key, "key")]));
  view.arrows.set("q", arrow(view, data.query, "query"));
  svg.append(...[...view.arrows.values()].map(({ group }) => group));
  listen(view, svg);
  return svg;
}

function arrow(view, { id, label }, name) {
  const group = svgPart("g", { class: `arrow ${name}`, role: "button", tabindex: 0 });
  group.dataset.id = id;
  const line = svgPart("path", { class: "line" });
  const head = svgPart("path", { class: "head" });
  const words = svgPart("text", {}, name === "query" ? `q: ${label}` : label);
  const reach = svgPart("circle", { class: "reach", r: REACH });
  group.append(line, head, words, svgPart("circle", { class: "ring", r: 13 }), reach);
  group.onfocus = () => choose(view, id);
  return { group, line, head, words, dots: [...group.querySelectorAll("circle")] };
}

function listen(view, svg) {
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const by = view.width / box.width;
    return [(event.clientX - box.left) * by, (event.clientY - box.top) * by];
  };
  /** @type {{id: string, off: number[]} | null} */
  let held = null;
  svg.onpointerdown = (event) => {
    const group = event.target.closest("[data-id]");
    if (!group || event.button) return;
    const [x, y] = at(event);
    const id = nearest(view, [x, y]) ?? group.dataset.id;
    const [tipX, tipY] = onScreen(view, view.places.get(id));
    held = { id, off: [tipX - x, tipY - y] };
    svg.setPointerCapture(event.pointerId);
    view.arrows.get(id).group.focus({ preventScroll: true });
    event.preventDefault();
  };
  svg.onpointermove = (event) => {
    if (!held) return;
    const { id, off } = held;
    const [x, y] = at(event).map((number, axis) => number + off[axis]);
    move(view, id, inPlane(view, [x, y]));
  };
  const release = () => {
    if (held) send(view);
    held = null;
  };
  svg.onpointerup = release;
  svg.onpointercancel = release;
  // a finger on an arrow drags it, beside one it scrolls the page
  svg.addEventListener("touchstart", (event) => event.target.closest("[data-id]") && event.preventDefault(), {
    passive: false,
  });
  svg.onkeydown = (event) => {
    const id = event.target.closest("[data-id]")?.dataset.id;
    const way = WAYS[event.key];
    if (!id || !way || withModifier(event)) return;
    take(event);
    const far = (event.shiftKey ? 5 : 1) * STEP * Math.max(...view.room.flat());
    move(
      view,
      id,
      view.places.get(id).map((number, axis) => number + far * way[axis]),
    );
  };
  svg.onkeyup = (event) => {
    if (event.key in WAYS && event.target.closest("[data-id]")) send(view);
  };
}

// Where the reach of several arrows overlaps, the one whose tip is nearest is meant.
function nearest(view, [x, y]) {
  const far = (id) => Math.hypot(...onScreen(view, view.places.get(id)).map((tip, axis) => tip - [x, y][axis]));
  const ids = [...view.arrows.keys()].filter((id) => far(id) <= REACH).sort((a, b) => far(a) - far(b));
  return ids[0];
}

function move(view, id, place) {
  const inside = place.map((number, axis) => Math.max(view.room[axis][0], Math.min(number, view.room[axis][1])));
  const short = inside.map((number) => Number(number.toPrecision(4)));
  view.places.set(id, short);
  if (id !== "q") view.chosen = id;
  update(view);
}

function choose(view, id) {
  if (id !== "q") view.chosen = id;
  update(view);
}

// Beside the picture: the chosen product in numbers, a row a key, the temperature.

const told = (view) => (view.told = part("p", { className: "told" }));

function table(view) {
  const { data } = view;
  const heads = ["key", `q · k / ${data.divided_by}`, "weight", "weight × |v|"];
  const columns = heads.map((textContent) => part("th", { scope: "col", textContent }));
  columns[3].title = "How much of each key's value is added to the sum";
  view.lines = new Map();
  const rows = shown(view).map(({ id, label }) => lineOf(view, id, label));
  const rest = data.keys.length - data.drawn;
  if (rest > 0) {
    const others = lineOf(view, "others", `${rest} more`);
    rows.push(others);
    others.title = data.keys
      .slice(data.drawn)
      .map(({ label }) => label)
      .join(", ");
  }
  const head = part("thead", {}, part("tr", {}, ...columns));
  const drawn = part("table", {}, head, part("tbody", {}, ...rows));
  drawn.dataset.part = "shares"; // a lesson scrolls to it
  return drawn;
}

function lineOf(view, id, label) {
  const score = part("td", { className: "score" });
  const fill = part("span", { className: "fill" });
  const percent = part("span", { className: "percent" });
  const carried = part("span", { className: "fill carried" });
  const size = part("span", { className: "percent" });
  const weight = part("td", { className: "bar" }, part("span", { className: "track" }, fill), percent);
  const value = part("td", { className: "bar" }, part("span", { className: "track" }, carried), size);
  const row = part("tr", {}, part("th", { scope: "row", textContent: label }), score, weight, value);
  row.dataset.key = id;
  if (id !== "others") row.onclick = () => choose(view, id);
  view.lines.set(id, { row, score, fill, percent, carried, size });
  return row;
}

function heat(view) {
  view.strip = part("canvas", { className: "strip", ariaHidden: "true" });
  view.sum = part("p", { className: "sum" });
  const mix = part("div", { className: "mix" }, view.sum, view.strip);
  mix.dataset.part = "carried";
  return mix;
}

function foot(view) {
  const { data } = view;
  const [low, high] = [Math.log10(data.coldest), Math.log10(data.hottest)];
  view.slider = part("input", { type: "range", min: low, max: high, step: 0.05, ariaLabel: "Temperature" });
  view.degrees = part("output", {});
  view.slider.oninput = () => {
    view.temperature = Number((10 ** Number(view.slider.value)).toPrecision(3));
    update(view);
  };
  view.slider.onchange = () => send(view);
  view.slider.onkeydown = (event) => {
    if (ENDS.has(event.key)) event.stopPropagation(); // the page has them too
  };
  view.back = part("button", { type: "button", textContent: "Put all back" });
  view.back.onclick = () => {
    view.places = new Map([data.query, ...data.keys].map(({ id, place }) => [id, place]));
    view.temperature = 1;
    update(view);
    send(view);
  };
  view.status = part("p", { className: "status", role: "status" });
  const turned = part("label", {}, part("span", { textContent: "Temperature" }), view.slider, view.degrees);
  turned.dataset.part = "temperature";
  return part("div", { className: "foot" }, turned, view.back, view.status);
}

// What follows from where the arrows are.

function update(view) {
  const { data, places, temperature } = view;
  const rows = weighed(data, places, temperature);
  const own = new Map(rows.map((row) => [row.id, row]));
  for (const [id, one] of view.arrows) draw(view, id, one, own.get(id)?.weight ?? 0);
  nameArrows(view);
  drawProduct(view);
  tell(view, own.get(view.chosen));
  const longest = Math.max(...data.keys.map(({ value }) => lengthOf(value)), 1e-9);
  for (const { id } of shown(view)) fillLine(view, view.lines.get(id), own.get(id), longest);
  const rest = rows.slice(data.drawn);
  if (rest.length) {
    const sum = (of) => rest.reduce((all, row) => all + row[of], 0);
    fillLine(view, view.lines.get("others"), { weight: sum("weight"), carried: sum("carried") }, longest);
  }
  drawMix(view, rows);
  view.slider.value = Math.log10(temperature);
  view.degrees.textContent = decimals(temperature, temperature < 1 ? 2 : 1);
  view.slider.setAttribute("aria-valuetext", view.degrees.textContent);
  const changed = temperature !== 1 || movedText(data, places) !== "";
  view.status.textContent = changed ? NOT_OWN : OWN;
  view.root.classList.toggle("changed", changed);
  view.back.disabled = !changed;
}

const decimals = (number, count = 2) =>
  number
    .toFixed(count)
    .replace("-", "−")
    .replace(/^−(0\.?0*)$/, "$1");

function draw(view, id, { group, line, head, dots }, weight) {
  const from = onScreen(view, [0, 0]);
  const to = onScreen(view, view.places.get(id));
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const far = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / far, dy / far];
  const tip = Math.min(HEAD, far);
  const [bx, by] = [to[0] - tip * ux, to[1] - tip * uy];
  line.setAttribute("d", `M${from}L${[bx, by]}`);
  line.setAttribute("stroke-width", id === "q" ? 4 : THIN + THICK * weight);
  const side = 0.55 * tip + (id === "q" ? 2 : 0.4 * THICK * weight);
  head.setAttribute("d", `M${to}L${[bx - side * uy, by + side * ux]}L${[bx + side * uy, by - side * ux]}Z`);
  for (const dot of dots) {
    dot.setAttribute("cx", to[0]);
    dot.setAttribute("cy", to[1]);
  }
  group.dataset.chosen = String(id === view.chosen);
  group.setAttribute("aria-label", spoken(view, id, weight));
}

function nameArrows(view) {
  const from = onScreen(view, [0, 0]);
  const arrows = [...view.arrows].reverse().map(([id, { words }]) => {
    const half = 2 + (words.getComputedTextLength() || 8.4 * words.textContent.length) / 2;
    return { id, from, tip: onScreen(view, view.places.get(id)), half };
  });
  for (const [id, [x, y]] of placed(arrows, view)) {
    const { words } = view.arrows.get(id);
    words.setAttribute("x", x);
    words.setAttribute("y", y);
  }
}

function spoken(view, id, weight) {
  const { label } = id === "q" ? view.data.query : view.data.keys.find((key) => key.id === id);
  const [x, y] = view.places.get(id).map((number) => decimals(number, 1));
  const what = id === "q" ? `q: ${label}, the query` : `${label}, a key, weight ${decimals(100 * weight, 0)} percent`;
  return `${what}, at ${x}, ${y}; move with the arrow keys`;
}

// The chosen key's shadow on the query's line: its length times that of the query is the product.
function drawProduct(view) {
  const q = view.places.get("q");
  const k = view.places.get(view.chosen);
  const size = product(q, q);
  const foot = size ? q.map((number) => (number * product(q, k)) / size) : [0, 0];
  const [origin, onLine, tip] = [[0, 0], foot, k].map((place) => onScreen(view, place));
  view.along.setAttribute("d", `M${origin}L${onLine}`);
  view.along.classList.toggle("against", product(q, k) < 0);
  view.drop.setAttribute("d", `M${tip}L${onLine}`);
}

function tell(view, row) {
  const { data, places } = view;
  const { label, bias } = data.keys.find(({ id }) => id === view.chosen);
  const [a, b] = places.get("q").map((number) => decimals(number));
  const [x, y] = places.get(view.chosen).map((number) => decimals(number));
  const capped = data.cap ? ", capped" : "";
  const turned = view.temperature === 1 ? "" : ` ÷ ${decimals(view.temperature, view.temperature < 1 ? 2 : 1)}`;
  const added = bias ? `, ${bias < 0 ? "−" : "+"} ${decimals(Math.abs(bias))} for its position` : "";
  const line = (className, textContent) => part("span", { className, textContent });
  view.told.replaceChildren(
    line("sum-of", `“${data.query.label}” · “${label}” = ${a} × ${x} + ${bracketed(b)} × ${bracketed(y)} = `),
    line("result", decimals(row.product)),
    line(
      "then",
      ` ÷ ${data.divided_by}${added}${capped} = ${decimals(row.score)}${turned} → softmax → ${percents(row.weight)}`,
    ),
  );
}

const percents = (weight) =>
  weight > 0 && weight < 0.0005 ? "<0.1%" : `${decimals(100 * weight, weight < 0.1 ? 1 : 0)}%`;

const bracketed = (number) => (number.startsWith("−") ? `(${number})` : number);

/**
 * @param {any} view
 * @param {any} line
 * @param {{id?: string, score?: number, weight: number, carried: number}} row
 * @param {number} longest
 */
function fillLine(
  view,
  { row, score, fill, percent, carried, size },
  { id, score: number, weight, carried: far },
  longest,
) {
  row.classList.toggle("chosen", id === view.chosen);
  score.textContent = number === undefined ? "" : decimals(number);
  fill.style.width = `${100 * weight}%`;
  percent.textContent = percents(weight);
  carried.style.width = `${(100 * far) / longest}%`;
  size.textContent = decimals(far, 1);
}

// The mixed value as a strip of colour, blue above zero and red below, one column a number.
function drawMix(view, rows) {
  const { data, strip } = view;
  const sum = mixed(rows);
  const own = mixed(data.keys); // whose weights are the model's
  const scale = Math.max(...data.keys.flatMap(({ value }) => value.map(Math.abs)), 1e-9);
  [strip.width, strip.height] = [sum.length, 1];
  const pen = strip.getContext("2d");
  for (const [at, number] of sum.entries()) {
    pen.globalAlpha = Math.min(1, Math.abs(number) / scale);
    pen.fillStyle = number < 0 ? data.negative : data.bar;
    pen.fillRect(at, 0, 1, 1);
  }
  const alike = cosine(sum, own);
  const same = alike > 0.9995 ? "" : `; cosine with the model's own: ${decimals(alike)}`;
  const long = `length ${decimals(lengthOf(sum), 1)}`;
  view.sum.textContent = `Carried on: the sum, a vector of ${sum.length} numbers, ${long}${same}`;
}
