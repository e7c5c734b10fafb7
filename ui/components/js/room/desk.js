// What a lecturer does with a room: in the strip at the foot of every page, on the page of the room, and on the phone
// that is the remote. `desk` holds the root, the state that came last, and how things are sent.
import { part } from "#view/elements.js";
import { take } from "#view/pointer.js";
import { send } from "./api.js";
import { closeOffers, questionFolded, questionPart } from "./asking.js";
import { keepingPart } from "./keeping.js";
import { button, called, errorPart, named, radios, refill, toggle, typesIn, unpressed } from "./parts.js";
import { peoplePart } from "./people.js";
import { sentence } from "./words.js";
import { unfold, unfolded, unfolder } from "../foot.js";

const MODES = [
  ["follow", "Follow"],
  ["free", "Look around"],
  ["paused", "Pause"],
];
const STEPS = [
  ["ArrowLeft", "◀ Back"],
  ["ArrowRight", "Step ▶"],
];
const STOPS = [
  ["PageUp", "Previous stop"],
  ["PageDown", "Next stop"],
];
export const HIDE = "Hide what comes next";
const MAKING = { room: roomLine, question: questionPart, remote: remoteKeys, people: peoplePart, keeping: keepingPart };

// parts: which of MAKING stand there; whole: with all that became of a question. Set besides: `hide`, how the page here
// hides what comes next, {on, turn}, where it can; `presenting`, when everybody reads what stands here; `folds`, when
// there is one line and the rest unfolds, with what `more()` gives; `focusNext`, what has the focus once it is there.
export function newDesk(root, code, parts, { whole = false } = {}) {
  const desk = { root, code, parts, whole, error: "", offers: null };
  desk.act = (name, more) => act(desk, name, more);
  desk.draw = unpressed(root, () => drawDesk(desk));
  root.addEventListener("focusout", () => setTimeout(() => desk.held && desk.draw()));
  root.addEventListener("keydown", (event) => event.key === "Escape" && foldUp(desk) && take(event));
  return desk;
}

// What goes away with Escape -> whether there was anything.
export function foldUp(desk) {
  if (closeOffers(desk)) return true;
  if (unfolded() !== "room") return false;
  unfold(null);
  called(desk.root, "unfold")?.focus({ preventScroll: true });
  return true;
}

// Sends what was done; the room's next state shows what has come of it.
async function act(desk, name, more = {}) {
  desk.error = "";
  desk.computing = name === "ask";
  if (desk.computing) desk.draw(); // a sentence for each phone takes seconds
  const answer = await send(desk.code, "do", { do: name, ...more }).catch((error) => {
    desk.error = sentence(error.message);
    return null;
  });
  desk.computing = false;
  if (desk.error && desk.folds) unfold("room");
  desk.draw();
  if (desk.error) desk.root.querySelector(".error")?.scrollIntoView({ block: "nearest" });
  return answer;
}

function drawDesk(desk) {
  const { root, state, parts } = desk;
  if (!state) return;
  desk.held = typesIn(root); // nothing goes from under the fingers
  if (desk.held) return;
  const choosing = desk.offers && !state.question; // which has it below what was asked
  const errors = choosing ? [] : [errorPart(desk)];
  refill(root, desk.folds ? folded(desk, errors) : [...parts.map((name) => MAKING[name](desk)), ...errors]);
  const next = desk.focusNext && called(root, desk.focusNext);
  if (!next) return;
  desk.focusNext = null;
  next.focus({ preventScroll: true });
}

// In one line with a lesson: the code and the question; the rest unfolds.
function folded(desk, errors) {
  const [line, rest] = desk.parts.includes("question") ? questionFolded(desk) : [];
  const more = part("div", { className: "unfolded", hidden: unfolded() !== "room" });
  more.append(roomLine(desk), ...[rest].filter(Boolean), ...desk.more(), ...errors);
  return [whichRoom(desk), line, unfolder("room", "Room"), more].filter(Boolean);
}

const whichRoom = ({ state }) =>
  part(
    "div",
    { className: "line" },
    part("span", {}, "Room ", part("b", { className: "code", textContent: state.code })),
  );

// While something is chosen or asked, the strip has that in place of what it offers at other times.
function roomLine({ state, act: deed, hide, presenting, offers, whole, folds }) {
  const here = part("span", { className: "here", textContent: `${state.here} here`, title: "Phones in the room now" });
  const gather = button("Bring everyone here", () => deed("gather"), {
    title: "Whoever looks around comes back to the lecture",
  });
  const line = folds ? part("div", { className: "line" }) : whichRoom({ state });
  line.append(here);
  if (!folds && !whole && (offers || (presenting && state.question))) return line;
  line.append(radios("What phones show", "mode", MODES, state.mode, (mode) => deed("mode", { mode })));
  line.append(named(gather, "gather"));
  if (hide) line.append(named(toggle(HIDE, hide.on, hide.turn), "hide"));
  return line;
}

// The remote: what a key would do on the lecturer's own computer.
function remoteKeys({ state, act: deed }) {
  const press = (key) => () => deed("press", { key });
  const keys = state.view?.stop ? [...STEPS, ...STOPS] : STEPS;
  const presses = keys.map(([key, words]) => named(button(words, press(key)), `press ${key}`));
  if (state.view?.place) presses.push(named(toggle(HIDE, Boolean(state.view.hide), press("h")), "press h"));
  const where = [state.view?.title, state.view?.place].filter(Boolean).join(", ") || "nothing yet";
  const words = state.leader
    ? `Shown now: ${where}`
    : "No tab is leading. Open the room on the computer that you present from; then these keys step there.";
  return part("div", { className: "presses" }, part("p", { textContent: words }), ...presses);
}
