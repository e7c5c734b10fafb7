// A room on a phone: what the lecturer shows, or what is asked, and where the room is. `room` holds the state that came
// last, what this device alone is told, and the answer that is on its way.
import { part } from "#view/elements.js";
import { ask, base, follow, readPacked } from "./api.js";
import { showJoin } from "./join.js";
import { remember, remembered } from "./memory.js";
import { newOutbox } from "./outbox.js";
import { comingOf, drawQuestion } from "./question.js";
import { buildShell, openKept, showShell } from "./shell.js";
import { NOT_YET, showTask, showView } from "./shown.js";
import { COMING, leavesInSight, placeOf, sentence } from "./words.js";

const NOTICE = 8_000; // ms
const OPEN = ["open", "closed", "split"]; // phases in which the view would give the answer away

export function enterRoom(main, code) {
  const room = { main, code, state: null, mine: null, sending: null, lost: false, wanted: null, sent: 0 };
  room.forgotten = () => {
    room.sent += 1;
    Object.assign(room, { mine: room.mine && { ...room.mine, answers: {} }, sending: null });
    room.outbox.clear();
    drawRoom(room);
  };
  document.title = `Room ${code} · Heads Up`;
  buildShell(room);
  room.outbox = newOutbox(code, (told) => tellAnswer(room, told));
  room.following = new AbortController();
  listenToPage(room);
  drawRoom(room);
  follow(code, {
    query: (state) => ({ rev: state?.rev ?? "", picture: state?.held ?? "" }),
    read: readPacked,
    told: {
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

// What this device alone is told: at first, and where the room asks each its own or has begun anew.
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

function tellAnswer(room, { state, why, answer }) {
  room.sent += 1;
  room.sending = state === "sent" ? null : { state, why: sentence(why), answer };
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
    return { name: `${question.id}/${question.round}/${phase}`, shows, said: questionSaid(question) };
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

function questionSaid({ phase, number, spec }) {
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
