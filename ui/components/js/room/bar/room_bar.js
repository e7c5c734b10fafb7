// A room at the foot of every page of the app. The lecturer's strip; that of somebody who looks around; and on the wall
// what is asked, and the way in. It asks the room itself, and tells Python only where to go.
import QUESTION from "../question/question.css";
import STYLE from "../lecturer/room_bar.css";
import { app, takeOver } from "#view/page/app.js";
import { dress, part } from "#view/page/elements.js";
import { take } from "#view/page/pointer.js";
import { pageLink } from "#view/page/streamlit.js";
import { folds, onFoot, setRoomState, takeFoot } from "../../foot.js";
import { follow, readJson, send } from "../connection.js";
import { foldUp, newDesk, nextPress } from "../lecturer/controls.js";
import { foundSince } from "../lecturer/moderation.js";
import { ENDED, ENDED_HERE, sentence } from "../texts.js";
import { coverRoom, hidesPage, saidLarge, scrollAlong, tellScrolling } from "./wall.js";
import { button, called, named, ownKeys, refill, unpressed } from "../lecturer/widgets.js";

const NARROW = 600; // px, up to which a task is one line until it is opened
const NAMED = { wall: "The room", lecturer: "Your room", looking: "The lecture" };

export default function component({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".room-bar");
  dress(root, QUESTION, STYLE);
  const bar = (root.bar ??= newBar(root));
  Object.assign(bar, { data, setState: setStateValue, trigger: setTriggerValue });
  root.className = `room-bar ${data.face}`;
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", NAMED[data.face]);
  document.documentElement.classList.toggle("room-wall", data.face === "wall");
  if (data.face === "lecturer") tellTab(bar);
  if (bar.follows !== `${data.face} ${data.code}`) start(bar);
  else {
    goWhereAsked(bar);
    bar.draw();
  }
  takeFoot("room", root, { alone: data.face !== "lecturer" });
}

function newBar(root) {
  const bar = { root, state: null };
  bar.draw = unpressed(root, () => draw(bar));
  return bar;
}

// A tab keeps its name when it is loaded again, so that a lecturer who does that goes on leading.
function tellTab(bar) {
  const tab = (app().tab ??= keptName() ?? newName());
  try {
    sessionStorage.setItem("headsup-tab", tab);
  } catch {
    // then it keeps its name until it is loaded again
  }
  if (bar.data.tab !== tab) bar.setState("tab", tab);
}

function keptName() {
  try {
    return sessionStorage.getItem("headsup-tab");
  } catch {
    return null;
  }
}

const newName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");

function start(bar) {
  const { data, root } = bar;
  const { signal } = takeOver("room");
  Object.assign(bar, { follows: `${data.face} ${data.code}`, state: null, desk: null, looking: null, goesTo: 0 });
  if (data.face === "lecturer") {
    bar.desk = newDesk(part("div", { className: "desk" }), data.code, ["room", "question"]);
  }
  if (data.face === "wall") window.addEventListener("keydown", swallow, { signal, capture: true });
  if (data.face === "lecturer")
    window.addEventListener("keydown", (event) => escapeFromBar(bar, event), { signal, capture: true });
  onFoot(() => root.isConnected && bar.draw(), signal);
  if (data.face === "lecturer") tellScrolling(bar, signal);
  setRoomState(null);
  follow(data.code, {
    name: data.face === "lecturer" ? "lead" : "state",
    query: (state) => ({
      rev: state?.rev ?? 0,
      tally: state?.tally ?? "",
      ...(data.face === "wall" ? { watch: 1 } : {}),
    }),
    read: readJson,
    handlers: {
      state: (state, before) => {
        if (!root.isConnected) return;
        bar.lost = false;
        bar.state = state;
        obey(bar, before);
        bar.draw();
      },
      lost: () => {
        bar.lost = true;
        bar.draw();
      },
      refused: (why, status) => {
        const gone = status === 404;
        const words = data.face === "lecturer" ? ENDED_HERE : ENDED;
        Object.assign(bar, { refused: gone && bar.state ? words : why, state: gone ? null : bar.state });
        bar.draw();
      },
    },
    signal,
  });
}

