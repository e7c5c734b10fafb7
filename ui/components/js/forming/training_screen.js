// A training on one screen: every snapshot of a pinned sentence is here, and moving through them asks nobody. Streamlit
// calls the component again with every message. One object, `view`, made once for an element, holds its parts, the
// snapshots, what is looked at and what the pointer is on.
import FORMING from "./forming.css";
import STYLE from "#view/view/view.css";
import { prefersDark, themeOf } from "#view/drawing/colours.js";
import { block, chooser, dress, field, part, rebuilt, redrawWhenMoved, stillMotion } from "#view/page/elements.js";
import { expose } from "#view/export/figures/expose.js";
import { formingEntries, formingFiles, save } from "./exports.js";
import {
  change,
  follow,
  goTo,
  listenToKeys,
  listenToPointer,
  play,
  release,
  selectionText,
  showEvent,
  soon,
} from "./moves.js";
import { draw } from "./page.js";
import { infoOf, keepSnapshots, missing, recorded } from "./snapshots.js";
import { unpack } from "#view/message/message.js";
import { askForMissing, takeIn } from "../curves/points.js";
import { lossChart } from "./loss.js";
import { fileChooser, headChooser, kindChooser, layerChooser } from "#view/export/picture_files.js";
import { TERM_STYLE } from "#view/page/terms.js";
import { topOnPage } from "#view/page/window.js";

const CURVES = 4; // measures of which every head's curve is drawn

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".attention-view");
  dress(root, TERM_STYLE, STYLE, FORMING);
  const message = unpack(data);
  const view = (root.view ??= newView(root, message));
  view.send = (selection) => setTriggerValue("selection", selection);
  receive(view, message);
  const lacks = Boolean(message.curves) && takeIn(view.points, { ...message.curves, arrays: message.arrays });
  askForMissing(view, lacks, setTriggerValue);
  redrawWhenMoved(root, () => topOnPage(root));
  toolbar(view);
  draw(view);
  if (!recorded(view)) return;
  view.sentText ??= selectionText(view);
  if (missing(view) && message.answered >= view.sent)
    release(view, true); // a message was lost, or this is a new page
  else if (message.plays && !view.played) playOnce(view);
  expose(root, "forming", () => formingFiles(view));
}

function newView(root, message) {
  const view = { root, parts: build(root), sent: message.answered, at: null, cursor: null, over: null, points: {} };
  view.loss = lossChart(view, {
    onPoint: (step) => goTo(view, step),
    onMark: (mark) => showEvent(view, mark),
  });
  view.redraw = root.redraw = () => draw(view);
  view.soon = () => soon(view);
  view.rebuild = () => toolbar(view);
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

// From the first step, where somebody comes who has chosen nothing.
function playOnce(view) {
  view.played = true;
  if (!stillMotion()) play(view);
}

function receive(view, message) {
  view.theme = themeOf(message.dark ?? prefersDark());
  if (!message.steps) {
    view.message = message;
    return;
  }
  keepSnapshots(view, message);
  if (!view.message || message.given !== view.message.given) {
    Object.assign(view, { selection: { ...message.selection }, sentText: undefined });
  }
  view.message = message;
  const ends = [message.training, message.validation].map((curve) => curve.at(-1)?.[0] ?? 0);
  view.last = Math.max(message.steps.at(-1), ...ends);
}

function build(root) {
  const picture = (className) => part("canvas", { className, role: "img" });
  const figure = (className) => part("figure", { className });
  const parts = {
    bar: block("bar tools"),
    making: block("making"),
    now: part("h2", { className: "now" }),
    source: part("p", { className: "source" }),
    loss: figure("loss"),
    accuracy: figure("accuracy"),
    events: block("events"),
    range: part("input", { type: "range", min: 0, max: 1, step: "any", ariaLabel: "Training step" }),
    ticks: part("div", { className: "ticks", ariaHidden: "true", title: "Steps, on a logarithmic scale" }),
    playing: block("playing"),
    after: block("after"),
    note: part("p", { className: "note" }),
    readout: part("output", { className: "readout", ariaLive: "polite" }),
    gridTitle: part("h3"),
    grid: field("grid"),
    headTitle: part("h3"),
    matrix: field(""),
    room: block("room"),
    written: block("written"),
    legend: part("canvas", { className: "legend" }),
    measures: Array.from({ length: CURVES }, () => ({ canvas: picture("measure"), words: part("figcaption") })),
    table: part("table"),
  };
  const { bar, now, source, loss, accuracy, events, range, note, readout, grid, headTitle, matrix, room } = parts;
  room.append(matrix);
  const named = (element, name) => Object.assign(element.dataset, { part: name }) && element;
  const left = block("left", now, source, named(loss, "loss"), named(accuracy, "accuracy"), named(events, "events"));
  const right = block("right", bar, headTitle, named(room, "head"), readout, named(parts.written, "written"));
  const steps = named(block("steps", parts.playing, block("track", range, parts.ticks), parts.after), "steps");
  parts.screen = block("screen", left, right, steps);
  const figures = parts.measures.map((one) => part("figure", {}, one.words, one.canvas));
  const all = block("all", parts.gridTitle, grid, parts.legend);
  root.replaceChildren(parts.screen, parts.making, note, all);
  root.append(block("measures", ...figures), block("scroll", parts.table));
  return parts;
}

// The choosers over the head, and what stands beside the slider.
function toolbar(view) {
  const { selection, parts, message } = view;
  const redraw = () => toolbar(view);
  if (recorded(view)) {
    const info = infoOf(view);
    const pick = (fields) => change(view, fields);
    rebuilt(parts.bar, [
      kindChooser(Object.keys(message.heads), selection, pick),
      layerChooser(info, selection, pick),
      headChooser(info, selection, pick),
      sentences(view),
    ]);
    parts.playing.replaceChildren(playing(view));
    const files = fileChooser(formingEntries(view, redraw), (kind) => save(view, kind), redraw);
    rebuilt(parts.after, [following(view), files]);
  }
}

function sentences(view) {
  const names = view.message.sentences.map(({ label }, i) => [i + 1, `${i + 1} · ${label}`]);
  const pick = (sentence) => change(view, { sentence: Number(sentence) });
  return names.length > 1 && chooser("Sentence", names, view.selection.sentence, pick);
}

function playing(view) {
  view.playButton ??= part("button", { className: "play", title: "P", onclick: () => play(view) });
  view.playButton.textContent = view.playing ? "❚❚ Pause" : "▶ Play";
  return view.playButton;
}

function following(view) {
  if (!view.message.live) return null;
  const ariaPressed = view.selection.step === null;
  view.follow = part("button", { textContent: "Follow newest", onclick: () => follow(view), ariaPressed });
  return view.follow;
}
