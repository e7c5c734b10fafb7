// Draws the cards that ui/figures/head_maps.py makes; a head clicked, or chosen with Enter, goes to Python, or is
// switched at once.
import STYLE from "./head_maps.css";
import { dress, part, redrawWhenMoved, scrollToTarget, svgPart } from "#view/page/elements.js";
import { expose } from "#view/export/figures/expose.js";
import { take } from "#view/page/pointer.js";
import { FONT } from "#view/drawing/type.js";
import { footHeight } from "#view/page/window.js";

// up to so many heads beside each other: width, height
const CELL = [
  [4, 36, 32],
  [8, 34, 30],
  [12, 19, 19],
  [16, 18, 18],
  [Infinity, 15, 17],
];
const NARROW = 480; // px: a telephone
const LEAST = 26; // px, of a head there
const LOW = 21; // px, of one that is enlarged
const SWITCH = [36, 30]; // px, of a head to be switched
const FRAME = 26; // px beside a map's heads: the layers' numbers, the edges
const LIST = 295; // px, of the list of cards and the room beside it
const FEW = 160; // heads of a map; of more each is as small as it must be for all to be seen at once
const MANY_WIDE = 280; // px
const MANY_HIGH = 430;
const APART = 2;
const AROUND_MAP = 48; // px, of its card and the room beside it
const AROUND = 350; // px of the window above and below the maps of the one that is large
const OF_MAP = 45; // px of its name and numbers
const ABOVE = 290; // px above maps that stand beside each other
const OVER = 110; // px on a projector
const OF_CARD = 130; // px of a card's title, numbers and scale
const OF_TOKENS = 90; // px, turned
const WIDEST = 72; // px, of a head that has all the room
const HIGHEST = 56;
const TALLEST = 84; // of one beside which nothing is listed
const NUMBERED = 8; // heads beside each other; of more the pointer says the numbers

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".head-maps");
  dress(root, STYLE);
  const pick = (head) => {
    setTriggerValue("pick", head);
    if (data.target) scrollToTarget(data.target);
  };
  const switches = isSwitched(data);
  if (switches) hear(root, data);
  const change = (head) => {
    switchHead(root, head);
    setTriggerValue("switch", { heads: [...root.switched], sent: root.sent });
    root.redraw();
  };
  root.redraw = () =>
    switches ? draw(root, { ...data, crossed: [...root.switched] }, change) : draw(root, data, pick);
  redrawWhenMoved(root, () => window.innerHeight);
  root.redraw();
}

const isSwitched = ({ answered }) => answered !== undefined;

// What was pressed here since Python last answered counts more than its answer.
function hear(root, data) {
  if (!(data.answered >= root.heard)) root.sent = data.answered; // at first, and in a new session
  root.heard = data.answered;
  if (data.answered >= root.sent) root.switched = new Set(data.crossed);
}

function switchHead(root, { kind, layer, head }) {
  const place = `${kind}:${layer}:${head}`;
  if (!root.switched.delete(place)) root.switched.add(place);
  root.sent += 1;
}

function draw(root, data, pick) {
  const focused = root.getRootNode().activeElement?.dataset?.at;
  const most = Math.max(...data.cards.map(({ maps }) => maps[0].shades[0].length));
  const layers = Math.max(...data.cards.map(({ maps }) => maps[0].shades.length));
  const [width, height] = sizeOf(root, data, most, layers);
  describe(root, data, most, width);
  const view = { data, width, height, numbered: most <= NUMBERED, pick };
  expose(root, "heads", async () => [["heads.svg", fileOf(view)]]);
  root.classList.toggle("listed", data.listed);
  const large = data.listed ? data.cards.filter(({ name }) => name === data.chosenCard) : data.cards;
  const list = data.listed ? [listOf(view)] : [];
  root.replaceChildren(...list, ...large.map((card) => cardOf(view, card)), foot(view));
  if (!focused) return;
  const cell = [...root.querySelectorAll("[data-at]")].find((one) => one.dataset.at === focused);
  if (!cell) return;
  for (const one of cell.parentElement.children) if (one.tabIndex === 0) one.tabIndex = -1; // one stop of a map
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
}

