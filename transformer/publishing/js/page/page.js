// The page of a published file: which model, what it reads, how it chooses, and under that the step view. What is drawn
// comes from the worker (`answers.js`), and the address says all that decides it (`address.js`).
import CONTROLS from "#view/step_view/controls.css";
import PLACES from "#view/step_view/places.css";
import STEP_VIEW from "#view/step_view/step_view.css";
import SHARED from "#view/message/shared.json";
import VIEW from "#view/view/view.css";
import { app } from "#view/page/app.js";
import { prefersDark } from "#view/drawing/colours.js";
import { freeKeys } from "#view/step_view/controls.js";
import { block, dress, part, segments, svgPart } from "#view/page/elements.js";
import { mountMessage } from "#view/step_view/step_view.js";
import { paramsOf, readAddress, startOf, writeAddress } from "./address.js";
import { idleOf, problemOf, samplingOf, switchesOf } from "./asked.js";
import { Answers } from "./answers.js";
import { scriptFace } from "./run.js";
import { drawSettings } from "./settings.js";
import { readAs, respell } from "./spelling.js";

const WRITTEN_MS = 250; // between two changes of the address, of which browsers take only so many
const { models, settings, lacks } = JSON.parse(
  /** @type {HTMLElement} */ (document.getElementById("models")).textContent,
);
const parts = buildPage();
/** What is on the page; `picture` is the message that is drawn. */
const page = {
  text: "",
  model: -1,
  sampling: {},
  heads: [],
  asked: {},
  place: /** @type {any} */ (null),
  picture: /** @type {any} */ (null),
  sent: 0,
  timer: 0,
};
const typed = new Map(); // model -> its text when another was chosen
const answers = new Answers(models, {
  unpacking: (model, share) => showOpening(models[model], share),
  opened: () => parts.stage.ariaBusy !== "true" && showOpening(null), // else until there is a picture
  picture: (picture) => showPicture(picture),
  failed: (words) => showProblem(words),
});

dress(document.body, VIEW, CONTROLS, STEP_VIEW, PLACES);
freeKeys();
window.headsup = scriptFace(models, settings, answers);
window.addEventListener("popstate", arrive);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.picture && drawStage());
arrive();

// What the address says.
function arrive() {
  const params = paramsOf(window.location);
  const found = readAddress(params, models, settings);
  chooseModel(found.model);
  Object.assign(page, { sampling: found.asked.sampling, heads: found.asked.heads });
  parts.text.value = found.text;
  const { id } = models[found.model];
  const said = lacks
    .filter((name) => params.has(name))
    .map((name) => `The link sets ${name}, which a published file does not compute; it is left out.`);
  if (found.unknown !== null)
    said.unshift(`The link is for ${found.unknown}, which is not in this file; ${id} is shown instead.`);
  show(found.text, found.asked, said.join(" "));
}

function chooseModel(model) {
  if (model === page.model) return;
  page.model = model;
  const about = models[model];
  const choose = (at) => {
    typed.set(model, parts.text.value);
    chooseModel(at);
    page.place = null;
    begin(typed.get(at) ?? models[at].examples[0]?.text ?? "");
  };
  const titles = models.map(({ title }, at) => [at, title]);
  parts.models.replaceChildren(...(models.length > 1 ? [segments("Model", titles, model, choose)] : []));
  parts.models.firstElementChild?.classList.add("models");
  parts.name.textContent = models.length > 1 ? "Heads Up" : `Heads Up · ${about.title}`;
  document.title = `${about.title} · Heads Up`;
  parts.examples.replaceChildren(...about.examples.map(exampleOf));
  const text = part(about.lines ? "textarea" : "input", { className: "text", ariaLabel: about.label, name: "text" });
  Object.assign(text, { placeholder: about.placeholder, spellcheck: false, ...(about.lines && { rows: 2 }) });
  text.onkeydown = (event) => {
    if (about.lines && event.key === "Enter" && (event.ctrlKey || event.metaKey)) parts.form.requestSubmit();
  };
  parts.go.title = `Read the text (${about.lines ? "Ctrl+" : ""}Enter)`;
  parts.text.replaceWith(text);
  parts.text = text;
  clearStage();
  page.sampling = Object.fromEntries(settings.map((one) => [one.name, startOf(about, one)]));
  page.heads = [];
  parts.foot.textContent = `${about.id} · ${about.about} Everything is computed in your browser; nothing is sent.`;
}

