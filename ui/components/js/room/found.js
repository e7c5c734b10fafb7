// What phones have handed in or written since a lecturer has last looked: kept for this browser.
const UNSEEN = { tile: 0, text: 0 };
const nameOfLooks = ({ code }) => `headsup-found-${code}`;

function looks(state) {
  try {
    return { ...UNSEEN, ...JSON.parse(localStorage.getItem(nameOfLooks(state))) };
  } catch {
    return UNSEEN;
  }
}

const newest = (numbers, before) => Math.max(before, ...numbers);

export function lookedAt(state) {
  const before = looks(state);
  const tile = newest(
    state.tiles.map(({ id }) => id),
    before.tile,
  );
  const text = newest(
    (state.moderate ?? []).map(({ seq }) => seq),
    before.text,
  );
  try {
    localStorage.setItem(nameOfLooks(state), JSON.stringify({ tile, text }));
  } catch {
    // then all of it is new
  }
}

export function foundSince(state) {
  const { tile, text } = looks(state);
  const tiles = state.tiles.filter(({ id }) => id > tile);
  const texts = (state.moderate ?? []).filter(({ seq, shown }) => seq > text && !shown);
  return tiles.length + texts.length;
}
