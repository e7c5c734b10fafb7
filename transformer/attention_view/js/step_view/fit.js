// How tall the step view is: all of it that a click changes is on one screen, whatever the window.
import { byFinger, footHeight, onPhone, topOnPage } from "#view/view/sizes.js";

const LOWEST = 430; // px, of a window too low for it
const LOWEST_ON_PHONE = 540;
const LOWEST_BY_FINGER = 700; // where all that is tapped is larger
const BELOW_IT = 10; // px
const CAPTION = 28; // px, where a file says below it what it is of
const HIGHEST_FIRST_LOOK = 470; // px
const HIGHEST_ON_PHONE = 600;

export function fit(stepView) {
  const { root, parts } = stepView;
  root.classList.toggle("phone", onPhone());
  root.classList.toggle("taught", footHeight() > 0);
  const beside = BELOW_IT + (stepView.message.standalone ? CAPTION : 0) + footHeight();
  const room = window.innerHeight - topOnPage(root) - beside;
  const first = onPhone() ? HIGHEST_ON_PHONE : HIGHEST_FIRST_LOOK;
  const most = stepView.data.brief ? first : Infinity;
  const least = onPhone() ? (byFinger() ? LOWEST_BY_FINGER : LOWEST_ON_PHONE) : LOWEST;
  // the versions of a sentence take nothing from the picture
  const versions = onPhone() ? (parts.bars.querySelector(".branches")?.offsetHeight ?? 0) : 0;
  parts.screen.style.height = `${Math.max(least, Math.min(most, Math.floor(room))) + versions}px`;
}
