// What the attention view draws and says of a message; answers {message, looks, whole, saved}: a file with a packed
// message, what is looked at, by the fields of a selection that differ from its own, and whether every mark is written
// or what they are in few words. -> for each look its lines; saved: the SVG that is saved of it.
import "./dom.js";
import { readFileSync } from "node:fs";
import { unpack } from "#view/message.js";
import { showModel } from "#view/model/model_view.js";
import { provideModel } from "#view/view/draw.js";
import { FILES } from "#view/view/save.js";
import { mountView } from "#view/view.js";
import { answering } from "./answering.js";
import { digest, marksOf, wordsOf } from "./marks.js";

provideModel(showModel);

function viewOf(bytes, look) {
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  const message = unpack(bytes);
  mountView(root, { ...message, selection: { ...message.selection, ...look } }, () => {});
  return root.view;
}

function linesOf(view, whole) {
  const painted = (canvas) => {
    const marks = marksOf(canvas.getContext().parts, [canvas.width, canvas.height]);
    return whole ? marks.map(({ line }) => line) : digest(marks);
  };
  const lines = view.selection.view === "model" ? ofModel(view, painted) : ofAttention(view, painted);
  return lines.map(wordsOf).filter(Boolean);
}

const named = (element) => element.elements.map(({ textContent }) => textContent);

function ofModel({ model }, painted) {
  const { crumbs, words, canvas, legend } = model;
  const [said, heard] = [words.textContent, canvas.getAttribute("aria-label")].map(wordsOf);
  const ends = [" Zoom in with the wheel", " Arrow keys move", ` ${model.view.message.model.why}`];
  const sentence = (text) => ends.reduce((rest, end) => rest.split(end)[0], text);
  return [
    named(crumbs).join(" › "),
    said,
    sentence(heard) === sentence(said) ? "" : `heard: ${heard}`,
    legend.hidden ? "" : named(legend).join(", "),
    ...painted(canvas),
  ];
}

function ofAttention({ parts, selection }, painted) {
  const { title, why, readout, canvas, grid, checked, legend } = parts;
  return [
    title.textContent,
    why.textContent,
    readout.textContent,
    checked.textContent.trim(),
    `heard: ${canvas.getAttribute("aria-label").replace(`${title.textContent.split(":")[0]}. `, "")}`,
    ...painted(canvas),
    ...(legend.hidden ? [] : ["the scale:", ...painted(legend)]),
    `all ${selection.kind} heads:`,
    ...painted(grid),
    grid.getAttribute("aria-label"),
  ];
}

await answering(({ message, looks, whole, saved }) => {
  const bytes = new Uint8Array(readFileSync(message));
  const views = looks.map((look) => () => viewOf(bytes, look));
  return Promise.all(views.map((view) => (saved ? FILES.svg(view()).text() : linesOf(view(), whole))));
});