// The width and the height of a head.
function sizeOf(root, data, most, layers) {
  const enlarged = (root.currentCSSZoom ?? 1) > 1; // for a projector, where low heads are high enough
  if (isSwitched(data)) {
    const width = switchWidth(root, data, most);
    // on a projector there have to be all switches and both texts
    return enlarged ? [width, LOW] : spread(root, data, most, layers, [width, SWITCH[1]]);
  }
  const large = grown(root, data, most, layers);
  if (large) return large;
  const [, wide, high] = /** @type {number[]} */ (CELL.find(([upTo]) => most <= upTo));
  if (most * layers > FEW)
    return [beside(root, data, most, fitting(MANY_WIDE, most, wide)), fitting(MANY_HIGH, layers, high)];
  const usual = [narrowed(root, data, most, wide), enlarged ? Math.min(high, LOW) : high];
  return data.listed ? usual : spread(root, data, most, layers, usual);
}

// Few heads take the room that their cards and the window have.
function spread(root, { cards, columns }, most, layers, /** @type {number[]} */ [width, height]) {
  const { clientWidth, currentCSSZoom: zoom = 1 } = root;
  const room = clientWidth * zoom;
  if (most > NUMBERED || (zoom === 1 && room <= NARROW)) return [width, height];
  const usual = zoom > 1 ? usualZoom() : 1; // not as much as it is now, which follows from its size
  const maps = cards[0].maps.length;
  const wide = (across) => fitting(room / usual / across / maps - FRAME - AROUND_MAP, most, WIDEST);
  let across = Math.min(columns, cards.length);
  while (across > 1 && wide(across) < LEAST) across -= 1;
  const down = Math.ceil(cards.length / across);
  const ofCard = OF_CARD + (cards[0].tokens ? OF_TOKENS : 0);
  const screen = window.innerHeight - footHeight();
  const free = (screen - (zoom > 1 ? OVER : ABOVE)) / usual - down * ofCard;
  const wider = Math.max(LEAST, wide(across));
  return [wider, Math.max(height, fitting(free / down, layers, Math.min(TALLEST, 2 * wider)))];
}

// How much figures of this window are enlarged (shell/presenter.js).
const usualZoom = () => Number(document.documentElement.style.getPropertyValue("--enlarged")) || 1;

// Beside a list, few heads take the room that there is.
function grown(root, { cards, listed }, most, layers) {
  if (!listed || most > NUMBERED) return null;
  const { clientWidth: room, currentCSSZoom: zoom = 1 } = root;
  if (zoom > 1) return [fitting(room - FRAME - AROUND_MAP, most, WIDEST), LOW];
  if (room <= NARROW) return null;
  const maps = cards[0].maps.length;
  const free = window.innerHeight - footHeight() - AROUND - maps * OF_MAP;
  return [fitting(room - LIST - FRAME, most, WIDEST), Math.max(LEAST, fitting(free, layers * maps, HIGHEST))];
}

// As many kinds beside each other as leave switches that can be touched; of many heads some are reached by scrolling.
function switchWidth(root, { cards }, most) {
  const room = root.clientWidth;
  const around = FRAME + (room > NARROW ? AROUND_MAP : AROUND_MAP / 2);
  for (let beside = cards.length; beside > 0; beside--) {
    const width = fitting(room / beside - around, most, SWITCH[0]);
    if (width >= LEAST) return width;
  }
  return LEAST;
}

// The size of a head where so many stand beside or below each other.
const fitting = (room, count, most) => Math.max(3, Math.min(most, Math.floor(room / count) - APART));

