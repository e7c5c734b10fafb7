// Whoever has sent a text, or chosen with a mouse, is done with it: the next key is the page's. Listened to from before
// there is anything that steps: on a busy machine that comes later than what was typed.
export function freeKeys(signal) {
  let pressed = null;
  document.addEventListener("keydown", (event) => freeAfterText(event), { signal });
  // A pressed choice never gets the focus: a group that was left gives it to the choice that had it last, and a row
  // scrolls there before the button is up, so that the press is lost. What had the focus is left, as by any press.
  const onMouseDown = (event) => {
    if (!event.composedPath()[0].closest?.("[role=radio]")) return;
    event.preventDefault();
    document.activeElement?.blur();
  };
  // Reached by keyboard (detail is 0), what is chosen among keeps the arrow keys. Noted when the button goes down: a
  // tab's content may move it away before the button is up.
  const onDown = (event) => {
    pressed = event.composedPath()[0].closest?.("[role=tab], canvas");
  };
  const onClick = (event) => {
    if (event.detail && pressed) setTimeout(() => document.activeElement?.blur(), 0);
  };
  document.addEventListener("mousedown", onMouseDown, { capture: true, signal });
  document.addEventListener("pointerdown", onDown, { capture: true, signal });
  document.addEventListener("click", onClick, { capture: true, signal });
}

function freeAfterText(event) {
  const [at] = event.composedPath();
  if (event.key !== "Enter") return;
  const long = at.matches?.("textarea") && (event.ctrlKey || event.metaKey);
  if (long || at.matches?.("input[type=text]")) queueMicrotask(() => at.blur());
}
