// Attention as it forms: every snapshot of a pinned sentence is here, and moving through them asks nobody. One object,
// `view`, made once for an element, holds its parts, the snapshots, what is looked at and what the pointer is on.
import { prefersDark, themeOf } from "#view/colours.js";
import { part, redrawWhenMoved } from "#view/elements.js";
import { draw } from "#view/forming/draw.js";
import { listenToKeys, listenToPointer } from "#view/forming/input.js";
import { lookWords, release, soon } from "#view/forming/move.js";
import { SHOWN, keepSnapshots, missing } from "#view/forming/snapshots.js";
import { toolbar } from "#view/forming/toolbar.js";
import { unpack } from "#view/message.js";

export function mountForming(root, data, send) {
  const message = unpack(data);
  const view = (root.view ??= newView(root, message));
  view.send = send;
  receive(view, message);
  redrawWhenMoved(root);
  view.told ??= lookWords(view);
  toolbar(view);
  draw(view);
  if (missing(view) && message.answered >= view.sent) release(view, true); // a message was lost, or this is a new page
}

function newView(root, message) {
  const view = { root, parts: build(root), sent: message.answered, at: null, cursor: null, over: null };
  view.redraw = root.redraw = () => draw(view);
  view.soon = () => soon(view);
  view.rebuild = () => toolbar(view);
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

function receive(view, message) {
  keepSnapshots(view, message);
  if (!view.message || message.given !== view.message.given) {
    Object.assign(view, { selection: { ...message.selection }, told: undefined });
  }
  view.message = message;
  view.theme = themeOf(message.dark ?? prefersDark());
  const ends = [message.training, message.validation].map((curve) => curve.at(-1)?.[0] ?? 0);
  view.last = Math.max(message.steps.at(-1), ...ends);
}

// The elements of attention as it forms.

function build(root) {
  const block = (className, ...children) => part("div", { className }, ...children);
  const picture = (className) => part("canvas", { className, role: "img" });
  const field = (className) => part("canvas", { className, role: "application", tabIndex: 0 });
  const parts = {
    bar: block("bar"),
    making: block("making"),
    now: part("h2", { className: "now" }),
    source: part("p", { className: "source" }),
    timeline: picture("timeline"),
    range: part("input", { type: "range", min: 0, max: 1, step: "any", ariaLabel: "Training step" }),
    note: part("p", { className: "note" }),
    readout: part("output", { className: "readout", ariaLive: "polite" }),
    gridTitle: part("h3"),
    grid: field("grid"),
    headTitle: part("h3"),
    matrix: field(""),
    legend: part("canvas", { className: "legend" }),
    measures: SHOWN.map(() => ({ canvas: picture("measure"), words: part("figcaption") })),
    table: part("table"),
  };
  const { bar, now, source, timeline, range, note, readout, gridTitle, grid, headTitle, matrix, legend } = parts;
  const side = block("side", gridTitle, grid);
  const main = block("main", headTitle, matrix, legend);
  const figures = parts.measures.map((one) => part("figure", {}, one.words, one.canvas));
  root.replaceChildren(bar, parts.making, now, source, timeline, range, note, readout);
  root.append(block("panes", side, main), block("measures", ...figures), block("scroll", parts.table));
  return parts;
}
