// How far this browser's visitor has come on the walk: a stop, "done" or "refused".
const STORED = "headsup-walk";

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
