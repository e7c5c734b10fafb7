// How tall the stage is: all of it that a click changes is on one screen, whatever the window.
import { onPhone } from "#view/view/sizes.js";

const LOWEST = 430; // px, of a window too low for it
const LOWEST_ON_PHONE = 540;
const BESIDE = 10; // px, below it

// Where the stage begins on the page.
export function topOfStage({ root }) {
  const scrolled = document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0;
  return root.getBoundingClientRect().top + scrolled;
}

export function fit(stage) {
  const { root, parts } = stage;
  root.classList.toggle("phone", onPhone());
  const room = window.innerHeight - topOfStage(stage) - BESIDE;
  parts.screen.style.height = `${Math.max(onPhone() ? LOWEST_ON_PHONE : LOWEST, Math.floor(room))}px`;
}
