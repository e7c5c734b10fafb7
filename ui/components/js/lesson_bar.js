// A lesson under way: a strip at the foot of every page, or, for a tour, a sign beside what it points at. `view` holds
// what was sent last, where the presses add up to, and the answers given so far.
import STYLE from "./lesson_bar.css";
import { dress } from "#view/elements.js";
import { hearFoot, takeFoot } from "./foot.js";
import { endGuide, showGuide } from "./lesson_bar/guide.js";
import { listenForLesson } from "./lesson_bar/keys.js";
import { showStrip } from "./lesson_bar/strip.js";
import { hearRoom } from "./room_asks.js";

const FRESH = { shownAt: undefined, signAt: undefined }; // of a lesson: no stop of it has been shown

export default function component({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".lesson-bar");
  dress(root, STYLE);
  const view = (root.view ??= { root, number: data.served, sent: data.served, answers: {}, lesson: data.lesson });
  view.setState = setStateValue;
  if (view.lesson !== data.lesson) Object.assign(view, FRESH, { lesson: data.lesson, answers: {}, sent: data.served });
  if (data.served >= view.sent) view.target = data.at; // nothing is under way
  view.data = data;
  if (window.headsUpLesson?.view !== view) {
    listenForLesson(view);
    const again = () => view.root.isConnected && !view.data.guided && showStrip(view);
    for (const hear of [hearRoom, hearFoot]) hear(again, window.headsUpLesson.signal);
  }
  root.classList.toggle("guided", data.guided);
  root.classList.toggle("large", data.large);
  if (data.guided) {
    root.replaceChildren();
    showGuide(view);
  } else {
    endGuide(view);
    showStrip(view);
  }
  takeFoot("lesson", root, { folded: data.large && !data.guided });
}