// Nobody drives the wall; what its browser itself does with a key stays.
function swallow(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^F\d+$/.test(event.key)) return;
  event.stopImmediatePropagation();
  event.preventDefault();
}

function obey(bar, before) {
  const { state, data } = bar;
  if (data.face === "wall" && state.picture !== bar.shows) {
    bar.shows = state.picture;
    bar.setState("went", state.rev);
  }
  if (data.face === "looking" && before && state.gathered > before.gathered) backToLecture(bar);
  if (data.face !== "lecturer") return;
  const leads = state.leader === tabOf(bar);
  goWhereAsked(bar);
  if (leads && before && state.press && state.press.number > (before.press?.number ?? 0))
    pressHere(bar, state.press.key);
  const shown = state.question?.phase === "answer" && before?.question?.phase !== "answer";
  if (before && (shown || before.leader !== state.leader)) bar.setState("went", -state.rev); // which Python hears
}

// A view that was opened may come before the page knows that this tab leads.
function goWhereAsked(bar) {
  const { data, state } = bar;
  const number = state?.goto?.number ?? 0;
  if (data.face !== "lecturer" || state?.leader !== tabOf(bar) || number <= data.went || number === bar.goesTo) return;
  bar.goesTo = number;
  bar.setState("went", number);
}

const tabOf = ({ data }) => data.tab;

function backToLecture({ data }) {
  window.location.assign(new URL(`./r/${data.code}`, document.baseURI));
}

function draw(bar) {
  const { root, data, state } = bar;
  const faces = { lecturer: drawLecturer, looking: drawLooking, wall: drawWall };
  if (!state) {
    const words = bar.refused ? sentence(bar.refused) : `Room ${data.code} …`;
    root.replaceChildren();
    if (bar.refused && data.face === "wall") saidLarge(root, words);
    else root.append(part("p", { className: "waiting", textContent: words }));
    return;
  }
  faces[data.face](bar);
  root.classList.toggle("lost", Boolean(bar.lost));
}

function drawLecturer(bar) {
  bar.tellScrolling();
  const { root, data, desk, state } = bar;
  const hide = data.hide === null ? null : { on: data.hide, turn: () => bar.trigger("hide", data.page) };
  const parts = data.page === "room" ? ["room"] : ["room", "question"];
  const leads = state.leader === data.tab;
  const manage = () => [...(data.page === "room" ? [] : toRoom(bar)), whoLeads(bar, leads)];
  const { tab, presenting } = data;
  Object.assign(desk, { state, parts, hide, tab, presenting, folds: folds(), more: manage });
  desk.draw();
  const asks = state.question && state.question.phase !== "answer";
  setRoomState(leads ? (asks ? "asks" : nextPress(desk) ? "answers" : "shows") : null);
  const more = root.querySelector(".more") ?? part("div", { className: "more" });
  if (desk.root.parentElement !== root) root.replaceChildren(desk.root, more);
  refill(more, folds() ? [] : manage());
  if (nextPress(desk) === "lead") called(root, "lead")?.classList.add("next");
  root.classList.toggle("leads", leads);
  root.classList.toggle("presents", data.presenting);
  root.classList.toggle("folds", folds());
  coverRoom(bar, data.presenting);
  document.documentElement.classList.toggle("room-covered", hidesPage(bar));
}

function drawLooking(bar) {
  const { root, state } = bar;
  const { words, cover } = lookingParts(bar);
  const where = [state.view?.title, state.view?.place].filter(Boolean).join(", ");
  const asked = state.question ? "A question is open. " : "";
  const said = `${asked}${where ? `The lecturer is on ${where}.` : "The lecturer has shown nothing yet."}`;
  if (words.textContent !== said) words.textContent = said;
  if (state.question?.phase !== "open") cover.remove();
  else if (!cover.isConnected) root.append(cover);
  if (state.mode === "paused") backToLecture(bar);
}