function describe(root, data, most, width) {
  const wide = data.cards.some(({ maps }) => maps.length > 1) ? 2 : 1;
  const edges = root.clientWidth > NARROW ? 28 : 10;
  const card = Math.min(wide * (most * (width + 2) + 24) + (wide - 1) * 20 + edges, 620);
  root.style.setProperty("--columns", data.columns);
  root.style.setProperty("--card", `${card}px`);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", data.alt);
}

// On a telephone two maps stand beside each other where they can.
function narrowed(root, { cards, listed, columns }, most, wide) {
  const beside = listed ? cards[0].maps.length : Math.min(columns, cards.length);
  const room = root.clientWidth;
  if (!room || room > NARROW || beside !== 2) return wide;
  return Math.max(LEAST, Math.min(wide, Math.floor(((room - 30) / 2 - FRAME) / most) - 2));
}

// Two maps of many heads stand beside each other, in the room that the list of cards leaves.
function beside(root, { cards, listed }, most, wide) {
  const maps = cards[0].maps.length;
  const room = root.clientWidth;
  if (!listed || maps < 2 || !room) return wide;
  const left = room > NARROW ? room - LIST : room;
  return Math.max(3, Math.min(wide, Math.floor(((left - 30) / maps - FRAME) / most) - APART));
}

function foot(view) {
  const { source, origin } = view.data;
  const across = view.data.cards[0].tokens ? "tokens" : "heads";
  const words = part("span", { textContent: `Layers down, ${across} across: ${source}`, title: origin });
  return part("div", { className: "foot" }, words);
}

const fileOf = (view) => new Blob([picture(view)], { type: "image/svg+xml" });

// One card: a map or two of every head, and its scale.

const NAME = 14; // px that a number takes

function cardOf(view, card) {
  const { data } = view;
  const title = part("h2", { textContent: card.title });
  const unit = card.unit ? [part("p", { className: "unit", textContent: card.unit })] : [];
  const maps = part("div", { className: "maps" }, ...card.maps.map((map, i) => mapOf(view, card, map, i)));
  const scale = card.scale.low ? [scaleOf(data, card)] : [];
  const box = part("section", { className: "card" }, title, ...unit, maps, ...scale);
  Object.assign(box.dataset, { card: card.name, kind: card.kind });
  box.classList.toggle("chosen", card.name === data.chosenCard);
  return box;
}

function mapOf(view, card, map, number) {
  const heads = map.shades[0].length;
  const grid = part("div", { className: "grid", role: "group", ariaLabel: `${card.title} ${map.caption}` });
  grid.style.gridTemplateColumns = `auto repeat(${heads}, ${view.width}px)`;
  grid.style.gridAutoRows = `${view.height}px`;
  grid.style.gridTemplateRows = card.tokens ? "auto" : "1.2rem";
  grid.classList.toggle("small", Math.min(view.width, view.height) < NAME);
  const word = (textContent, className = "") => part("span", { className, textContent });
  const named = (at, size) => (at % Math.ceil(NAME / (size + 2)) ? "" : `${at}`); // not all where these are small
  const slim = card.tokens?.every(({ length }) => length < 3);
  const across = card.tokens?.map((token) => word(token, slim ? "" : "token"));
  const numbers = () => Array.from({ length: heads }, (_, head) => word(named(head, view.width)));
  grid.append(word("", "down"), ...(across ?? numbers()));
  const cells = [];
  map.shades.forEach((row, layer) => {
    const ofLayer = row.map((_, head) => cellOf(view, card, map, { number, layer, head }));
    grid.append(word(named(layer, view.height), "down"), ...ofLayer);
    cells.push(...ofLayer);
  });
  (cells.find((cell) => cell.classList.contains("chosen")) ?? cells[0]).tabIndex = 0; // the arrows reach the others
  grid.onkeydown = (event) => moveFocus(event, cells, heads);
  const caption = map.caption ? [part("div", { className: "caption", textContent: map.caption })] : [];
  return part("div", { className: "map" }, ...caption, grid);
}

