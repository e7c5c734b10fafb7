// What a lecturer does with a room: in the strip at the foot of every page, on the page of the room, and on the phone that
// is the remote. `desk` holds the root, the state that came last, and how things are sent.
import { part, segments } from "#view/elements.js";
import { send } from "./api.js";
import { drawQuestion } from "./question.js";

const MODES = [
  ["follow", "Follow"],
  ["free", "Look around"],
  ["paused", "Pause"],
];
const PHASES = [
  ["draft", "Draft"],
  ["open", "Open"],
  ["closed", "Closed"],
  ["split", "Votes"],
  ["answer", "Answer"],
];
const KEYS = [
  ["ArrowLeft", "◀ Back"],
  ["ArrowRight", "Step ▶"],
  ["PageUp", "Previous stop"],
  ["PageDown", "Next stop"],
  ["b", "Dark"],
];
const ABOUT = {
  "next token": "What comes next?",
  cell: "Where does this head look?",
  head: "Which head is it?",
  number: "How much?",
  row: "Draw the row of attention",
  distribution: "Draw what may come next",
  text: "In your own words",
  "own sentence": "A sentence for each phone",
  stop: "What this stop asks",
};

export function newDesk(root, code, { large = false } = {}) {
  const desk = { root, code, large, said: "", offers: null, open: {} };
  desk.act = (name, more = {}) => act(desk, name, more);
  return desk;
}

// Sends what was done; the room's next state shows what has come of it.
async function act(desk, name, more) {
  desk.said = "";
  try {
    const found = await send(desk.code, "do", { do: name, ...more });
    return found;
  } catch (error) {
    desk.said = error.message;
    return null;
  } finally {
    if (desk.state) drawDesk(desk);
  }
}

const button = (textContent, onclick, more = {}) => part("button", { type: "button", textContent, onclick, ...more });

// parts: which of "room", "question", "remote", "people" stand there.
export function drawDesk(desk, parts = desk.parts) {
  desk.parts = parts;
  const { root, state } = desk;
  if (!state) return;
  const making = { room: roomLine, question: questionPart, remote: remoteKeys, people: people };
  const focused = root.getRootNode().activeElement?.dataset?.act;
  const typed = root.querySelector("input.task");
  if (typed && typed === root.getRootNode().activeElement) return; // nothing is taken from under the fingers
  root.replaceChildren(...parts.map((name) => making[name](desk)).filter(Boolean), saidPart(desk));
  if (focused) root.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

const saidPart = ({ said }) => part("p", { className: "said", role: "status", textContent: said });

function named(element, act) {
  element.dataset.act = act;
  return element;
}

function roomLine(desk) {
  const { state, act: deed } = desk;
  const mode = segments("What phones show", MODES, state.mode, (value) => deed("mode", { mode: value }));
  for (const [at, one] of [...mode.children].entries()) named(one, `mode ${at}`);
  const here = part("span", { className: "here", textContent: `${state.here} here`, title: "Phones in the room now" });
  const code = part("b", { className: "code", textContent: state.code });
  const gather = button("Bring everyone here", () => deed("gather"), {
    title: "Whoever looks around comes back to the lecture",
  });
  return part("div", { className: "line" }, part("span", {}, "Room ", code), here, mode, named(gather, "gather"));
}

function questionPart(desk) {
  const { state, act: deed } = desk;
  const { question } = state;
  const block = part("div", { className: "asking" });
  if (!question) {
    block.append(named(button("Ask…", () => toggleOffers(desk), { ariaExpanded: Boolean(desk.offers) }), "offers"));
    if (desk.offers) block.append(offersList(desk));
    return block;
  }
  const phases = segments("Phase of the question", PHASES, question.phase, (phase) => deed("phase", { phase }));
  for (const [at, one] of [...phases.children].entries()) named(one, `phase ${at}`);
  const count = part("span", { className: "count", textContent: `${state.answered} of ${state.here} have answered` });
  count.setAttribute("aria-live", "polite");
  const number = `Question ${question.number}${question.round === 2 ? ", second round" : ""}`;
  const more = [
    question.round === 1 && question.phase !== "draft" && named(button("Second round", () => deed("again")), "again"),
    question.phase !== "draft" && named(button("Reset", () => deed("reset"), { title: "Forget its votes" }), "reset"),
    named(button(question.phase === "draft" ? "Discard" : "Done", () => deed("put away")), "away"),
    question.spec.about === "head" &&
      question.phase === "answer" &&
      named(button("Switch heads off", () => switchOff(desk)), "switch"),
  ].filter(Boolean);
  block.append(
    part("p", { className: "ask" }, part("b", { textContent: `${number}: ` }), question.spec.ask),
    part("div", { className: "line" }, phases, count, ...more),
  );
  if (desk.switched) block.append(switchedTable(desk.switched));
  if (desk.parts.includes("people") || question.phase === "answer") block.append(asRoomSees(desk));
  return block;
}

function asRoomSees({ state }) {
  const root = part("div", { className: "seen" });
  drawQuestion(root, state, { face: "lecturer" });
  return root;
}

async function toggleOffers(desk) {
  if (desk.offers) {
    desk.offers = null;
    return drawDesk(desk);
  }
  const found = await desk.act("offers");
  desk.offers = found?.offers ?? null;
  desk.switched = null;
  drawDesk(desk);
}

function offersList(desk) {
  const items = desk.offers.map((offer) => {
    const ask = async () => {
      desk.offers = null;
      await desk.act("ask", { about: offer.about });
    };
    const one = named(button(ABOUT[offer.about] ?? offer.about, ask, { disabled: Boolean(offer.why) }), offer.about);
    return part("li", {}, one, part("span", { textContent: offer.why ?? offer.ask ?? "" }));
  });
  return part("ul", { className: "offers", ariaLabel: "What can be asked about this view" }, ...items);
}

async function switchOff(desk) {
  const found = await desk.act("switch off");
  desk.switched = found?.heads ?? null;
  drawDesk(desk);
}

function switchedTable(heads) {
  const rows = heads.map((one) =>
    part(
      "tr",
      {},
      ...[one.label, one.who, percent(one.before), percent(one.after)].map((text) =>
        part("td", { textContent: String(text) }),
      ),
    ),
  );
  const head = part("tr", {}, ...["head off", "", "its token before", "and now"].map((text) => part("th", { textContent: text })));
  return part("table", { className: "switched" }, head, ...rows);
}

const percent = (value) => `${(100 * value).toFixed(1)}%`;

// The remote: what a key would do on the lecturer's own computer.
function remoteKeys({ state, act: deed }) {
  const keys = KEYS.map(([key, words]) => named(button(words, () => deed("press", { key })), `press ${key}`));
  const where = [state.view?.title, state.view?.place].filter(Boolean).join(", ") || "nothing yet";
  return part("div", { className: "remote" }, part("p", { textContent: `Shown now: ${where}` }), ...keys);
}

function people(desk) {
  const { state, act: deed } = desk;
  const task = part("input", {
    className: "task",
    value: state.task,
    maxLength: 300,
    placeholder: "Find a head that looks at the verb",
    ariaLabel: "A task for everybody",
  });
  const give = button(state.task ? "Change the task" : "Give a task", () => {
    task.blur();
    deed("task", { task: task.value });
  });
  task.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Enter") give.click();
  };
  const away = state.task && named(button("Take it away", () => deed("task", { task: "" })), "no task");
  return part(
    "div",
    { className: "people" },
    part("h3", { textContent: "Show what you found" }),
    part("div", { className: "line" }, task, named(give, "task"), ...(away ? [away] : [])),
    tiles(desk),
    ...(state.moderate ? [part("h3", { textContent: "Texts" }), moderation(desk)] : []),
    part("h3", { textContent: `${state.devices.length} phones` }),
    devices(desk),
  );
}

