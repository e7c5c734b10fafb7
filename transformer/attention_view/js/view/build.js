// The elements of the attention view.
import { part } from "#view/elements.js";

export function build(root) {
  const block = (className, ...children) => part("div", { className }, ...children);
  const parts = {
    bar: block("bar"),
    title: part("h4"),
    source: part("p", { className: "source" }),
    chips: block("heads"),
    why: part("p", { className: "why" }),
    canvas: part("canvas", { tabIndex: 0, className: "matrix", role: "application" }),
    legend: part("canvas", { className: "legend" }),
    tools: block("bar tools"),
    checked: part("p", { className: "source checked" }),
    readout: part("output", { className: "readout", ariaLive: "polite" }),
    sum: part("p"),
    products: part("canvas"),
    sideTitle: part("h4"),
    grid: part("canvas", { tabIndex: 0, className: "grid", role: "application" }),
  };
  parts.spacer = block("spacer", parts.canvas);
  parts.scroller = block("scroller", parts.spacer);
  parts.between = block("between", parts.sum, parts.products);
  parts.side = block("side", parts.sideTitle, parts.grid);
  const { title, source, chips, why, scroller, tools, checked, readout, between } = parts;
  const main = block("main", title, source, chips, why, scroller, tools, checked, readout, between);
  root.replaceChildren(parts.bar, block("panes", main, parts.side));
  return parts;
}