function cellOf({ data, numbered, pick }, card, map, { number, layer, head }) {
  const shade = map.shades[layer][head];
  const words = map.texts[layer][head];
  const hint = map.hints?.[layer][head] ?? `${card.kind}, layer ${layer}, head ${head}, ${map.caption}: ${words}`;
  const scale = card.scale.diverging ? "diverging" : "ramp";
  const place = `${card.kind}:${layer}:${head}`;
  const chosen = place === data.chosen?.join(":");
  const crossed = data.crossed.includes(place);
  const cell = part("button", { type: "button", title: hint, tabIndex: -1, ariaPressed: chosen || crossed });
  Object.assign(cell.dataset, { kind: card.kind, layer, head, at: `${card.name}/${number}/${place}` });
  if (numbered) cell.textContent = words;
  cell.ariaLabel = numbered && words ? `${words}: ${hint}` : hint; // what is seen is in the name: it can be asked for
  if (shade >= 0) Object.assign(cell.style, { background: data[scale][shade], color: data.inks[scale][shade] });
  cell.classList.toggle("none", shade < 0);
  cell.classList.toggle("long", words.length > 4);
  cell.classList.toggle("faint", Boolean(map.faint?.[layer][head]));
  cell.classList.toggle("chosen", chosen);
  cell.classList.toggle("crossed", crossed);
  cell.onclick = () => pick({ card: card.name, kind: card.kind, layer, head });
  return cell;
}

