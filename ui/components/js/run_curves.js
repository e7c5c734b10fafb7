// Loss and the other numbers of one or several runs. Points are kept here between messages, which bring only new ones.
// One object, `view`, holds the parts, the points and what is chosen.
import STYLE from "./run_curves.css";
import { themeOf } from "#view/colours.js";
import { dress, redrawWhenMoved } from "#view/elements.js";
import { expose } from "#view/figures/expose.js";
import { blobOf } from "#view/figures/png.js";
import { unpack } from "#view/message.js";
import { build, curvesName, legend } from "./run_curves/build.js";
import { takeIn } from "./run_curves/columns.js";
import { draw } from "./run_curves/draw.js";

const PATIENCE = 3000; // ms

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".run-curves");
  const header = unpack(data);
  const view = (root.view ??= newView(root));
  if (takeIn(view.store, header)) {
    view.asking ??= askUntilAnswered(view, () => setTriggerValue("missing", Date.now()));
    return;
  }
  clearInterval(view.asking);
  dress(root, STYLE);
  Object.assign(view, { asking: null, header, theme: themeOf(header.dark) });
  view.parts ??= build(view);
  for (const key of view.made.keys()) if (!(key in view.store)) view.made.delete(key);
  redrawWhenMoved(root);
  legend(view);
  draw(view);
  expose(root, "curves", async () => [[curvesName(view), await blobOf(view.parts.canvas)]]);
}

// Of two messages that come at once Streamlit hands on the second alone, and what is said as a run begins may be lost.
function askUntilAnswered(view, ask) {
  ask();
  return setInterval(() => (view.root.isConnected ? ask() : clearInterval(view.asking)), PATIENCE);
}

function newView(root) {
  const view = { root, store: {}, made: new Map(), hidden: new Set(), cursor: null, zoom: null, from: null };
  Object.assign(view, { smooth: 0.3, log: false, axis: "step" });
  view.redraw = root.redraw = () => draw(view);
  return view;
}
