// The attention view as Streamlit mounts it: called again with every message.
import STYLE from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { expose } from "#view/figures/expose.js";
import { TERM_STYLE } from "#view/terms.js";
import { mount } from "#view/view/mount.js";
import { figureFiles } from "#view/view/save.js";

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".attention-view");
  dress(root, TERM_STYLE, STYLE);
  mount(root, data, (selection) => setTriggerValue("selection", selection));
  expose(root, "attention", () => figureFiles(root.view));
}
