// The page of a phone: the way in, or a room, where it shows what the lecturer shows or what is asked. `room` holds the
// state that came last, what this device alone is sent, and the answer that is on its way.
import PHONE from "./phone.css";
import QUESTION from "../question/question.css";
import { dress, part } from "#view/page/elements.js";
import { ask, base, follow, newOutbox, readPacked } from "../connection.js";
import { showJoin } from "./join.js";
import { newPicture, redrawPicture, showPicture } from "./picture.js";
import { comingOf, drawQuestion } from "../question/question_view.js";
import { COMING, keptText, leavesInSight, placeOf, sentence } from "../texts.js";

const NOTICE = 8_000; // ms
const OPEN = ["open", "closed", "split"]; // phases in which the view would give the answer away

function enterRoom(main, code) {
  /** @type {any} */
  const room = { main, code, state: null, mine: null, sending: null, lost: false, wanted: null, sent: 0 };
  document.title = `Room ${code} · Heads Up`;
  buildShell(room);
  room.outbox = newOutbox(code, (report) => receiveAnswer(room, report));
  room.following = new AbortController();
  listenToPage(room);
  drawRoom(room);
  follow(code, {
    query: (state) => ({ rev: state?.rev ?? "", picture: state?.held ?? "" }),
    read: readPacked,
    handlers: {
      state: (state, before) => receive(room, state, before),
      lost: () => {
        room.lost = true;
        showShell(room);
      },
      refused: (why, status) => refuse(room, why, status),
    },
    signal: room.following.signal,
  });
}

function receive(room, state, before) {
  const { lost } = room;
  Object.assign(room, { state, lost: false, refused: null });
  remember(room, "seen");
  if (state.gathered > (before?.gathered ?? state.gathered)) callBack(room);
  if (!before && remembered(room, "away")) comeBack(room);
  if (lost) room.outbox.hurry();
  wantMine(room);
  if (state !== before || lost) drawRoom(room);
}

function refuse(room, why, status) {
  if (status !== 404) {
    Object.assign(room, { refused: sentence(why), lost: false });
    return drawRoom(room);
  }
  if (room.state || remembered(room, "seen")) {
    room.ended = true;
    return drawRoom(room);
  }
  const wrong = `There is no room ${room.code}, or it has ended. Type the code again, as it is on the wall.`;
  showJoin(room.main, { why: wrong, typed: room.code });
}

// What this device alone is sent: at first, and where the room asks each its own or has begun anew.
function wantMine(room) {
  const { question } = room.state;
  const own = question?.own ? [question.id, question.phase === "answer"] : null;
  const wanted = JSON.stringify([own, question?.since ? [question.id, question.since] : null]);
  if (room.wanted !== wanted) fetchMine(room, wanted);
}

async function fetchMine(room, wanted) {
  room.wanted = wanted;
  const { sent } = room;
  try {
    const mine = await ask(room.code, "mine");
    if (room.wanted !== wanted) return;
    if (room.sent !== sent) return fetchMine(room, wanted); // an answer was sent meanwhile
    room.mine = mine;
    drawRoom(room);
  } catch {
    if (room.wanted === wanted) room.wanted = null; // with the next answer to what the room is at
  }
}

function receiveAnswer(room, { state, why, answer }) {
  room.sent += 1;
  room.sending = state === "sent" || state === "forgotten" ? null : { state, why: sentence(why), answer };
  if (state === "forgotten") room.mine = room.mine && { ...room.mine, answers: {} };
  if (state === "sent") {
    room.mine ??= { number: null, answers: {}, own: null };
    room.mine.answers[`${answer.question}/${answer.round}`] = [answer.value, answer.sure];
  }
  drawRoom(room);
}

// Back to the lecture, whatever was looked at here.
function callBack(room) {
  openKept(room, false);
  notice(room, "The lecturer has called everybody back.");
  window.scrollTo(0, 0);
}

function comeBack(room) {
  remember(room, "away", false);
  const place = placeOf(room.state.view);
  if (place) notice(room, `You are back. The lecturer is at ${place}.`);
}

function notice(room, words) {
  const { notice: line } = room.parts;
  clearTimeout(room.noticing);
  Object.assign(line, { textContent: words, hidden: false });
  room.noticing = setTimeout(() => Object.assign(line, { hidden: true }), NOTICE);
}

