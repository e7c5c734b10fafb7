// What a lecturer does with a room: in the strip at the foot of every page, on the page of the room, and on the phone
// that is the remote. `desk` holds the root, the state that came last, and how things are sent.
import { part } from "#view/page/elements.js";
import { take } from "#view/page/pointer.js";
import { isAtFoot, unfold, unfolded, unfolder } from "../../foot.js";
import { addressOf, send } from "../connection.js";
import { lookedAt, moderation } from "./moderation.js";
import { PHASES, closeOffers, questionFolded, questionPart } from "./question_controls.js";
import { sentence } from "../texts.js";
import { button, called, errorPart, named, ownKeys, radios, refill, toggle, typesIn, unpressed } from "./widgets.js";

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
const HIDE = "Hide what comes next";
const END = ["End the room", "End it and delete every answer: press again"];
// One laptop may be hundreds of phones.
const REMOVE_NEW = ["Remove all new phones", "Remove everyone who joined in the last minute, and lock: press again"];
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
  called(root, nextPress(desk))?.classList.add("next");
  const focused = desk.focusNext && called(root, desk.focusNext);
  if (!focused) return;
  desk.focusNext = null;
  focused.focus({ preventScroll: true });
}

// What a lecturer presses next, by its name: the one button that is filled.
export function nextPress({ state: { question, coming, leader, view }, offers, parts, tab = leader }) {
  const phase = PHASES.findIndex(([name]) => name === question?.phase);
  if (question) return question.phase === "answer" ? "away" : `phase ${phase + 1}`;
  const lesson = isAtFoot("lesson");
  if (leader !== tab) return lesson ? "" : "lead";
  if (coming) return "stop";
  if (offers) return offers.find(({ why }) => !why)?.about ?? "offers";
  if (parts.includes("remote")) return "press ArrowRight";
  return lesson || !view ? "" : "offers";
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
  const presses = keys.map(([key, words]) => button(words, press(key), { act: `press ${key}` }));
  if (state.view?.place) presses.push(named(toggle(HIDE, Boolean(state.view.hide), press("h")), "press h"));
  const where = [state.view?.title, state.view?.place].filter(Boolean).join(", ") || "nothing yet";
  const words = state.leader
    ? `Shown now: ${where}`
    : "No tab is leading. Open the room on the computer that you present from; then these keys step there.";
  return part("div", { className: "presses" }, part("p", { textContent: words }), ...presses);
}

// What a lecturer does with all of a room: who may come in, what is taken home, and the end.

function keepingPart(desk) {
  const { state, act, code } = desk;
  const file = (name, textContent) =>
    named(part("a", { href: addressOf(code, name), download: "", textContent }), name);
  const lock = button(state.locked ? "Unlock the room" : "Lock the room", () => act("lock", { on: !state.locked }));
  const leave = button("Stop controlling it here", leaveHere, {
    title: "This browser forgets the key; the room continues",
  });
  return part(
    "div",
    { className: "line keeping" },
    named(lock, "lock"),
    ...(state.devices.length ? [pressedTwice(desk, "out new", ...REMOVE_NEW)] : []),
    button("Keep it longer", () => act("extend"), { act: "extend" }),
    file("answers.csv", "Answers (CSV)"),
    file("lesson.md", "Questions as a lesson"),
    named(leave, "leave"),
    pressedTwice(desk, "end", ...END, () => window.location.reload()),
  );
}

// A button that does nothing before it is pressed a second time.
function pressedTwice(desk, act, words, again, after = () => {}) {
  const press = async () => {
    const sure = desk.sure === act;
    desk.sure = sure ? null : act;
    if (!sure) return desk.draw();
    await desk.act(act);
    after();
  };
  return button(desk.sure === act ? again : words, press, { act });
}

async function leaveHere() {
  await fetch(new URL("./lead", document.baseURI), { method: "POST", body: JSON.stringify({ leave: true }) });
  window.location.reload();
}

// Everybody in the room, as a lecturer sees them: a task, what was handed in, texts to let through, and the phones.

function peoplePart(desk) {
  const { state } = desk;
  lookedAt(state, "tiles");
  return part(
    "div",
    { className: "people" },
    part("h2", { textContent: "A task, and what was found" }),
    taskLine(desk),
    tiles(desk),
    ...(state.moderate ? [part("h2", { textContent: "What they wrote" }), moderation(desk)] : []),
    ...(state.asked.length ? [part("h2", { textContent: "Asked so far" }), askedSoFar(desk)] : []),
    part("h2", { textContent: state.devices.length === 1 ? "1 phone" : `${state.devices.length} phones` }),
    devices(desk),
  );
}

function taskLine({ state, act }) {
  const task = part("input", {
    className: "task",
    value: state.task,
    maxLength: 300,
    placeholder: "Find a head that looks at the verb",
    ariaLabel: "A task for everybody",
  });
  const give = button(
    state.task ? "Change the task" : "Set the task",
    () => {
      task.blur();
      return act("task", { task: task.value });
    },
    { act: "task" },
  );
  ownKeys(task).addEventListener("keydown", ({ key }) => key === "Enter" && give.click());
  const line = part("div", { className: "line task-line" }, task, give);
  if (state.task) line.append(button("Remove the task", () => act("task", { task: "" }), { act: "no task" }));
  return line;
}

function tiles({ state, act }) {
  if (!state.tiles.length) return part("p", { className: "none", textContent: "Nobody has handed in a view yet." });
  const list = state.tiles.map(({ id, number, title, params, note, shown }) => {
    const place = [
      params.step && `step ${params.step}`,
      params.kind,
      params.layer && params.head && `layer ${params.layer}, head ${params.head}`,
    ];
    return part(
      "li",
      { className: shown ? "shown" : "" },
      part("b", { textContent: [title, ...place.filter(Boolean)].join(", ") }),
      part("q", { textContent: params.text ?? "" }),
      part("p", { textContent: note }),
      part("small", { textContent: `phone ${number + 1}` }),
      button("Open on the wall", () => act("tile", { id }), { act: `tile ${id}` }),
      button("Remove", () => act("drop tile", { id }), { act: `drop ${id}` }),
    );
  });
  return part("ul", { className: "tiles" }, ...list);
}

function askedSoFar({ state, act }) {
  const list = state.asked.map(({ id, number, ask }) => {
    const again = button("Bring it back", () => act("back to", { question: id }), { act: `back ${id}` });
    return part("li", {}, `${number}. ${ask} `, ...(state.question?.id === id ? [] : [again]));
  });
  return part("ul", { className: "asked" }, ...list);
}

function devices(desk) {
  const { state, act } = desk;
  const list = state.devices.map(({ number, here, out }) => {
    const way = button(out ? "Let back in" : "Remove this phone", () => act("out", { number, on: !out }));
    const where = out ? ", removed" : here ? "" : ", away";
    return part("li", {}, `phone ${number + 1}${where} `, named(way, `out ${number}`));
  });
  const all = part("details", { open: Boolean(desk.listed) });
  all.append(named(part("summary", { textContent: "All phones" }), "phones"), part("ul", {}, ...list));
  all.ontoggle = () => {
    desk.listed = all.open;
  };
  return all;
}
