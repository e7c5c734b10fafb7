// Draws the cards that ui/figures/head_maps.py makes; a head clicked, or chosen with Enter, goes to Python.
import STYLE from "./head_maps.css";
import { expose } from "#view/figures/expose.js";
import { dress, keepFile, part, scrollToTarget } from "#view/elements.js";
import { cardOf } from "./head_maps/card.js";
import { picture } from "./head_maps/picture.js";

// up to so many heads beside each other: width, height
const CELL = [
  [4, 36, 32],
  [8, 34, 30],
  [12, 19, 19],
  [16, 18, 18],
  [Infinity, 15, 17],
];
const NUMBERED = 8; // heads beside each other; of more the pointer says the numbers

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".head-maps");
  const focused = root.getRootNode().activeElement?.dataset?.at;
  dress(root, STYLE);
  const most = Math.max(...data.cards.map(({ maps }) => maps[0].shades[0].length));
  const [, width, height] = CELL.find(([upTo]) => most <= upTo);
  const pick = (head) => {
    setTriggerValue("pick", head);
    if (data.target) scrollToTarget(`st-key-${data.target}`);
  };
  describe(root, data, most, width);
  const view = { data, width, height, numbered: most <= NUMBERED, pick };
  expose(root, "heads", async () => [["heads.svg", fileOf(view)]]);
  root.replaceChildren(...data.cards.map((card) => cardOf(view, card)), foot(view));
  if (!focused) return;
  const cell = [...root.querySelectorAll("[data-at]")].find((one) => one.dataset.at === focused);
  cell?.focus({ preventScroll: true });
}

function describe(root, data, most, width) {
  const wide = data.cards.some(({ maps }) => maps.length > 1) ? 2 : 1;
  const card = Math.min(wide * (most * (width + 2) + 24) + (wide - 1) * 20 + 28, 620);
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--columns", data.columns);
  root.style.setProperty("--card", `${card}px`);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", data.alt);
}

function foot(view) {
  const words = part("span", { textContent: `Layers down, heads across. ${view.data.source}` });
  const onclick = () => keepFile(fileOf(view), "heads.svg");
  const save = part("button", { type: "button", className: "save", textContent: "Save as SVG", onclick });
  return part("div", { className: "foot" }, words, save);
}

const fileOf = (view) => new Blob([picture(view)], { type: "image/svg+xml" });