function drawRoom(room) {
  const { parts, state, lost } = room;
  showShell(room);
  const screen = screenOf(room);
  for (const name of ["calm", "question", "view", "task"]) parts[name].hidden = !screen.shows.includes(name);
  if (screen.words) parts.calm.replaceChildren(...screen.words);
  if (screen.shows.includes("question")) askRoom(room);
  if (screen.shows.includes("view")) showView(room);
  if (state?.task) showTask(room);
  const before = room.screen;
  room.screen = screen.name;
  if (before && before !== screen.name) {
    if (screen.name !== "view") parts.notice.hidden = true;
    window.scrollTo(0, 0);
  }
  if (!lost && parts.live.textContent !== screen.said) parts.live.textContent = screen.said ?? "";
}

const big = (textContent) => part("h2", { textContent });
const small = (textContent) => part("p", { textContent });
const calm = (name, said, ...words) => ({ name, shows: ["calm"], words, said });

// What is to be seen: {name, shows: parts, words, said}.
function screenOf({ state, refused, ended, code }) {
  if (ended) {
    const again = part("a", { className: "send", href: `${base()}r`, textContent: "Join another room" });
    const words = [big("This room has ended."), small("What you answered has been deleted."), again];
    return calm("ended", "This room has ended.", ...words);
  }
  if (refused) return calm("refused", refused, big("Not let in"), small(refused));
  if (!state) return calm("joining", "", small(`Joining room ${code} …`));
  const { question, mode, view, drawing } = state;
  const phase = question?.phase;
  if (mode === "paused" && phase !== "open") return calm("paused", "Look up.", big("Look up."));
  if (OPEN.includes(phase)) {
    const shows = leavesInSight(state) ? ["question", "view"] : ["question"];
    return { name: `${question.id}/${question.round}/${phase}`, shows, said: questionText(question) };
  }
  if (state.coming) {
    if (state.coming === COMING) return calm("coming", COMING, big(COMING));
    const words = [big(state.coming), ...comingOf(state), small("Think first. You will be asked in a moment.")];
    return calm(`coming ${state.coming}`, `Think first: ${state.coming}`, ...words);
  }
  const shows = state.task ? ["task", "view"] : ["view"];
  if (phase === "answer") {
    return { name: `${question.id} answer`, shows: ["question", "view"], said: "The answer is shown." };
  }
  const nothing = state.task ? `Task: ${state.task}` : NOT_YET;
  const said = drawing?.step_view?.said || view?.said || (view ? `The lecturer shows ${placeOf(view)}.` : nothing);
  return { name: "view", shows, said };
}

function questionText({ phase, number, spec }) {
  if (phase === "open") return `Question ${number}: ${spec.ask}`;
  return phase === "closed" ? "The question is closed." : "How the room answered is shown.";
}

function askRoom(room) {
  const { parts, state, mine, sending, outbox } = room;
  const { question } = state;
  const about = sending?.answer;
  const ours = about && about.question === question.id && about.round === question.round;
  drawQuestion(parts.question, state, {
    mine,
    sending: ours ? sending : null,
    onAnswer: (value, sure) => outbox.put({ question: question.id, round: question.round, value, sure }),
  });
}

// A page that a browser has kept as it was is asked anew where it comes back.
function listenToPage(room) {
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && room.state && remembered(room, "away")) comeBack(room);
  });
}

// What a page that is loaded again knows of a room; a browser may keep nothing.

function remember({ code }, name, on = true) {
  try {
    if (on) sessionStorage.setItem(`room ${code} ${name}`, "1");
    else sessionStorage.removeItem(`room ${code} ${name}`);
  } catch {
    // then a room that has ended is one that never was
  }
}

function remembered({ code }, name) {
  try {
    return sessionStorage.getItem(`room ${code} ${name}`) !== null;
  } catch {
    return false;
  }
}

// What stands round everything that a room shows on a phone: its code, whether it is connected, what is kept.

const COOKIE =
  "No address and nothing about this device is stored with them. One cookie tells this browser from the others, so " +
  "that it has one answer to each question.";
const LOST = "No connection: trying again";

// room: {main, code}; its parts are made here once.
function buildShell(room) {
  const section = (className) => part("section", { className, hidden: true });
  const parts = {
    link: part("span", { className: "link", role: "status" }),
    kept: part("div", { className: "kept", id: "kept", hidden: true }),
    notice: part("p", { className: "notice", role: "status", hidden: true }),
    task: section("task"),
    calm: section("calm"),
    question: section("asks"),
    view: section("view"),
    live: part("p", { className: "unseen", ariaLive: "polite" }),
  };
  const code = part(
    "h1",
    { className: "code" },
    part("span", { className: "unseen", textContent: "Room " }),
    room.code,
  );
  parts.about = part("button", { type: "button", className: "about", ariaLabel: "What is kept" });
  parts.about.setAttribute("aria-controls", "kept");
  parts.about.onclick = () => openKept(room, parts.kept.hidden);
  room.parts = parts;
  buildKept(room);
  openKept(room, false);
  const { link, about, kept, notice, task, calm, question, view, live } = parts;
  const top = part("header", { className: "top" }, code, link, about);
  room.main.replaceChildren(top, kept, notice, task, calm, question, view, live);
}

