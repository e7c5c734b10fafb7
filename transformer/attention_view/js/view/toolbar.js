// The choosers over the picture, and what is about the picture alone under it.
import { openText } from "#view/attention/checks.js";
import { chooser, part, rebuilt, segments } from "#view/page/elements.js";
import { filmEntries } from "#view/export/film/keep.js";
import { FILM_KINDS } from "#view/export/film/kinds.js";
import { bareChooser, fileChooser, headChooser, kindChooser, layerChooser } from "#view/export/picture_files.js";
import { take } from "#view/page/pointer.js";
import { STAGES, stageName } from "#view/attention/stages.js";
import { termLabel } from "#view/page/terms.js";
import { fileEntries, save } from "#view/view/save.js";
import { boxed, change, inLines, inModel, infoOf, showLines, stageNow, unmet } from "#view/attention/selection.js";
import { footHeight, onPhone } from "#view/page/window.js";
import { switchSound } from "#view/view/sound.js";
import { caption } from "#view/view/words/words.js";

const BESIDE = 8; // px, between the box of options and what it must not lie under

export function toolbar(view) {
  const matrix = !inLines(view) && !inModel(view);
  const all = !view.large;
  const merges = !view.message.standalone && !view.message.whole_pieces; // pieces into words
  const few = boxed(view); // what is not needed at first waits behind a button
  const little = few && onPhone(); // one line
  const kinds = Object.keys(view.message.kinds);
  const more = [all && matrix && means(view), all && matrix && stages(view)];
  const tools = [
    all && matrix && !stageNow(view).signed && colours(view),
    all && merges && !inModel(view) && tokenChoice(view),
    all && merges && !inModel(view) && specialChoice(view),
    all && infoOf(view).makes && !inModel(view) && rowChoice(view),
    all && inModel(view) && view.model?.rise?.chooser,
    all && matrix && zooming(view),
    all && matrix && sounding(view),
    all && files(view),
  ];
  const pick = (fields) => change(view, fields);
  const main = [
    kindChooser(kinds, view.selection, pick, little),
    all && views(view, little && kinds.length > 1),
    layerChooser(infoOf(view), view.selection, pick, little),
    !inLines(view) && headChooser(infoOf(view), view.selection, ({ head }) => pick({ head, of: "head" }), little),
  ];
  rebuilt(view.parts.bar, [...main, ...(few ? [all ? opener(view) : gridOpener(view)] : more)]);
  rebuilt(view.parts.options, few ? [...more, ...tools] : []);
  const { open } = infoOf(view);
  const scale = open && part("span", { className: "scale", textContent: openText({ open }) });
  rebuilt(view.parts.tools, [view.parts.legend, scale, ...(few ? [view.parts.readout] : tools)]);
}

// The button that shows the options, and hides them again.
function opener(view) {
  const { options } = view.parts;
  const words = onPhone() ? { textContent: "⋯", ariaLabel: "Options", title: "Options" } : { textContent: "Options" };
  const button = part("button", { ...words, className: "opener", ariaExpanded: !options.hidden });
  button.onclick = () => {
    options.hidden = !options.hidden;
    button.ariaExpanded = String(!options.hidden);
    if (!options.hidden) keepInWindow(options);
  };
  view.root.onkeydown = (event) => {
    if (event.key !== "Escape" || options.hidden) return;
    take(event);
    button.click();
    button.focus();
  };
  view.outside?.abort();
  view.outside = new AbortController();
  const onDown = (event) => {
    const path = event.composedPath();
    if (!options.hidden && !path.includes(options) && !path.includes(button)) button.click();
  };
  document.addEventListener("pointerdown", onDown, { signal: view.outside.signal });
  return button;
}

// Where the page ends below it, or a bar lies over the foot of the window, the box stands higher, so that all of it is
// seen.
function keepInWindow(options) {
  options.style.translate = "";
  options.style.maxHeight = "";
  const free = window.innerHeight - footHeight() - BESIDE;
  const { top, height } = { top: options.getBoundingClientRect().top, height: options.scrollHeight + 2 };
  const up = Math.min(Math.max(0, top + height - free), Math.max(0, top - BESIDE));
  options.style.translate = `0 ${-up}px`;
  options.style.maxHeight = `${Math.max(0, free - top + up)}px`;
}