function tiles({ state, act: deed }) {
  if (!state.tiles.length) return part("p", { className: "none", textContent: "Nobody has handed in a view yet." });
  const list = state.tiles.map((tile) => {
    const text = tile.params.text ?? "";
    return part(
      "li",
      { className: tile.shown ? "shown" : "" },
      part("b", { textContent: `${tile.title}${tile.params.step ? `, step ${tile.params.step}` : ""}` }),
      part("span", { textContent: [tile.params.kind, tile.params.layer && `L${tile.params.layer}H${tile.params.head}`].filter(Boolean).join(" ") }),
      part("q", { textContent: text }),
      part("p", { textContent: tile.note }),
      part("small", { textContent: `phone ${tile.number}` }),
      named(button("Open on the wall", () => deed("tile", { id: tile.id })), `tile ${tile.id}`),
      named(button("Remove", () => deed("drop tile", { id: tile.id })), `drop ${tile.id}`),
    );
  });
  return part("ul", { className: "tiles" }, ...list);
}

function moderation({ state, act: deed }) {
  if (!state.moderate.length) return part("p", { className: "none", textContent: "No text has come yet." });
  const list = state.moderate.map(({ seq, text, number, shown }) => {
    const show = button(shown ? "Hide" : "Show to the room", () => deed("text", { seq, on: !shown }));
    return part("li", { className: shown ? "shown" : "" }, part("q", { textContent: text }), part("small", { textContent: `phone ${number}` }), named(show, `text ${seq}`));
  });
  return part("ul", { className: "texts" }, ...list);
}

function devices(desk) {
  const { state, act: deed } = desk;
  const lock = named(
    button(state.locked ? "Let new phones in" : "Let nobody new in", () => deed("lock", { on: !state.locked })),
    "lock",
  );
  const list = state.devices.map(({ number, here, out }) => {
    const way = button(out ? "Let back in" : "Take out", () => deed("out", { number, on: !out }));
    return part("li", {}, `phone ${number}${out ? ", taken out" : here ? "" : ", away"} `, named(way, `out ${number}`));
  });
  const all = part("details", { open: Boolean(desk.open.devices) }, part("summary", { textContent: "Each of them" }), part("ul", {}, ...list));
  all.ontoggle = () => {
    desk.open.devices = all.open;
  };
  return part("div", {}, lock, all);
}
