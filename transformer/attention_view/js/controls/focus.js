// Whoever has sent a text, or chosen with a mouse, is done with it: the next key is the page's. Listened to from before
// there is anything that steps: on a busy machine that comes later than what was typed.
export function freeKeys(signal) {
  let pressed = null;
  document.addEventListener("keydown", (event) => freeAfterText(event), { signal });
  // Reached by keyboard (detail is 0), what is chosen among keeps the arrow keys. Noted when the button goes down: a
  // tab's content may move it away before the button is up.
  const onDown = (event) => {
    pressed = event.composedPath()[0].closest?.("[role=radio], [role=tab], canvas");
  };
  const onClick = (event) => {
    const chosen = pressed || event.composedPath()[0].closest?.("[role=radio]");
    if (event.detail && chosen) setTimeout(() => document.activeElement?.blur(), 0);
  };
  document.addEventListener("pointerdown", onDown, { capture: true, signal });
  document.addEventListener("click", onClick, { capture: true, signal });
}

function freeAfterText(event) {
  const [at] = event.composedPath();
  if (event.key !== "Enter") return;
  const long = at.matches?.("textarea") && (event.ctrlKey || event.metaKey);
  if (long || at.matches?.("input[type=text]")) queueMicrotask(() => at.blur());
}