// Takes away what was drawn, which would hear the keys, and what is still on its way.
function clearStage() {
  answers.leave();
  app().keys?.abort();
  parts.stage.replaceChildren();
  parts.stage.ariaBusy = "false";
  page.picture = null;
}

function exampleOf({ text, label }) {
  const onclick = (event) => {
    if (event.detail) event.currentTarget.blur();
    begin(text);
  };
  return part("button", { type: "button", textContent: label, title: text, onclick });
}

// Another text, from its beginning.
function begin(text) {
  parts.text.value = text;
  show(text, { selection: page.place?.selection ?? {}, choices: {}, step: null }, "");
}

function show(text, asked, said) {
  const about = models[page.model];
  page.text = text;
  clearTimeout(page.timer);
  drawOptions();
  showProblem("");
  const read = respell(text, about.spellings);
  const words = [said, readAs(read.found)].filter(Boolean).join(" ");
  parts.said.textContent = words;
  parts.said.hidden = !words;
  page.asked = asked;
  const problem = problemOf(text, about);
  if (problem) {
    clearStage();
    return problem === "empty" ? showEmpty(about) : showProblem(problem);
  }
  parts.stage.hidden = false;
  parts.stage.ariaBusy = "true";
  const { view, stepView } = /** @type {any} */ (parts.stage.firstChild ?? {});
  const numbers = {
    looked: stepView?.parts.picture.view.sent ?? view?.sent ?? 0,
    answered: stepView?.controls?.sent ?? 0,
  };
  const heads = switchesOf(page.heads, about);
  const sampling = samplingOf(page.sampling, settings);
  answers.show(page.model, { ...asked, ...numbers, text: read.text, sampling, heads });
  return undefined;
}

function showEmpty(about) {
  parts.said.textContent = about.invites;
  parts.said.hidden = false;
  parts.stage.hidden = true;
  page.place = null;
  writeNow(writeAddress(about, settings, { ...page, text: "", place: { selection: {} } }));
}

function showProblem(words) {
  parts.problem.textContent = words;
  parts.problem.hidden = !words;
  parts.stage.ariaBusy = "false";
  if (!words) return;
  parts.opening.hidden = true;
  parts.stage.hidden = true;
}

function showOpening(about, share) {
  parts.opening.hidden = about === null;
  if (!about) return;
  parts.unpacking.textContent = `Unpacking ${about.title}, ${(about.bytes / 1e6).toFixed(1)} MB`;
  parts.progress.value = share;
}

function showPicture({ message, place }) {
  const first = page.place === null;
  Object.assign(page, { picture: message, place, asked: place });
  showOpening(null);
  parts.stage.ariaBusy = "false";
  leave(first);
  drawStage();
}

function drawStage() {
  const root = parts.stage.firstChild ?? parts.stage.appendChild(block("step-view"));
  const message = {
    ...page.picture,
    arrays: { ...page.picture.arrays },
    dark: prefersDark(),
    zips: false,
    made: new Map(),
  };
  mountMessage(root, message, {
    move: (move) => answers.ask("move", { move }),
    selection: (selection) => answers.ask("select", { selection }),
    choose: ({ nth, branch }) => answers.ask("choose", { nth, branch }),
    film: () => {},
  });
}

