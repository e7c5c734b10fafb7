// The step controls. Presses are counted here, and what is sent is the place they add up to and the candidates said on
// the way, so however fast they come, none is lost: Python answers with where it got to and the number of the request
// it answers. One object, `view`, holds the parts, what was last sent and what is under way.
import STYLE from "./controls.css";
import { dress } from "#view/elements.js";
import { build } from "./controls/build.js";
import { listen } from "./controls/keys.js";
import { receive, show } from "./controls/steps.js";

export default function component({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".controls");
  dress(root, STYLE);
  const view = (root.view ??= newView(root, data));
  view.send = (move) => setStateValue("move", move);
  receive(view, data);
  enlarge(view);
  if (window.headsUpKeys?.view !== view) listen(view);
  show(view);
}

function newView(root, data) {
  const view = { root, playing: false, timer: 0, choices: [] };
  Object.assign(view, { sent: data.answered, target: data.index, walk: data.walk, from: data.index });
  view.parts = build(view);
  return view;
}

// On a projector.
function enlarge({ root, data }) {
  const large = Boolean(data.large);
  if (large && !root.classList.contains("large")) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  root.classList.toggle("large", large);
  const fits = Math.min(1.6, window.innerWidth / 1000, window.innerHeight / 620);
  root.style.zoom = large && window.innerWidth > 700 ? Math.max(1, fits) : "";
}
