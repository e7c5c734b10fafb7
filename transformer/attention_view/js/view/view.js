// The attention view: one object, `view`, made once for an element, that holds its parts, what it was last sent
// (`message`), what is looked at (`selection`) and what the pointer is on. `send` tells Python, where there is one.
import VIEW from "#view/view/view.css";
import { prefersDark, themeOf } from "#view/drawing/colours.js";
import { block, dress, field, part, redrawWhenMoved } from "#view/page/elements.js";
import { expose } from "#view/export/figures/expose.js";
import { sameBytes, unpack } from "#view/message/message.js";
import { TERM_STYLE } from "#view/page/terms.js";
import { draw } from "#view/view/draw.js";
import { listenToKeys, listenToPointer } from "#view/view/input.js";
import { figureFiles } from "#view/view/save.js";
import { infoOf } from "#view/attention/selection.js";
import { topOnPage } from "#view/page/window.js";
import { pooled } from "#view/attention/weights.js";
/** @import { Message } from "#view/message/fields.js" */

// What Streamlit calls with every message.
export default function showAttentionView({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".attention-view");
  dress(root, TERM_STYLE, VIEW);
  mount(root, data, (selection) => setTriggerValue("selection", selection));
  expose(root, "attention", () => figureFiles(root.view));
}

// The view alone on a page.
export function mount(root, data, send) {
  mountView(root, unpack(data), send);
  const { view } = root;
  redrawWhenMoved(root, () => (view.large ? topOnPage(view.parts.scroller) : 0));
}

// The view inside another. below: where all heads go on a narrow window, if the view fills the box that it is given;
// drawn: called whenever anything has been drawn; film: starts a film of the steps, whatIf: asks for a change of the
// model, each null where there is none.
/**
 * @param {any} root
 * @param {any} message
 * @param {any} send
 * @param {{below?: any, drawn?: (() => void) | null, film?: any, whatIf?: any}} options
 */
export function mountView(root, message, send, { below = null, drawn = null, film = null, whatIf = null } = {}) {
  pooled(message);
  const view = (root.view ??= newView(root, message));
  Object.assign(view, { send, below, drawn, film, whatIf });
  receive(view, message);
  draw(view);
}

/** @param {Message} message */
function newView(root, message) {
  const view = { root, parts: build(root), sent: message.answered ?? 0, cursor: null, at: null, hover: null, zoom: 1 };
  view.redraw = root.redraw = () => draw(view);
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

/** @param {Message} message */
function receive(view, message) {
  const answered = message.answered ?? 0;
  if (!view.message || answered >= view.sent) {
    view.sent = answered; // of other views of the same message, it may be more
    view.selection = { ...message.selection };
  }
  for (const [name, array] of Object.entries(message.arrays)) {
    // what has not changed need not be painted again
    const before = view.message?.arrays[name];
    if (/^(grid|tiles|map|small)\//.test(name) && sameBytes(array, before)) message.arrays[name] = before;
  }
  view.message = message;
  view.large = Boolean(message.large); // for a projector: what is left out there is set beforehand
  view.root.classList.toggle("large", view.large);
  view.root.classList.toggle("boxed", Boolean(view.below)); // it fills the box that it is given
  view.theme = themeOf(message.dark ?? prefersDark(), view.large);
  const { queries, keys } = infoOf(view);
  const [query, key] = view.cursor ?? [0, 0];
  if (query >= queries.length || key >= keys.length) view.cursor = null;
}

// The elements of the attention view.

function build(root) {
  const parts = {
    bar: block("bar"),
    title: part("h2"),
    source: part("p", { className: "source" }),
    chips: block("heads"),
    why: part("p", { className: "why" }),
    canvas: field("matrix"),
    legend: part("canvas", { className: "legend", width: 260, height: 30 }),
    tools: block("bar tools"),
    options: block("options"),
    checked: part("p", { className: "source checked" }),
    readout: part("output", { className: "readout", ariaLive: "off" }), // it is heard in fewer words
    live: part("output", { className: "unseen", ariaLive: "polite" }),
    sum: part("p"),
    products: part("canvas"),
    sideTitle: part("h3"),
    grid: field("grid"),
  };
  parts.order = block("order");
  parts.text = field("text");
  parts.text.hidden = true;
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
