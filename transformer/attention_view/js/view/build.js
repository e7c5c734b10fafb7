// The elements of the attention view.
import { part } from "#view/elements.js";

export function build(root) {
  const block = (className, ...children) => part("div", { className }, ...children);
  const parts = {
    bar: block("bar"),
    title: part("h2"),
    source: part("p", { className: "source" }),
    chips: block("heads"),
    why: part("p", { className: "why" }),
    canvas: part("canvas", { tabIndex: 0, className: "matrix", role: "application" }),
    legend: part("canvas", { className: "legend", width: 260, height: 30 }),
    tools: block("bar tools"),
    options: block("options"),
    checked: part("p", { className: "source checked" }),
    readout: part("output", { className: "readout", ariaLive: "off" }), // it is heard in fewer words
    live: part("output", { className: "unseen", ariaLive: "polite" }),
    sum: part("p"),
    products: part("canvas"),
    sideTitle: part("h3"),
    grid: part("canvas", { tabIndex: 0, className: "grid", role: "application" }),
  };
  parts.order = block("order");
  parts.text = part("canvas", { tabIndex: 0, className: "text", role: "application", hidden: true });
  parts.spacer = block("spacer", parts.canvas);
  parts.scroller = block("scroller", parts.spacer);
  parts.closes = part("button", { className: "closes", textContent: "✕", ariaLabel: "Close", title: "Close (Escape)" });
  parts.between = block("between", parts.closes, parts.sum, parts.products);
  parts.side = block("side", parts.sideTitle, parts.order, parts.grid);
  parts.main = block("main");
  parts.panes = block("panes", parts.main, parts.side);
  for (const [name, element] of [
    ["head", parts.scroller],
    ["heads", parts.grid],
    ["product", parts.between],
  ]) {
    element.dataset.part = name;
  }
  const { title, source, chips, why, scroller, tools, checked, readout, between } = parts;
  parts.main.append(title, source, chips, why, scroller, parts.text, tools, checked, readout, between);
  parts.options.hidden = true;
  root.replaceChildren(parts.bar, parts.options, parts.panes, parts.live);
  return parts;
}