// They stay while the task does: a note is typed while others come.
function lookingParts(bar) {
  const { root, state } = bar;
  if (bar.looking?.task === state.task) return bar.looking;
  const words = part("p", {});
  words.setAttribute("aria-live", "polite");
  const onclick = () => backToLecture(bar);
  const where = part("span", { textContent: " to the lecture" }); // but heard where there is no room for it
  const back = part("button", { type: "button", className: "back", onclick }, "Back", where);
  root.replaceChildren(words, ...(state.task ? handIn(bar) : []), back);
  bar.looking = { task: state.task, words, cover: coverOpen(bar) };
  return bar.looking;
}

// The page behind may have the answer on it.
function coverOpen(bar) {
  const button = { type: "button", className: "back", textContent: "Answer it", onclick: () => backToLecture(bar) };
  return part(
    "div",
    { className: "cover calm" },
    part("p", { textContent: "A question is open." }),
    part("button", button),
  );
}

// The task, which unfolds where there is little room, and the way to hand in what was found, which is always in sight.
function handIn(bar) {
  const { data, state } = bar;
  const note = ownKeys(
    part("input", { maxLength: 200, placeholder: "A few words on it", ariaLabel: "A few words on what you found" }),
  );
  const said = part("span", { className: "said", role: "status" });
  const give = part("button", { type: "button", className: "give", textContent: "Show the lecturer" });
  give.onclick = async () => {
    const { pathname, search } = window.location;
    const params = Object.fromEntries(new URLSearchParams(search));
    delete params.room;
    try {
      await send(data.code, "found", { page: pathname.split("/").pop() || "home", params, note: note.value });
      said.textContent = "The lecturer has it.";
      note.value = "";
    } catch (error) {
      said.textContent = /** @type {Error} */ (error).message;
    }
  };
  note.addEventListener("keydown", ({ key }) => key === "Enter" && give.click());
  const summary = part("summary", { textContent: `Task: ${state.task}` });
  const open = window.innerWidth > NARROW;
  return [part("details", { className: "task", open }, summary, note), said, give];
}

function drawWall(bar) {
  const { root, data, state } = bar;
  const about = state.task ? `Task: ${state.task}` : (state.view?.stop ?? ""); // in one line: the page has the rest
  const address = data.join.replace(/^https?:\/\//, "");
  const join = part("p", { className: "join" }, `${address}/r  `, part("b", { textContent: data.code }));
  root.replaceChildren(part("p", { className: "about", textContent: about }), join);
  scrollAlong(bar);
  coverRoom(bar, true);
  if (state.mode === "paused" && state.question?.phase !== "open") saidLarge(root, "Look up.");
}

// What a lecturer's strip has besides the desk: whether the room sees this tab, the way to the room's page, and keys.

// Closes what can be asked, or is unfolded, before it leaves the presentation.
function escapeFromBar(bar, event) {
  if (event.key === "Escape" && bar.root.isConnected && foldUp(bar.desk)) take(event);
}

// As if the lecturer had pressed it here; H hides what comes though nothing is presented.
function pressHere(bar, key) {
  if (key === "h") {
    bar.trigger("hide", bar.data.page);
    return;
  }
  const options = { key, code: key, bubbles: true, cancelable: true, composed: true };
  document.body.dispatchEvent(new KeyboardEvent("keydown", options));
}

function whoLeads(bar, leads) {
  if (leads) return part("span", { className: "leading", textContent: "The room sees this tab" });
  return button("Show this tab to the room", () => bar.trigger("lead", true), { act: "lead" });
}

// The way to the room's page, and what waits there.
function toRoom({ state }) {
  const link = (textContent, act) =>
    named(part("a", { href: "./room", target: "_self", textContent, onclick: byTheMenu }), act);
  const found = foundSince(state);
  const waits = found
    ? [Object.assign(link(`${found} found`, "found"), { className: "found", title: "On the room’s page" })]
    : [];
  return [...waits, link("Manage the room", "manage")];
}

// Within the visit, which a page loaded anew would end; a drawer that is closed has no link.
function byTheMenu(event) {
  const link = pageLink("room");
  if (!link) return;
  event.preventDefault();
  link.click();
}