function moveFocus(event, cells, heads) {
  const at = cells.indexOf(event.target);
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key];
  if (!step || at < 0) return;
  take(event);
  const next = cells[at + step];
  const inRow = Math.floor(at / heads) === Math.floor((at + step) / heads);
  if (!next || (Math.abs(step) === 1 && !inRow)) return;
  cells[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function scaleOf(data, { scale }) {
  const bar = part("div", { className: "bar" });
  const marks = part("div", { className: "mark" });
  const shades = data[scale.diverging ? "diverging" : "ramp"].filter((_, i) => i % 8 === 0);
  bar.style.background = `linear-gradient(to right, ${shades.join(",")})`;
  for (const { at, text } of scale.marks) {
    const tick = part("i");
    const word = part("span", { textContent: text });
    tick.style.left = `${100 * at}%`;
    if (at > 0.6) word.style.right = `${100 - 100 * at}%`;
    else word.style.left = `${100 * at}%`;
    bar.append(tick);
    marks.append(word);
  }
  const ends = [scale.low, scale.high].map((textContent) => part("span", { textContent }));
  return part("div", { className: "scale" }, ends[0], bar, ends[1], ...(scale.marks.length ? [marks] : []));
}

// The list of all measures beside the one that is large: each its name and a small picture of its map.

// A choice goes to Python as a click on the head that the measure is largest of.
function listOf(view) {
  const { data } = view;
  const items = data.cards.map((card) => itemOf(view, card));
  const list = part("div", { className: "list", role: "radiogroup", ariaLabel: "Measure" }, ...items);
  const chosen = items.find((item) => item.ariaChecked === "true") ?? items[0];
  chosen.tabIndex = 0;
  list.onkeydown = (event) => {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    const next = step && items[items.indexOf(event.target) + step];
    if (!step) return;
    take(event);
    next?.focus();
  };
  showInList(list, chosen);
  return list;
}

function itemOf({ data, pick }, card) {
  const { name, kind, title, most } = card;
  const chosen = name === data.chosenCard;
  const words = part("span", { textContent: title });
  const item = part(
    "button",
    { type: "button", role: "radio", title: card.unit, tabIndex: -1 },
    thumb(data, card),
    words,
  );
  item.ariaChecked = String(chosen);
  item.classList.toggle("chosen", chosen);
  Object.assign(item.dataset, { card: name, at: `list/${name}` });
  item.onclick = () => pick({ card: name, kind, layer: most[0], head: most[1] });
  return item;
}

function thumb(data, { maps: [{ shades }] }) {
  const canvas = part("canvas", { width: shades[0].length, height: shades.length, className: "thumb" });
  canvas.setAttribute("aria-hidden", "true");
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  shades.forEach((row, y) => {
    row.forEach((shade, x) => {
      context.fillStyle = shade < 0 ? "transparent" : data.ramp[shade];
      context.fillRect(x, y, 1, 1);
    });
  });
  return canvas;
}

// Once it is in the page: where the list scrolls, the chosen one is in sight. Nothing else moves.
function showInList(list, item) {
  requestAnimationFrame(() => {
    list.scrollTop = item.offsetTop - (list.clientHeight - item.offsetHeight) / 2;
    list.scrollLeft = item.offsetLeft - (list.clientWidth - item.offsetWidth) / 2;
  });
}

// The same cards as one SVG, below each other.

const GAP = 2; // px between heads

function picture(view) {
  const { data } = view;
  const svg = svgPart("svg");
  const words = (x, y, string, more = {}) => {
    svg.append(svgPart("text", { x, y, fill: data.ink, "font-family": FONT, "font-size": 14, ...more }, string));
  };
  let y = 8;
  let right = 420;
  for (const card of data.cards) {
    const marks = card.scale.marks.map(({ text }) => text);
    words(10, y + 20, card.title, { "font-weight": 650, "font-size": 16 });
    words(10, y + 39, [card.unit, `from ${card.scale.low} to ${card.scale.high}`, ...marks].join(" · "));
    y += 39 + tall(card);
    let x = 30;
    for (const map of card.maps) {
      paintMap({ ...view, svg, words }, card, map, x, y);
      x += map.shades[0].length * (view.width + GAP) + 40;
    }
    right = Math.max(right, x);
    y += 54 + card.maps[0].shades.length * (view.height + GAP);
  }
  words(10, y + 16, data.origin);
  const bottom = y + 30;
  svg.prepend(svgPart("rect", { width: right, height: bottom, fill: data.paper }));
  const size = { viewBox: `0 0 ${right} ${bottom}`, width: right, height: bottom };
  for (const [name, value] of Object.entries(size)) svg.setAttribute(name, String(value));
  return new XMLSerializer().serializeToString(svg);
}

// px above a map that tokens need, which stand at a slant
const tall = ({ tokens }) => (tokens ? 7 * Math.min(14, Math.max(...tokens.map(({ length }) => length))) : 0);

function paintMap({ data, width, height, numbered, svg, words }, card, map, x, y) {
  const scale = card.scale.diverging ? "diverging" : "ramp";
  const middle = { "text-anchor": "middle" };
  words(x, y + 20, map.caption);
  map.shades[0].forEach((_, head) => {
    const center = x + (head + 0.5) * (width + GAP);
    if (!card.tokens) words(center, y + 38, `${head}`, { ...middle, "font-size": 12 });
    else
      words(0, 0, card.tokens[head], { "font-size": 12, transform: `translate(${center + 4} ${y + 38}) rotate(-60)` });
  });
  map.shades.forEach((row, layer) => {
    const top = y + 44 + layer * (height + GAP);
    words(x - 6, top + height / 2 + 5, `${layer}`, { "text-anchor": "end", "font-size": 12 });
    row.forEach((shade, head) => {
      const left = x + head * (width + GAP);
      const edge = map.faint?.[layer][head]
        ? { "stroke-opacity": 0.7, "stroke-dasharray": "4 3" }
        : { "stroke-opacity": 0.25 };
      const fill = shade < 0 ? "none" : data[scale][shade];
      svg.append(svgPart("rect", { x: left, y: top, width, height, rx: 3, fill, stroke: data.ink, ...edge }));
      if (!numbered || shade < 0) return;
      const options = { ...middle, fill: data.inks[scale][shade] };
      words(left + width / 2, top + height / 2 + 5, map.texts[layer][head], options);
    });
  });
}
