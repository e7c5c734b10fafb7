// The browser's window: what of it a view has, and whether it is a telephone's.
import { scrolledBy } from "#view/page/streamlit.js";

const PHONE_WIDTH = 700; // px; below that everything is in one column

// Where an element begins on the page, however far that is scrolled.
export function topOnPage(element) {
  return element.getBoundingClientRect().top + scrolledBy();
}

// The bars of a lesson and of a room lie over the foot of the window.
export const footHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--foot")) || 0;

export const onPhone = () => window.innerWidth <= PHONE_WIDTH;
