// What phones have handed in ("tiles") or written ("moderate") since a lecturer has last looked: kept for this browser.
const NUMBER = { tiles: "id", moderate: "seq" };
const nameOfLooks = ({ code }) => `headsup-found-${code}`;

function looks(state) {
  try {
    return JSON.parse(localStorage.getItem(nameOfLooks(state))) ?? {};
  } catch {
    return {};
  }
}

export function lookedAt(state, ...lists) {
  const seen = looks(state);
  for (const list of lists) {
    seen[list] = Math.max(seen[list] ?? 0, ...(state[list] ?? []).map((one) => one[NUMBER[list]]));
  }
  try {
    localStorage.setItem(nameOfLooks(state), JSON.stringify(seen));
  } catch {
    // then all of it is new
  }
}

export function foundSince(state) {
  const seen = looks(state);
  const unseen = (list) => (state[list] ?? []).filter((one) => one[NUMBER[list]] > (seen[list] ?? 0));
  return unseen("tiles").length + unseen("moderate").length;
}