function openKept({ parts }, open) {
  parts.kept.hidden = !open;
  parts.about.setAttribute("aria-expanded", String(open));
}

function buildKept(room) {
  const { kept } = room.parts;
  const words = part("p", { className: "words" });
  const said = part("p", { role: "status" });
  const button = part("button", { type: "button", textContent: "Delete mine now" });
  button.onclick = async () => {
    button.disabled = true;
    said.textContent = "";
    try {
      await room.outbox.forget();
      said.textContent = "Deleted: everything that this browser has answered and handed in.";
    } catch {
      said.textContent = "Nothing was deleted, because the server did not answer. Try again.";
    }
    button.disabled = false;
  };
  kept.append(words, part("p", { textContent: COOKIE }), button, said);
}

function showShell({ parts, state, mine, lost, ended, refused }) {
  parts.link.hidden = Boolean(ended || refused);
  parts.link.classList.toggle("lost", lost);
  const words = lost ? LOST : state ? "Connected" : "Connecting …";
  if (parts.link.textContent !== words) parts.link.textContent = words;
  parts.link.classList.toggle("calmly", !lost && Boolean(state));
  if (state) parts.kept.querySelector(".words").textContent = keptText(state.ends, mine?.number);
}

// The lecturer's view on a phone, with the way to look around from there, and what there is to look for.

const HOME = { page: "home", params: {} };
const NOT_YET = "The lecturer has not shown anything yet.";

function showView(room) {
  const { parts, state } = room;
  const { view, mode, drawing, held, picture } = state;
  room.viewing ??= buildView(parts.view, room);
  const { title, place, free, words, look, root } = room.viewing;
  const away = !view || view.page === "room"; // nothing is shown that can be opened
  title.hidden = away;
  title.replaceChildren(away ? "" : view.title, " ", place);
  place.textContent = (!away && view.place) || "";
  free.hidden = mode !== "free" || Boolean(state.task);
  look.hidden = away && !state.task;
  look.href = addressOfView(room.code, away ? HOME : view);
  const drawn = view && drawing && held === picture;
  root.hidden = !drawn;
  words.hidden = Boolean(drawn || (away && state.task));
  words.textContent = !away
    ? `The lecturer shows ${view.title}. Look at the wall, or look around. ${view.said}`.trim()
    : NOT_YET;
  if (drawn) showPicture(room.viewing.picture, drawing);
}

function buildView(section, room) {
  const made = {
    title: part("h2"),
    place: part("span", { className: "place" }),
    free: part("p", { className: "free", textContent: "Look around on your own; the lecturer will call you back." }),
    words: part("p", { className: "words" }),
    look: part("a", { className: "look", textContent: "Look around" }),
    root: part("div", { className: "picture-of-view" }),
  };
  made.look.title = "Open this exact view in the app";
  made.look.onclick = () => remember(room, "away");
  section.append(part("div", { className: "heading" }, made.title, made.look), made.free, made.words, made.root);
  made.picture = newPicture(made.root);
  let width = 0;
  new ResizeObserver(() => {
    if (made.root.clientWidth === width) return;
    width = made.root.clientWidth;
    redrawPicture(made.picture);
  }).observe(made.root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawPicture(made.picture));
  return made;
}

function addressOfView(code, { page, params }) {
  const search = new URLSearchParams({ ...params, room: code });
  return new URL(`${base()}${page === "home" ? "" : page}?${search}`, document.baseURI).href;
}

function showTask({ parts, state }) {
  const textContent = "Look around, then press “Show the lecturer” on the page you found.";
  const how = part("p", { textContent });
  parts.task.replaceChildren(
    part("h2", { textContent: "Task" }),
    part("p", { className: "words", textContent: state.task }),
    how,
  );
}

const main = document.querySelector("main");
dress(main, PHONE, QUESTION);
const [, codeInAddress] = /\/r\/([^/]+)$/.exec(window.location.pathname) ?? [];
if (codeInAddress) enterRoom(main, decodeURIComponent(codeInAddress).toUpperCase());
else showJoin(main);
