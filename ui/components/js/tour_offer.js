// The offer of the tour, once: whoever has taken it or said no is not asked again, and whoever left it can go on.
import STYLE from "./tour_offer.css";
import { dress, part } from "#view/elements.js";
import { remember, remembered } from "./lesson_bar/actions.js";

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tour-offer");
  dress(root, STYLE);
  const left = remembered();
  const at = /^[0-9]{1,3}$/.test(left ?? "") ? Math.min(Number(left), data.count - 1) : 0;
  if (left === "done" || left === "refused") return root.replaceChildren();
  const words = at
    ? `You left the tour at stop ${at + 1} of ${data.count}.`
    : `New here? A tour of ${data.count} stops, ${data.minutes} minutes.`;
  const start = part("button", { type: "button", className: "start", textContent: at ? "Go on" : "Take the tour" });
  start.onclick = () => setTriggerValue("start", at);
  const refuse = part("button", { type: "button", textContent: "Not now" });
  refuse.onclick = () => {
    remember("refused");
    root.replaceChildren();
  };
  root.replaceChildren(part("span", { textContent: words }), start, refuse);
}
