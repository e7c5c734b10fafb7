// What if: a menu of changes to the model at the cell or the head that is pressed with the right button, held with a
// finger, or asked about with the menu key.
import SHARED from "#view/shared.json";
import { part } from "#view/elements.js";
import { held, take } from "#view/pointer.js";
import { whatIfButton } from "#view/streamlit.js";
import { plainly } from "#view/tokens.js";
import { change, infoOf } from "#view/view/selection.js";

const { cell: OF_CELL, head: OF_HEAD, more: MORE } = SHARED.what_if;
const KIND_LETTERS = { encoder: "E", decoder: "D", cross: "X" };
const LOWER = 4; // px below the pointer, so that no entry is under it

// at: {pair, head: [layer, head]}, a cell of the matrix as it is drawn or null, and the head that it is of.
export function openWhatIf(view, { pair, head: [layer, head] }, [x, y], from) {
  const { root, selection } = view;
  closeWhatIf(view);
  const { kind } = selection;
  const ask = (does) => {
    const [q, k] = inWhole(view, pair);
    view.whatIf({ number: (view.asked = (view.asked ?? 0) + 1), does, kind, layer, head, query: q, key: k });
  };
  const entry = (name, words) => {
    const pick = () => {
      closeWhatIf(view);
      ask(name);
    };
    return part("button", {
      type: "button",
      role: "menuitem",
      textContent: worded(words, { layer, head }),
      onclick: pick,
    });
  };
  const entries = [
    ...(pair ? Object.entries(OF_CELL) : []).map((one) => entry(...one)),
    ...Object.entries(OF_HEAD).map((one) => entry(...one)),
  ];
  const more = part("button", { type: "button", role: "menuitem", textContent: MORE });
  more.onclick = () => {
    closeWhatIf(view);
    if (pair) change(view, { pair });
    else change(view, { layer, head });
    whatIfButton()?.click();
  };
  if (whatIfButton()) entries.push(more);
  const name = `${KIND_LETTERS[kind]}${layer}H${head}`;
  const title = pair ? `${tokensOf(view, pair)}, ${name}` : name;
  const menu = part("div", { className: "what-if", role: "menu", ariaLabel: title }, part("b", {}, title), ...entries);
  menu.onkeydown = (event) => onMenuKey(view, event, entries, from);
  root.append(menu);
  view.menu = menu;
  putAt(menu, [x, y + LOWER], root.currentCSSZoom ?? 1);
  entries[0].focus();
  view.away = new AbortController();
  const onDown = (event) => event.composedPath().includes(menu) || closeWhatIf(view);
  document.addEventListener("pointerdown", onDown, { signal: view.away.signal, capture: true });
  window.addEventListener("blur", () => closeWhatIf(view), { signal: view.away.signal });
}

export function closeWhatIf(view) {
  view.away?.abort();
  view.menu?.remove();
  view.menu = null;
}

const worded = (words, places) => words.replace(/\{(\w+)\}/g, (_, name) => places[name]);

const inWhole = (view, pair) => (pair ?? [0, 0]).map((at, side) => at + (infoOf(view).first?.[side] ?? 0));

function tokensOf(view, [query, key]) {
  const { queries, keys } = infoOf(view);
  return `${plainly(queries[query])} → ${plainly(keys[key])}`;
}

function onMenuKey(view, event, entries, from) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const at = entries.indexOf(event.composedPath()[0]);
  if (event.key === "Escape" || event.key === "Tab") {
    closeWhatIf(view);
    from.focus();
  } else if (by) entries[(at + by + entries.length) % entries.length].focus();
  else if (!["Enter", " "].includes(event.key)) return event.stopPropagation();
  else entries[at]?.click();
  take(event);
}

// Whole in the window.
function putAt(menu, [x, y], zoom) {
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(0, Math.min(x, window.innerWidth - width - 8)) / zoom}px`;
  menu.style.top = `${Math.max(0, Math.min(y, window.innerHeight - height - 8)) / zoom}px`;
}

// Listens on a canvas for what opens the menu. at: what is under an event; now: what the keyboard is on; beside: where
// on the canvas that is, in px.
export function listenForWhatIf(view, canvas, { at, now, beside }) {
  const open = (event, target) => {
    if (!view.whatIf || !target) return;
    event.preventDefault();
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = byKey(event) ? beside(target) : [event.clientX - left, event.clientY - top];
    openWhatIf(view, target, [left + x, top + y], canvas);
  };
  canvas.addEventListener("contextmenu", (event) => open(event, byKey(event) ? now() : at(event)));
  held(canvas, (event) => open(event, at(event)));
}

const byKey = (event) => event.button !== 2 && event.pointerType !== "touch";
