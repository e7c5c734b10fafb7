// A lecturer's question: what can be asked of what is shown, the five phases, and what became of it.
import { part } from "#view/page/elements.js";
import { unfold } from "../../foot.js";
import { moderation } from "./moderation.js";
import { drawQuestion } from "../question/question_view.js";
import { nameOf, withoutHead } from "../texts.js";
import { button, called, errorPart, growing, named, ownKeys, radios } from "./widgets.js";

export const PHASES = [
  ["draft", "Draft"],
  ["open", "Open"],
  ["closed", "Closed"],
  ["split", "Votes"],
  ["answer", "Answer"],
];
const FIRST_PHASE = "phase 1";
const MOST_EXCEPTIONS = 8;
const NOTHING = "Nothing is shown to the room yet; open a page with a model.";
const SEEN = "Everyone can see the answer now: hide what comes next before you step there.";

export function questionPart(desk) {
  const { before = [], line, more = [], after = [] } = askingParts(desk);
  line.append(...more);
  return part("div", { className: "asking" }, ...before, line, ...after);
}

// The same where the strip has one line: what stands there, and what unfolds.
export function questionFolded(desk) {
  const { before = [], line, more = [], after = [] } = askingParts(desk);
  const rest = part("div", { className: "asking" }, ...before, part("div", { className: "line" }, ...more), ...after);
  return [part("div", { className: "asking" }, line), rest];
}

const askingParts = (desk) => (desk.state.question ? questionParts(desk, desk.state.question) : offerParts(desk));

const answering = () => part("p", { role: "status", textContent: "The model is answering …" });

const lineOf = (...parts) => part("div", { className: "line" }, ...parts);

// {line, and where there is something before it, more at its end, and after it}
function offerParts(desk) {
  if (desk.offers && desk.folds) return { line: lineOf(askButton(desk)), after: [offersList(desk)] };
  if (desk.offers) return { line: offersList(desk) };
  if (desk.computing) return { line: answering() };
  const { view, coming } = desk.state;
  const skip = button("Show it without asking", () => desk.act("uncover"), { act: "uncover" });
  const why = view ? [] : [part("span", { className: "why", textContent: NOTHING })];
  if (!coming) return { line: lineOf(askButton(desk)), more: why };
  const before = desk.whole ? [part("p", { textContent: `Covered until it is asked: ${coming}` })] : [];
  const said = part("span", { className: "said", textContent: "Covered until it is asked:" });
  const about = desk.presenting || desk.whole || desk.folds ? [] : [said]; // the lesson's own bar has the words
  return { before, line: lineOf(...about, askStop(desk)), more: [skip, askButton(desk), ...why] };
}

function askButton(desk) {
  const toggle = async () => {
    if (closeOffers(desk)) return;
    desk.offers = (await desk.act("offers"))?.offers ?? null;
    if (desk.offers) unfold("room");
    desk.draw();
  };
  const open = button("Ask…", toggle, { act: "offers", disabled: !desk.state.view });
  open.setAttribute("aria-expanded", String(Boolean(desk.offers)));
  return open;
}

// What goes away with Escape, and what was said of it -> whether there was anything.
export function closeOffers(desk) {
  if (!desk.offers) return false;
  Object.assign(desk, { offers: null, error: "" });
  unfold(null);
  desk.draw();
  called(desk.root, "offers")?.focus({ preventScroll: true });
  return true;
}

// Whether what an offer asks stands on everybody's screen.
function answerOnScreen({ offers, state: { view, coming } }) {
  const asked = offers.some(({ on_page: onPage, why }) => !why && onPage);
  return Boolean(asked && view && !view.hide && !coming);
}

const askStop = (desk) =>
  button("Ask this stop’s question", ({ detail }) => choose(desk, detail, { about: "stop", open: true }), {
    act: "stop",
  });

// Who chooses by keyboard goes on with the phases; a mouse leaves the keys to the page. What cannot be asked as it is
// stays to be asked otherwise.
async function choose(desk, detail, what) {
  const asked = await desk.act("ask", what);
  if (asked) {
    desk.offers = null;
    unfold(null);
  }
  if (!detail) desk.focusNext = asked ? FIRST_PHASE : what.about;
  desk.draw();
}

function offersList(desk) {
  const warned = answerOnScreen(desk) ? [part("p", { className: "warned", textContent: SEEN })] : [];
  const after = desk.computing ? answering() : errorPart(desk);
  const open = desk.folds ? [] : [askButton(desk)]; // which has it in the line already
  const list = desk.whole
    ? part("div", {}, lineOf(...open), ...warned, longList(desk), after)
    : shortList(desk, open, [...warned, after]);
  list.inert = desk.computing;
  return list;
}

// In the strip there is room for the buttons alone; all of the room has the words too.
function shortList(desk, before, after) {
  const items = desk.offers.map(({ about, title, ask, why }) => {
    const put = ({ detail }) => choose(desk, detail, { about });
    return button(title, put, { act: about, disabled: Boolean(why), title: why ?? ask });
  });
  return part(
    "div",
    { className: "line offers", role: "group", ariaLabel: "What can be asked about this view" },
    ...before,
    ...items,
    ...after,
  );
}

