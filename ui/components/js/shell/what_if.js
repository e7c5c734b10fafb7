// What if: a menu of changes to the model at the cell or the head that is pressed with the right button, held with a
// finger, or asked about with the menu key. A picture says what is under a pointer by `pressed` on its canvas
// (view/input.js): {view, at(event), now(), beside(target)}, of which a target is {pair, alone, head, first, title}.
import { part } from "#view/page/elements.js";

const LONG_MS = 500;
const STILL = 8; // px that a finger may move
const LOWER = 4; // px below the pointer, so that no entry is under it
const FROM_EDGE = 8;

// words: {cell, head, more}, of entries by what they do.
export function offerWhatIf(signal, words) {
  const options = { signal, capture: true };
  const menu = { words, box: null };
  signal.addEventListener("abort", () => close(menu));
  document.addEventListener("contextmenu", (event) => onPress(menu, event), options);
  document.addEventListener("pointerdown", (event) => onDown(menu, event), options);
  for (const kind of /** @type {const} */ (["pointermove", "pointerup", "pointercancel"])) {
    document.addEventListener(kind, (event) => onAfter(menu, event), options);
  }
  document.addEventListener("click", (event) => onClick(menu, event), options);
  for (const kind of ["scroll", "resize"]) window.addEventListener(kind, () => close(menu), options); // it stays behind
}

const canvasOf = (event) => event.composedPath().find((one) => one.pressed?.view.whatIf) ?? null;
const byKey = (event) => event.button !== 2 && !event.ctrlKey && event.pointerType !== "touch"; // Ctrl: on a Mac
const NOT_ALONE = ["cut", "cut_all"]; // without these a row that has one key alone has none

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
  const ask = (does, { detail }) => {
    close(menu);
    if (!detail) canvas.focus(); // a mouse leaves the arrow keys to the steps
    view.whatIf({ does, kind, layer, head: number, query, key, pair: target.pair });
  };
  const entry = ([does, words]) => {
    const textContent = words.replace("{layer}", layer);
    return part("button", { type: "button", role: "menuitem", textContent, onclick: (event) => ask(does, event) });
  };
  const all = { ...(target.pair && cell), ...head, ...(!view.large && { more }) };
  const entries = Object.entries(all)
    .filter(([does]) => !target.alone || !NOT_ALONE.includes(does))
    .map(entry);
  const title = part("b", { textContent: target.title });
  menu.box = part("div", { className: "what-if", role: "menu", ariaLabel: target.title }, title, ...entries);
  menu.box.onkeydown = (pressed) => onMenuKey(menu, pressed, entries, canvas);
  document.body.append(menu.box);
  const [x, y] = byKey(event) ? onWindow(canvas, beside(target)) : [event.clientX, event.clientY];
  const { width, height } = menu.box.getBoundingClientRect();
  menu.box.style.left = `${Math.max(FROM_EDGE, Math.min(x, window.innerWidth - width - FROM_EDGE))}px`;
  menu.box.style.top = `${Math.max(FROM_EDGE, Math.min(y + LOWER, window.innerHeight - height - FROM_EDGE))}px`;
  entries[0].focus();
}

// Where on the window a place on a canvas is, which may be enlarged.
function onWindow(canvas, [x, y]) {
  const { left, top, width } = canvas.getBoundingClientRect();
  const by = width / canvas.offsetWidth || 1;
  return [left + x * by, top + y * by];
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
