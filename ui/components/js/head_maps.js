// Draws the cards that ui/figures/head_maps.py makes; a head clicked, or chosen with Enter, goes to Python.
import STYLE from "./head_maps.css";
import { expose } from "#view/figures/expose.js";
import { dress, keepFile, part, redrawWhenMoved, scrollToTarget } from "#view/elements.js";
import { cardOf } from "./head_maps/card.js";
import { listOf } from "./head_maps/list.js";
import { picture } from "./head_maps/picture.js";

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
const FRAME = 26; // px beside a map's heads: the layers' numbers, the edges
const LIST = 295; // px, of the list of cards and the room beside it
const FEW = 160; // heads of a map; of more each is as small as it must be for all to be seen at once
const MANY_WIDE = 280; // px
const MANY_HIGH = 430;
const APART = 2;
const NUMBERED = 8; // heads beside each other; of more the pointer says the numbers

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".head-maps");
  dress(root, STYLE);
  const pick = (head) => {
    setTriggerValue("pick", head);
    if (data.target) scrollToTarget(`st-key-${data.target}`);
  };
  root.redraw = () => draw(root, data, pick);
  redrawWhenMoved(root);
  root.redraw();
}

function draw(root, data, pick) {
  const focused = root.getRootNode().activeElement?.dataset?.at;
  const most = Math.max(...data.cards.map(({ maps }) => maps[0].shades[0].length));
  const layers = Math.max(...data.cards.map(({ maps }) => maps[0].shades.length));
  const many = most * layers > FEW;
  const [, wide, high] = CELL.find(([upTo]) => most <= upTo);
  const width = many ? beside(root, data, most, fitting(MANY_WIDE, most, wide)) : narrowed(root, data, most, wide);
  const enlarged = (root.currentCSSZoom ?? 1) > 1; // for a projector, where low heads are high enough
  const height = many ? fitting(MANY_HIGH, layers, high) : enlarged ? Math.min(high, LOW) : high;
  describe(root, data, most, width);
  const view = { data, width, height, numbered: most <= NUMBERED, pick };
  expose(root, "heads", async () => [["heads.svg", fileOf(view)]]);
  root.classList.toggle("listed", data.listed);
  const large = data.listed ? data.cards.filter(({ name }) => name === data.chosenCard) : data.cards;
  const list = data.listed ? [listOf(view)] : [];
  root.replaceChildren(...list, ...large.map((card) => cardOf(view, card)), foot(view));
  if (!focused) return;
  const cell = [...root.querySelectorAll("[data-at]")].find((one) => one.dataset.at === focused);
  cell?.focus({ preventScroll: true });
}

// The size of a head where so many stand beside or below each other.
const fitting = (room, count, most) => Math.max(3, Math.min(most, Math.floor(room / count) - APART));

function describe(root, data, most, width) {
  const wide = data.cards.some(({ maps }) => maps.length > 1) ? 2 : 1;
  const edges = root.clientWidth > NARROW ? 28 : 10;
  const card = Math.min(wide * (most * (width + 2) + 24) + (wide - 1) * 20 + edges, 620);
  root.style.setProperty("--accent", data.accent);
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
  const words = part("span", { textContent: `Layers down, heads across: ${source}`, title: origin });
  const onclick = () => keepFile(fileOf(view), "heads.svg");
  const save = part("button", { type: "button", className: "save", textContent: "Save as SVG", onclick });
  return part("div", { className: "foot" }, words, save);
}

const fileOf = (view) => new Blob([picture(view)], { type: "image/svg+xml" });