function longList(desk) {
  const items = desk.offers.map((offer) => {
    if (offer.why) {
      const cannot = button(offer.title, () => {}, { disabled: true });
      return part("li", {}, cannot, part("span", { className: "why", textContent: offer.why }));
    }
    const ariaLabel = `${offer.title} In your words`;
    const words = growing(
      part("textarea", { value: offer.ask, placeholder: "In your words", maxLength: 200, ariaLabel }),
    );
    const way = offer.ways?.length > 1 ? wayChooser(offer) : null;
    const lines = offer.takes_sentences ? sentencesBox() : null;
    const ask = ({ detail }) => {
      const own = words.value.trim() === offer.ask ? "" : words.value.trim();
      return choose(desk, detail, {
        about: offer.about,
        ask: own,
        of: way && way.value !== offer.ways[0] ? way.value : "",
        sentences: lines?.value ?? "",
      });
    };
    const row = part("li", {}, button(offer.title, ask, { act: offer.about }), words);
    for (const more of [way, lines]) if (more) row.append(more);
    return row;
  });
  return part("ul", { className: "offers", ariaLabel: "What can be asked about this view" }, ...items);
}

function wayChooser({ title, ways }) {
  const options = ways.map((one) => part("option", { value: one, textContent: one }));
  return part("select", { ariaLabel: `${title} About` }, ...options);
}

const sentencesBox = () =>
  ownKeys(
    part("textarea", {
      rows: 2,
      maxLength: 12_000,
      placeholder: "Your own sentences, one per line; if empty, sentences that the model has not seen",
      ariaLabel: "Sentences, one per line",
    }),
  );

function questionParts(desk, question) {
  const { state, act } = desk;
  const phases = radios("Phase of the question", "phase", PHASES, question.phase, (phase) => act("phase", { phase }));
  const counted = `${state.answered} of ${state.here}`;
  const count = part("span", { className: "count", textContent: desk.folds ? counted : `${counted} have answered` });
  count.setAttribute("aria-live", "polite");
  count.title = `${counted} have answered`;
  const draft = question.phase === "draft";
  const done = button(draft ? "Discard" : "Done", () => act("put away"), { act: "away" });
  const second = () => button("Second round", () => act("again"), { act: "again" });
  const reset = () =>
    button("Reset", () => act("reset"), { act: "reset", title: "Forget its votes and ask once more" });
  const again = draft ? [] : [...(question.round === 1 ? [second()] : []), reset()];
  const switches = question.spec.heads && question.phase === "answer" && !question.key?.switched;
  const ways = switches ? [button("Switch the heads off", () => act("switch off"), { act: "switch" })] : [];
  const number = `Question ${question.number}${question.round === 2 ? ", second round" : ""}: `;
  const names = question.spec.choices?.map((choice) => nameOf(question.spec, choice)) ?? [];
  const choices = draft ? names.join("  ·  ") : "";
  const text = question.phase === "answer" ? question.key?.said : choices;
  const beside = desk.folds ? [done] : [...again, done];
  const ask = part("span", { className: "said", textContent: question.spec.ask, title: question.spec.ask });
  const line = lineOf(phases, draft && desk.folds ? ask : count, ...beside);
  const more = [...(desk.folds ? again : []), ...ways];
  if (desk.presenting && !draft) return { line, more }; // the cover has the rest, and texts to let through are nobody's
  return {
    before: [
      part("p", { className: "ask" }, part("b", { textContent: number }), question.spec.ask),
      ...(text ? [part("p", { className: "said", textContent: text })] : []),
      ...(question.key?.switched ?? []).map((row) => part("p", { className: "said", textContent: withoutHead(row) })),
    ],
    line,
    more,
    after: [
      ...(state.moderate && !desk.parts.includes("people") ? [moderation(desk)] : []),
      ...(desk.whole
        ? [peek(desk, question), seenByRoom(state), exceptions(desk, question)].filter((one) => one !== null)
        : []),
    ],
  };
}

// The votes so far, where nobody else looks at the screen.
function peek(desk, question) {
  if (!["open", "closed"].includes(question.phase)) return null;
  const toggle = async () => {
    desk.peeked = desk.peeked ? null : await desk.act("peek");
    desk.draw();
  };
  const words = desk.peeked ? "Hide the votes" : "Look at the votes (on this screen only)";
  const block = part("div", {}, button(words, toggle, { act: "peek" }));
  const { peeked } = desk;
  if (peeked?.question === question.id && peeked.round === question.round) {
    block.append(resultsOf({ question: { ...question, ...peeked, id: question.id, phase: "split", texts: [] } }));
  }
  return block;
}

const seenByRoom = (state) => (state.question.phase === "draft" ? null : resultsOf(state));

function resultsOf(state) {
  const root = part("div", { className: "seen" });
  drawQuestion(root, state, { face: "lecturer" });
  return root;
}

// Sentences that most answered in another way than the model, each one press from the wall.
function exceptions({ act }, question) {
  const list = question.summary?.exceptions ?? [];
  if (!list.length) return null;
  const items = list.slice(0, MOST_EXCEPTIONS).map((one) => {
    const params = { ...question.view.params, text: one.text };
    delete params.choices;
    const open = button("Open on the wall", () => act("show", { page: question.view.page, params }));
    const words = part("span", {
      textContent: `Most common: ${nameOf(question.spec, one.said)}. The model: ${nameOf(question.spec, one.right)}.`,
    });
    return part("li", {}, part("q", { textContent: one.text }), words, named(open, `exception ${one.number}`));
  });
  return part("ul", { className: "exceptions", ariaLabel: "Where the room and the model differ" }, ...items);
}
