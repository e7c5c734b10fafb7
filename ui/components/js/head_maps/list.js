// The list of all measures beside the one that is large: each its name and a small picture of its map.
import { part } from "#view/elements.js";
import { take } from "#view/pointer.js";

// A choice goes to Python as a click on the head that the measure is largest of.
export function listOf(view) {
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
  const context = canvas.getContext("2d");
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
