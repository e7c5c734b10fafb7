// What a lecturer does with a room: in the strip at the foot of every page, on the page of the room, and on the phone
// that is the remote. `desk` holds the root, the state that came last, and how things are sent.
import { part, segments } from "#view/elements.js";
import { send } from "./api.js";
import { questionPart } from "./asking.js";
import { button, named } from "./parts.js";
import { peoplePart } from "./people.js";

const MODES = [
  ["follow", "Follow"],
  ["free", "Look around"],
  ["paused", "Pause"],
];
const PRESSES = [
  ["ArrowLeft", "◀ Back"],
  ["ArrowRight", "Step ▶"],
  ["PageUp", "Previous stop"],
  ["PageDown", "Next stop"],
  ["h", "Hide what comes"],
];
const MAKING = { room: roomLine, question: questionPart, remote: remoteKeys, people: peoplePart };

// parts: which of MAKING stand there; whole: with all that became of a question.
export function newDesk(root, code, parts, { whole = false } = {}) {
  const desk = { root, code, parts, whole, error: "", offers: null };
  desk.act = (name, more) => act(desk, name, more);
  return desk;
}

// Sends what was done; the room's next state shows what has come of it.
async function act(desk, name, more = {}) {
  desk.error = "";
  try {
    return await send(desk.code, "do", { do: name, ...more });
  } catch (error) {
    desk.error = error.message;
    return null;
  } finally {
    drawDesk(desk);
  }
}

export function drawDesk(desk) {
  const { root, state, parts } = desk;
  if (!state) return;
  const active = root.getRootNode().activeElement;
  if (root.contains(active) && active.matches("input, textarea, select")) return; // nothing goes from under the fingers
  const focused = active?.dataset?.act;
  const redraw = () => drawDesk(desk);
  const error = part("p", { className: "error", role: "alert", textContent: desk.error });
  root.replaceChildren(...parts.map((name) => MAKING[name](desk, redraw)), error);
  if (focused) root.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function roomLine({ state, act: deed }) {
  const mode = segments("What phones show", MODES, state.mode, (value) => deed("mode", { mode: value }));
  for (const [at, one] of [...mode.children].entries()) named(one, `mode ${at}`);
  const here = part("span", { className: "here", textContent: `${state.here} here`, title: "Phones in the room now" });
  const gather = button("Bring everyone here", () => deed("gather"), {
    title: "Whoever looks around comes back to the lecture",
  });
  const code = part("b", { className: "code", textContent: state.code });
  return part("div", { className: "line" }, part("span", {}, "Room ", code), here, mode, named(gather, "gather"));
}

// The remote: what a key would do on the lecturer's own computer.
function remoteKeys({ state, act: deed }) {
  const presses = PRESSES.map(([key, words]) =>
    named(
      button(words, () => deed("press", { key })),
      `press ${key}`,
    ),
  );
  const where = [state.view?.title, state.view?.place].filter(Boolean).join(", ") || "nothing yet";
  const words = state.leader
    ? `Shown now: ${where}`
    : "No tab leads. Open the room on the computer that you show from; then these keys step there.";
  return part("div", { className: "presses" }, part("p", { textContent: words }), ...presses);
}
