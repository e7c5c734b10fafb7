// The elements of attention as it forms.
import { part } from "#view/elements.js";
import { SHOWN } from "#view/forming/measures.js";

export function build(root) {
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