// On a projector there is room for one picture: the head, or all heads.
function gridOpener(view) {
  const on = view.root.classList.contains("all-heads");
  const onclick = () => {
    view.root.classList.toggle("all-heads");
    view.redraw();
  };
  return part("button", { textContent: "All heads", ariaPressed: on, onclick });
}

function views(view, little) {
  const names = [
    ["matrix", "Matrix"],
    ["lines", "Lines"],
  ];
  if (view.message.modelled || view.message.model) names.push(["model", "Model"]);
  const pick = (name) => {
    if (name === "lines" && !inLines(view)) return showLines(view);
    change(view, { view: name, ...(name === "model" && { ...inPieces(view), special: "shown" }) });
  };
  return (little ? bareChooser : segments)("View", names, view.selection.view, pick);
}

function means(view) {
  const names = [
    ["head", "this head"],
    ["mean_heads", "mean over heads"],
    ["mean_all", "mean over layers"],
  ];
  if (infoOf(view).rolls) names.push(["rollout", "rollout"]);
  return chooser("Of", names, view.selection.of, (of) => change(view, { of }));
}

function stages(view) {
  const names = Object.keys(STAGES).map((name) => {
    const words = stageName(view.message, view.selection, name);
    const lacking = unmet(view.selection, "stage", name) ?? (name !== "weights" && infoOf(view).merged && "tokens");
    if (!lacking) return [name, words];
    return [name, `${words}: of ${lacking === "of" ? "a single head" : "all pieces"} only`, true];
  });
  return chooser(
    "Stage",
    names,
    view.selection.stage,
    (stage) => change(view, { stage }),
    termLabel("softmax", "Stage"),
  );
}

// One part of the selection, by the words for its choices.
const partChooser = (view, label, name, words) =>
  chooser(label, Object.entries(words), view.selection[name], (value) => change(view, { [name]: value }));

const SCALES = { sqrt: "square root", linear: "linear" };
const colours = (view) => partChooser(view, "Colours", "scale", SCALES);

const TOKENS = { pieces: "pieces", words: "words", exact: "exact pieces, ␣ for a space" };
const inPieces = ({ selection: { tokens } }) => ({ tokens: tokens === "words" ? "pieces" : tokens });
const tokenChoice = (view) => partChooser(view, "Tokens", "tokens", TOKENS);

const SPECIAL = { shown: "shown", hidden: "left out" };
const specialChoice = (view) => partChooser(view, "Special tokens and sinks", "special", SPECIAL);

const ROWS = { made: "by what is predicted", read: "by the token read" };
const rowChoice = (view) => partChooser(view, "Rows", "rows", ROWS);

function sounding(view) {
  const title = "A tone for each cell: higher for later keys, louder for larger weights (S in the picture)";
  return part("button", {
    textContent: "Sound",
    title,
    ariaPressed: Boolean(view.sounds),
    onclick: () => switchSound(view),
  });
}

function zooming(view) {
  const button = (textContent, ariaLabel, by) => {
    const onclick = () => {
      view.zoom = Math.min(40, Math.max(1, view.zoom * by));
      view.redraw();
    };
    return part("button", { textContent, ariaLabel, onclick });
  };
  return part("span", { className: "zoom" }, button("−", "smaller cells", 1 / 1.5), button("+", "larger cells", 1.5));
}

function files(view) {
  const redraw = () => toolbar(view);
  const film = filmHere(view);
  const pick = (kind) => (kind in FILM_KINDS ? film.make(kind) : save(view, kind));
  const films = film ? filmEntries(view, redraw, film.words) : [];
  return fileChooser([...fileEntries(view), ...films], pick, redraw);
}

// The film that can be made here, {words, make(kind)}: of a model from the whole down to a number, else of what steps.
function filmHere(view) {
  const { message, film } = view;
  if (!inModel(view)) return film && { words: "film", make: film };
  if (message.standalone || message.zips === false) return null; // without the server, which has what writes films
  return { words: "film of the zoom", make: (kind) => view.model?.files.film(kind, caption(view)[1]) };
}
