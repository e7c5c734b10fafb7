// Attention as it forms, as Streamlit mounts it: called again with every message.
import FORMING from "#view/forming/forming.css";
import STYLE from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { expose } from "#view/figures/expose.js";
import { mountForming } from "#view/forming/mount.js";
import { formingFiles } from "#view/forming/save.js";

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".attention-view");
  dress(root, STYLE, FORMING);
  mountForming(root, data, (selection) => setTriggerValue("selection", selection));
  expose(root, "forming", () => formingFiles(root.view));
}
