// What the attention view draws and says of a message; answers {message, looks, whole, saved}: a file with a packed
// message, what is looked at, by the fields of a selection that differ from its own, and whether every mark is written
// or what they are in few words. -> for each look its lines; saved: the file of that kind. Or {flow}, {timeline},
// {maps}, {growing}: what is sent of a flow, the losses of a training, maps of heads, or (a file) of a head that learns
// -> the lines of that picture.
import "./dom.js";
import { readFileSync } from "node:fs";
import { themeOf } from "#view/drawing/colours.js";
import showGrowing from "#view/pictures/growing.js";
import { unpack } from "#view/message/message.js";
import { showModel } from "#view/model/model_view.js";
import { provideModel } from "#view/view/draw.js";
import { FILES } from "#view/view/save.js";
import { mountView } from "#view/view/view.js";
import showFlow from "../../ui/components/js/figures/flow.js";
import { overTimeline, timelinePlot, underTimeline } from "../../ui/components/js/forming/pictures.js";
import showMaps from "../../ui/components/js/figures/head_maps.js";
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

// The element of a component that draws into one of that class; heard: what it sends.
function mounted(className, show, data, heard = () => {}) {
  const [root, parentElement] = [document.createElement("div"), document.createElement("div")];
  root.className = className;
  document.body.replaceChildren(parentElement);
  parentElement.append(root);
  show({ data, parentElement, setTriggerValue: heard });
  return root;
}

// Its shapes with their places, its labels, what each is heard as, and the legend.
function ofFlow(data) {
  const root = mounted("flow", showFlow, data);
  const [svg] = root.querySelectorAll("svg");
  const legend = root.querySelectorAll(".legend")[0].elements.map(({ textContent }) => textContent);
  const shapes = svg.below.filter(({ tagName }) => !["g", "title"].includes(tagName)).map((one) => String(one));
  const heard = svg.querySelectorAll("[aria-label]").map((one) => `heard: ${one.getAttribute("aria-label")}`);
  return [svg.getAttribute("aria-label"), ...shapes, ...heard, ...legend].map(shortened);
}

// What each button of the maps is called, and what a click on it sends.
function ofMaps(data) {
  const sent = [];
  const root = mounted("head-maps", showMaps, data, (name, head) => sent.push([name, head]));
  const heads = root.querySelectorAll("button").filter(({ className }) => className !== "save");
  return heads.map((button) => {
    button.onclick();
    return `${button.textContent} (${button.title}): ${JSON.stringify(sent.pop())}`;
  });
}

// A head at its last snapshot, on a system whose theme is light.
function ofGrowing(file) {
  const root = mounted("growing", showGrowing, new Uint8Array(readFileSync(file)));
  const [canvas] = root.querySelectorAll("canvas");
  const marks = marksOf(canvas.getContext().parts, [canvas.width, canvas.height]);
  return [canvas.getAttribute("aria-label"), ...marks.map(({ line }) => line)];
}

const shortened = (line) => line.replace(/-?\d+\.\d{2,}/g, (number) => Number(number).toFixed(1));

// The timeline of a training that is watched, at its last step.
function ofTimeline(message) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 600, height: 200 });
  const view = { message, last: message.steps.at(-1), selection: { step: null }, theme: themeOf(false) };
  const plot = timelinePlot(view, { x: 0, y: 0, width: canvas.width, height: canvas.height });
  underTimeline(view, canvas.getContext(), plot);
  overTimeline(view, canvas.getContext(), plot);
  return marksOf(canvas.getContext().parts, [canvas.width, canvas.height]).map(({ line }) => line);
}

await answering(({ message, looks, whole, saved, flow, timeline, maps, growing }) => {
  if (flow) return ofFlow(flow);
  if (maps) return ofMaps(maps);
  if (growing) return ofGrowing(growing);
  if (timeline) return ofTimeline(timeline);
  const bytes = new Uint8Array(readFileSync(message));
  const views = looks.map((look) => () => viewOf(bytes, look));
  return Promise.all(views.map((view) => (saved ? FILES[saved](view()).text() : linesOf(view(), whole))));
});
