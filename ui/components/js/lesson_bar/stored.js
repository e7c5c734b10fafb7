// How far this browser's visitor has come on the tour: a stop, "done" or "refused".
const STORED = "headsup-tour";

export function remember(what) {
  try {
    localStorage.setItem(STORED, what);
  } catch {
    /* this browser keeps nothing */
  }
}

export function remembered() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}
