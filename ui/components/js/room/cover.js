// What covers a screen while something is asked, so that the page behind is not to be seen: on the wall, and where the
// lecturer presents.
import { part } from "#view/elements.js";
import { keepFitted, leaveFitted } from "./fitted.js";
import { comingOf, drawQuestion } from "./question.js";
import { COMING, leavesInSight } from "./words.js";

export function coverRoom(bar, on) {
  const { root, state } = bar;
  bar.cover ??= part("div", { className: "cover" });
  if (on && state.coming) drawComing(bar);
  else if (on && isAsked(state)) drawQuestion(bar.cover, state, { face: "wall" });
  else return bar.cover.remove();
  root.append(bar.cover);
  const beside = !state.coming && leavesInSight(state);
  bar.cover.classList.toggle("beside", beside);
  (beside ? leaveFitted : keepFitted)(bar.cover);
}

// Whether what is asked hides the page.
export const hidesPage = ({ cover }) => Boolean(cover?.isConnected) && !cover.classList.contains("beside");

export const isAsked = ({ question }) => Boolean(question) && question.phase !== "draft";

// A stop whose page would give the answer away waits until it is asked; of a draft there is nothing to think about.
function drawComing({ state, cover: screen }) {
  const { coming } = state;
  const kicker = coming === COMING ? [] : [part("p", { className: "kicker", textContent: "Think first" })];
  screen.classList.add("question");
  screen.asked = null;
  screen.replaceChildren(...kicker, part("h2", { className: "ask", textContent: coming }), ...comingOf(state));
}

// A few words on a screen of their own.
export function saidLarge(root, words) {
  const screen = part("div", { className: "cover pause" }, part("p", { textContent: words }));
  root.append(screen);
  keepFitted(screen);
}
