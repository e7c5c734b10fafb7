// One card: a map or two of every head, and its scale.
import { part } from "#view/elements.js";
import { take } from "#view/pointer.js";

const NAME = 14; // px that a number takes

export function cardOf(view, card) {
  const { data } = view;
  const title = part("h2", { textContent: card.title });
  const unit = part("p", { className: "unit", textContent: card.unit });
  const maps = part("div", { className: "maps" }, ...card.maps.map((map, i) => mapOf(view, card, map, i)));
  const box = part("section", { className: "card" }, title, unit, maps, scaleOf(data, card));
  Object.assign(box.dataset, { card: card.name, kind: card.kind });
  box.classList.toggle("chosen", card.name === data.chosenCard);
  return box;
}

function mapOf(view, card, map, number) {
  const heads = map.shades[0].length;
  const grid = part("div", { className: "grid", role: "group", ariaLabel: `${card.title} ${map.caption}` });
  grid.style.gridTemplateColumns = `auto repeat(${heads}, ${view.width}px)`;
  grid.style.gridAutoRows = `${view.height}px`;
  grid.style.gridTemplateRows = "1.2rem";
  grid.classList.toggle("small", Math.min(view.width, view.height) < NAME);
  const word = (textContent, className = "") => part("span", { className, textContent });
  const named = (at, size) => (at % Math.ceil(NAME / (size + 2)) ? "" : `${at}`); // not all where these are small
  grid.append(word("", "down"), ...Array.from({ length: heads }, (_, head) => word(named(head, view.width))));
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
  const hint = map.hints?.[layer][head] ?? `${card.kind}, layer ${layer} · head ${head}, ${map.caption}: ${words}`;
  const scale = card.scale.diverging ? "diverging" : "ramp";
  const place = `${card.kind}:${layer}:${head}`;
  const chosen = place === data.chosen?.join(":");
  const cell = part("button", { type: "button", title: hint, tabIndex: -1, ariaPressed: chosen });
  Object.assign(cell.dataset, { kind: card.kind, layer, head, at: `${card.name}/${number}/${place}` });
  if (numbered) cell.textContent = words;
  cell.ariaLabel = numbered && words ? `${words}: ${hint}` : hint; // what is seen is in the name: it can be asked for
  if (shade >= 0) Object.assign(cell.style, { background: data[scale][shade], color: data.inks[scale][shade] });
  cell.classList.toggle("none", shade < 0);
  cell.classList.toggle("long", words.length > 4);
  cell.classList.toggle("faint", Boolean(map.faint?.[layer][head]));
  cell.classList.toggle("chosen", chosen);
  cell.classList.toggle("crossed", data.crossed.includes(place));
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
