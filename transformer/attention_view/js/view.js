// The attention view as Streamlit mounts it: called again with every message.
import STYLE from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { mount } from "#view/view/mount.js";

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".attention-view");
  dress(root, STYLE);
  mount(root, data, (look) => setTriggerValue("look", look));
}
