// A lecturer's question: what can be asked of what is shown, the five phases, and what became of it.
import { part, segments } from "#view/elements.js";
import { drawQuestion } from "./question.js";
import { button, named, ownKeys } from "./parts.js";
import { moderation } from "./people.js";
import { nameOf, withoutHead } from "./words.js";

const PHASES = [
  ["draft", "Draft"],
  ["open", "Open"],
  ["closed", "Closed"],
  ["split", "Votes"],
  ["answer", "Answer"],
];
const ABOUT = {
  stop: "What this stop asks",
  "next token": "What comes next?",
  cell: "Where does this head look?",
  head: "Which head is it?",
  number: "How much?",
  row: "Draw the row of attention",
  distribution: "Draw what may come next",
  text: "In your own words",
  "own sentence": "A sentence for each phone",
};
const MOST_EXCEPTIONS = 8;

// redraw: the desk is drawn anew.
export function questionPart(desk, redraw) {
  const { question } = desk.state;
  const block = part("div", { className: "asking" });
  if (question) block.append(...askedNow(desk, question, redraw));
  else block.append(...toAsk(desk, redraw));
  return block;
}

function toAsk(desk, redraw) {
  const toggle = async () => {
    desk.offers = desk.offers ? null : ((await desk.act("offers"))?.offers ?? null);
    redraw();
  };
  const open = named(button("Ask…", toggle), "offers");
  open.setAttribute("aria-expanded", String(Boolean(desk.offers)));
  const { coming } = desk.state;
  const skip = named(
    button("Show it without asking", () => desk.act("uncover")),
    "uncover",
  );
  const parts = coming ? [part("p", { className: "said", textContent: `Covered until it is asked: ${coming}` })] : [];
  parts.push(part("div", { className: "line" }, open, ...(coming ? [askStop(desk), skip] : [])));
  return desk.offers ? [...parts, offersList(desk)] : parts;
}

const askStop = (desk) =>
  named(
    button("Ask this stop’s question", () => desk.act("ask", { about: "stop", open: true })),
    "ask stop",
  );

function offersList(desk) {
  return desk.whole ? longList(desk) : shortList(desk);
}

// In the strip there is room for the buttons alone; all of the room has the words too.
function shortList(desk) {
  const items = desk.offers.map(({ about, ask, why }) => {
    const put = () => {
      desk.offers = null;
      return desk.act("ask", { about });
    };
    return named(button(ABOUT[about], put, { disabled: Boolean(why), title: why ?? ask }), about);
  });
  return part(
    "div",
    { className: "line offers", role: "group", ariaLabel: "What can be asked about this view" },
    ...items,
  );
}

function longList(desk) {
  const items = desk.offers.map((offer) => {
    if (offer.why) {
      const cannot = button(ABOUT[offer.about], () => {}, { disabled: true });
      return part("li", {}, cannot, part("span", { className: "why", textContent: offer.why }));
    }
    const words = ownKeys(
      part("input", { value: offer.ask, maxLength: 200, ariaLabel: `${ABOUT[offer.about]} In your words` }),
    );
    const way = offer.ways?.length > 1 ? wayChooser(offer) : null;
    const lines = offer.about === "own sentence" ? sentencesBox() : null;
    const ask = () => {
      desk.offers = null;
      const own = words.value.trim() === offer.ask ? "" : words.value.trim();
      return desk.act("ask", {
        about: offer.about,
        ask: own,
        of: way && way.value !== offer.ways[0] ? way.value : "",
        sentences: lines?.value ?? "",
      });
    };
    const row = part("li", {}, named(button(ABOUT[offer.about], ask), offer.about), words);
    for (const more of [way, lines]) if (more) row.append(more);
    return row;
  });
  return part("ul", { className: "offers", ariaLabel: "What can be asked about this view" }, ...items);
}

function wayChooser({ about, ways }) {
  const options = ways.map((one) => part("option", { value: one, textContent: one }));
  return part("select", { ariaLabel: `${ABOUT[about]} About` }, ...options);
}

const sentencesBox = () =>
  ownKeys(
    part("textarea", {
      rows: 2,
      maxLength: 12_000,
      placeholder: "Your own sentences, one a line; without them, sentences that the model has not seen",
      ariaLabel: "Sentences, one a line",
    }),
  );

function askedNow(desk, question, redraw) {
  const { state, act } = desk;
  const phases = segments("Phase of the question", PHASES, question.phase, (phase) => act("phase", { phase }));
  for (const [at, one] of [...phases.children].entries()) named(one, `phase ${at}`);
  const count = part("span", { className: "count", textContent: `${state.answered} of ${state.here} have answered` });
  count.setAttribute("aria-live", "polite");
  const draft = question.phase === "draft";
  const switching = async () => {
    await act("switch off");
    redraw();
  };
  const ways = [
    !draft &&
      question.round === 1 &&
      named(
        button("Second round", () => act("again")),
        "again",
      ),
    !draft &&
      named(
        button("Reset", () => act("reset"), { title: "Forget its votes and ask once more" }),
        "reset",
      ),
    named(
      button(draft ? "Discard" : "Done", () => act("put away")),
      "away",
    ),
    question.spec.about === "head" &&
      question.phase === "answer" &&
      !question.key?.switched &&
      named(button("Switch the heads off", switching), "switch"),
  ];
  const number = `Question ${question.number}${question.round === 2 ? ", second round" : ""}: `;
  const names = question.spec.choices?.map((choice) => nameOf(question.spec, choice)) ?? [];
  const choices = draft ? names.join("  ·  ") : "";
  const said = question.phase === "answer" ? question.key?.said : choices;
  return [
    part("p", { className: "ask" }, part("b", { textContent: number }), question.spec.ask),
    ...(said ? [part("p", { className: "said", textContent: said })] : []),
    ...(question.key?.switched ?? []).map((row) => part("p", { className: "said", textContent: withoutHead(row) })),
    part("div", { className: "line" }, phases, count, ...ways.filter(Boolean)),
    ...(state.moderate && !desk.parts.includes("people") ? [moderation(desk)] : []),
    ...(desk.whole
      ? [peek(desk, question, redraw), seenByRoom(state), exceptions(desk, question)].filter(Boolean)
      : []),
  ];
}

// The votes so far, where nobody else looks at the screen.
function peek(desk, question, redraw) {
  if (!["open", "closed"].includes(question.phase)) return null;
  const look = async () => {
    desk.peeked = desk.peeked ? null : await desk.act("peek");
    redraw();
  };
  const words = desk.peeked ? "Hide the votes" : "Look at the votes (on this screen only)";
  const block = part("div", {}, named(button(words, look), "peek"));
  const { peeked } = desk;
  if (peeked?.question === question.id && peeked.round === question.round) {
    const root = part("div", { className: "seen" });
    drawQuestion(
      root,
      { question: { ...question, ...peeked, id: question.id, phase: "split", texts: [] } },
      { face: "lecturer" },
    );
    block.append(root);
  }
  return block;
}

function seenByRoom(state) {
  if (state.question.phase === "draft") return null;
  const root = part("div", { className: "seen" });
  drawQuestion(root, state, { face: "lecturer" });
  return root;
}

// Sentences that most answered in another way than the model, each one press from the wall.
function exceptions({ act }, question) {
  const found = question.told?.exceptions ?? [];
  if (!found.length) return null;
  const items = found.slice(0, MOST_EXCEPTIONS).map((one) => {
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