// What may be set, and what is switched off.
function drawOptions() {
  const about = models[page.model];
  const change = (fields) => {
    Object.assign(page, fields);
    drawOptions();
    if (fields.heads) show(page.text, { ...page.asked, step: page.asked.step ?? null }, "");
    else answers.ask("sample", { sampling: samplingOf(page.sampling, settings) });
  };
  drawSettings(parts.box, { page: about, settings, sampling: page.sampling, heads: page.heads, change });
  const idle = about.steps ? idleOf(page.sampling, settings).map(({ label }) => label) : [];
  parts.idle.hidden = !idle.length;
  parts.idle.textContent = SHARED.sampling.idle.replace("{names}", idle.join(", "));
  parts.off.hidden = !page.heads.length;
  const named = page.heads.map(({ kind, layer, head }) => `${kind}, layer ${layer}, head ${head}`).join("; ");
  const on = part("button", { type: "button", textContent: "Switch on again", onclick: () => change({ heads: [] }) });
  parts.off.replaceChildren(`Switched off: ${named}`, on);
}

// The address follows what is seen, a moment later. A text, or another model, is a place to come back to.
function leave(isNew) {
  const fragment = writeAddress(models[page.model], settings, page);
  clearTimeout(page.timer);
  if (isNew) writeNow(fragment);
  else page.timer = setTimeout(writeNow, WRITTEN_MS, fragment);
}

function writeNow(fragment) {
  const key = (hash) => ["checkpoint", "text"].map((name) => new URLSearchParams(hash.slice(1)).get(name)).join();
  const { hash } = window.location;
  const goesOn = !hash || key(hash) === key(fragment) || window.parent !== window; // a frame leaves its page's history
  try {
    if (hash !== fragment) window.history[goesOn ? "replaceState" : "pushState"](null, "", fragment);
  } catch {
    /* a page that has no address of its own, or too many changes at once: the picture is there without it */
  }
}

// The elements of the page.
function buildPage() {
  const made = {
    name: part("h1"),
    models: part("div"),
    examples: part("div", { className: "examples", role: "group", ariaLabel: "Examples" }),
    text: /** @type {HTMLInputElement | HTMLTextAreaElement} */ (part("input")),
    go: part("button", { textContent: "Read" }),
    box: block("box"),
    problem: part("p", { className: "said problem", role: "alert", hidden: true }),
    said: part("p", { className: "said", hidden: true }),
    idle: part("p", { className: "said idle", hidden: true }),
    off: part("div", { className: "off", hidden: true }),
    unpacking: new Text(),
    progress: part("progress"),
    opening: part("p", { className: "said opening", hidden: true, role: "status" }),
    stage: part("main", { className: "stage" }),
    foot: part("footer"),
  };
  made.opening.append(made.unpacking, made.progress);
  const knobs = svgPart("path", { d: "M1 4h8M13 4h2M1 12h2M7 12h8M11 2v4M5 10v4" });
  const icon = svgPart("svg", { viewBox: "0 0 16 16" }, knobs);
  const summary = part("summary", { ariaLabel: "Settings" }, icon, part("span", { textContent: "Settings" }));
  made.settings = part("details", { className: "settings" }, summary, made.box);
  made.form = part("form", { className: "asked" }, made.text, made.go, made.settings);
  made.form.onsubmit = (event) => {
    event.preventDefault();
    parts.text.blur();
    begin(parts.text.value);
  };
  closesOutside(made.settings);
  const { name, models: choice, examples, form, problem, said, idle, off, opening, stage, foot } = made;
  const top = part("header", { className: "top" }, name, choice, examples);
  const all = /** @type {HTMLElement} */ (document.getElementById("page"));
  all.classList.add("page");
  all.replaceChildren(top, form, problem, said, idle, off, opening, stage, foot);
  return made;
}

// A box of settings closes at a press elsewhere, and at Escape.
function closesOutside(details) {
  document.addEventListener("pointerdown", (event) => {
    if (!details.contains(event.target)) details.open = false;
  });
  details.onkeydown = (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.firstChild.focus();
  };
}
