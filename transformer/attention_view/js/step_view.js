// The step view as Streamlit mounts it: called again with every message.
import CONTROLS from "#view/controls/controls.css";
import PLACES from "#view/step_view/places.css";
import STYLE from "#view/step_view/step_view.css";
import VIEW from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { expose } from "#view/figures/expose.js";
import { mountStepView } from "#view/step_view/mount.js";
import { TERM_STYLE } from "#view/terms.js";
import { figureFiles } from "#view/view/save.js";

export default function component({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".step-view");
  dress(root, TERM_STYLE, VIEW, CONTROLS, STYLE, PLACES);
  expose(root, "attention", () => figureFiles(root.stepView.parts.picture.view));
  mountStepView(root, data, {
    move: (move) => setStateValue("move", move),
    selection: (selection) => setTriggerValue("selection", selection),
    choose: (bar) => setTriggerValue("choose", bar),
    film: (asked) => setTriggerValue("film", asked),
  });
}
