// Holds a page at a place while it is drawn.

const HOLD_MS = 300; // between two looks
const MOST_LOOKS = 1_000; // five minutes: a slow machine may have to train what a stop is about first
const ACTS = ["wheel", "touchmove", "pointerdown", "keydown"];

// Calls `look` again and again, as what is above a place may be drawn after it. `look` goes there and returns whether
// it is there yet, or null for no more; then the first act of somebody at this page ends it. It ends with `root` too.
export function holdPlace(root, look) {
  const held = new AbortController();
  let isThere = false;
  for (const name of ACTS) {
    const options = { capture: true, passive: true, signal: held.signal };
    window.addEventListener(name, () => isThere && held.abort(), options);
  }
  const again = (looks) => {
    if (held.signal.aborted) return;
    const found = looks && root.isConnected ? look() : null;
    isThere ||= found;
    if (found === null) held.abort();
    else setTimeout(again, HOLD_MS, looks - 1);
  };
  again(MOST_LOOKS);
}
