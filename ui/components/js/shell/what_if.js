// What if: a menu of changes to the model at the cell or the head that is pressed with the right button, held with a
// finger, or asked about with the menu key. A picture says what is under a pointer by `pressed` on its canvas
// (view/input.js): {view, at(event), now(), beside(target)}, of which a target is {pair, head, first, title}.
import { part } from "#view/elements.js";

const LONG_MS = 500;
const STILL = 8; // px that a finger may move
const LOWER = 4; // px below the pointer, so that no entry is under it
const FROM_EDGE = 8;

// words: {cell, head, more}, of entries by what they do.
export function offerWhatIf(signal, words) {
  const options = { signal, capture: true };
  const menu = { words, box: null, asked: 0 };
  signal.addEventListener("abort", () => close(menu));
  document.addEventListener("contextmenu", (event) => onPress(menu, event), options);
  document.addEventListener("pointerdown", (event) => onDown(menu, event), options);
  for (const kind of ["pointermove", "pointerup", "pointercancel"]) {
    document.addEventListener(kind, (event) => onAfter(menu, event), options);
  }
  document.addEventListener("click", (event) => onClick(menu, event), options);
}

const canvasOf = (event) => event.composedPath().find((one) => one.pressed?.view.whatIf) ?? null;
const byKey = (event) => event.button !== 2 && event.pointerType !== "touch";

function onPress(menu, event) {
  const canvas = canvasOf(event);
  const target = canvas && (byKey(event) ? canvas.pressed.now() : canvas.pressed.at(event));
  if (!target) return;
  event.preventDefault();
  open(menu, canvas, target, event);
}

// A finger that stays where it is, whose click is then none.
function onDown(menu, event) {
  if (menu.box && !event.composedPath().includes(menu.box)) close(menu);
  clearTimeout(menu.waits);
  menu.held = false;
  const canvas = event.pointerType === "touch" && canvasOf(event);
  if (!canvas) return;
  menu.from = [event.clientX, event.clientY];
  const target = canvas.pressed.at(event);
  menu.waits = setTimeout(() => {
    menu.held = Boolean(target);
    if (target) open(menu, canvas, target, event);
  }, LONG_MS);
}

function onAfter(menu, { type, clientX, clientY }) {
  if (type === "pointermove" && Math.hypot(clientX - menu.from?.[0], clientY - menu.from?.[1]) < STILL) return;
  clearTimeout(menu.waits);
}

function onClick(menu, event) {
  if (!menu.held || !canvasOf(event)) return;
  menu.held = false;
  event.preventDefault();
  event.stopPropagation();
}

function open(menu, canvas, target, event) {
  close(menu);
  const { cell, head, more } = menu.words;
  const { view, beside } = canvas.pressed;
  const { kind } = view.selection;
  const [layer, number] = target.head;
  const [query, key] = (target.pair ?? [0, 0]).map((at, side) => at + target.first[side]);
  const ask = (does) => {
    close(menu);
    canvas.focus();
    menu.asked += 1;
    view.whatIf({ number: menu.asked, does, kind, layer, head: number, query, key, pair: target.pair });
  };
  const entry = ([does, words]) => {
    const textContent = words.replace("{layer}", layer);
    return part("button", { type: "button", role: "menuitem", textContent, onclick: () => ask(does) });
  };
  const entries = Object.entries({ ...(target.pair && cell), ...head, more }).map(entry);
  const title = part("b", { textContent: target.title });
  menu.box = part("div", { className: "what-if", role: "menu", ariaLabel: target.title }, title, ...entries);
  menu.box.onkeydown = (pressed) => onMenuKey(menu, pressed, entries, canvas);
  document.body.append(menu.box);
  const { left, top } = canvas.getBoundingClientRect();
  const by = canvas.getBoundingClientRect().width / canvas.offsetWidth || 1;
  const [x, y] = byKey(event) ? beside(target).map((at) => at * by) : [event.clientX - left, event.clientY - top];
  const { width, height } = menu.box.getBoundingClientRect();
  menu.box.style.left = `${Math.max(FROM_EDGE, Math.min(left + x, window.innerWidth - width - FROM_EDGE))}px`;
  menu.box.style.top = `${Math.max(FROM_EDGE, Math.min(top + y + LOWER, window.innerHeight - height - FROM_EDGE))}px`;
  entries[0].focus();
}

function close(menu) {
  menu.box?.remove();
  menu.box = null;
}

function onMenuKey(menu, event, entries, canvas) {
  event.stopPropagation();
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" || event.key === "Tab") {
    close(menu);
    canvas.focus();
  } else if (by) entries[(entries.indexOf(document.activeElement) + by + entries.length) % entries.length].focus();
  else return;
  event.preventDefault();
}
