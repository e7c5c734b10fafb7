// The stage as Streamlit mounts it: called again with every message.
import VIEW from "#view/view/view.css";
import CONTROLS from "#view/controls/controls.css";
import PLACES from "#view/stage/places.css";
import STYLE from "#view/stage/stage.css";
import { dress } from "#view/elements.js";
import { TERM_STYLE } from "#view/terms.js";
import { expose } from "#view/figures/expose.js";
import { figureFiles } from "#view/view/save.js";
import { mountStage } from "#view/stage/mount.js";

export default function component({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".stage");
  dress(root, TERM_STYLE, VIEW, CONTROLS, STYLE, PLACES);
  expose(root, "attention", () => figureFiles(root.stage.parts.picture.view));
  mountStage(root, data, {
    move: (move) => setStateValue("move", move),
    look: (look) => setTriggerValue("look", look),
    choose: (bar) => setTriggerValue("choose", bar),
    film: (asked) => setTriggerValue("film", asked),
  });
}
