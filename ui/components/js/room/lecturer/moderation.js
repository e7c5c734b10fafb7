// Texts that phones have written, to let through one by one or all that wait.
import { part } from "#view/page/elements.js";
import { button, named, radios } from "./widgets.js";

const SIDES = { waiting: "Waiting", shown: "Shown" };
const NO_TEXTS = { waiting: "Nothing is waiting.", shown: "None are shown." };

export function moderation(desk) {
  const { state, act } = desk;
  lookedAt(state, "moderate");
  if (!state.moderate.length) return part("p", { className: "none", textContent: "Nobody has written anything yet." });
  const side = (desk.textsSide ??= "waiting");
  const listed = state.moderate.filter(({ shown }) => shown === (side === "shown"));
  const counted = Object.entries(SIDES).map(([name, words]) => [
    name,
    `${words} ${state.moderate.filter(({ shown }) => shown === (name === "shown")).length}`,
  ]);
  const sides = radios("Which texts", "side", counted, side, (name) => {
    desk.textsSide = name;
    desk.draw();
  });
  const all = button("Show all", () => act("texts", { seqs: listed.map(({ seq }) => seq) }));
  const line = part(
    "div",
    { className: "line" },
    sides,
    ...(side === "waiting" && listed.length ? [named(all, "texts")] : []),
  );
  const rows = listed.map((one) => row(one, act));
  const none = part("p", { className: "none", textContent: NO_TEXTS[side] });
  return part(
    "div",
    { className: "moderation" },
    line,
    rows.length ? part("ul", { className: "texts" }, ...rows) : none,
  );
}

function row({ seq, text, number, shown }, act) {
  const way = button(shown ? "Hide" : "Show", () => act("text", { seq, on: !shown }));
  way.ariaLabel = `${shown ? "Hide" : "Show to the room"}: ${text}`;
  const small = part("small", { textContent: `phone ${number + 1}` });
  return part("li", {}, named(way, `text ${seq}`), part("q", { textContent: text }), small);
}

// What phones have handed in ("tiles") or written ("moderate") since a lecturer has last looked: kept for this browser.

const NUMBER = { tiles: "id", moderate: "seq" };
const nameOfLooks = ({ code }) => `headsup-found-${code}`;

function looks(state) {
  try {
    return JSON.parse(localStorage.getItem(nameOfLooks(state)) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

export function lookedAt(state, ...lists) {
  const seen = looks(state);
  for (const list of lists) {
    seen[list] = Math.max(seen[list] ?? 0, ...(state[list] ?? []).map((one) => one[NUMBER[list]]));
  }
  try {
    localStorage.setItem(nameOfLooks(state), JSON.stringify(seen));
  } catch {
    // then all of it is new
  }
}

export function foundSince(state) {
  const seen = looks(state);
  const unseen = (list) => (state[list] ?? []).filter((one) => one[NUMBER[list]] > (seen[list] ?? 0));
  return unseen("tiles").length + unseen("moderate").length;
}
