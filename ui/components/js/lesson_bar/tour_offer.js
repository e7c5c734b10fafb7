// The invitation to the tour; whoever left it can go on.
import STYLE from "./tour_offer.css";
import { dress, part } from "#view/page/elements.js";
import { remembered } from "./actions.js";

const TAKE = "Take the tour";

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tour-offer");
  dress(root, STYLE);
  const left = remembered();
  const at = /^[0-9]{1,3}$/.test(left ?? "") ? Math.min(Number(left), data.count - 1) : 0;
  const words = at ? `from stop ${at + 1} of ${data.count}` : `${data.minutes} minutes, ${data.count} stops`;
  const start = part("button", { type: "button", className: "start", textContent: at ? "Go on with the tour" : TAKE });
  start.onclick = () => setTriggerValue("start", at);
  root.replaceChildren(start, part("span", { textContent: words }));
}
