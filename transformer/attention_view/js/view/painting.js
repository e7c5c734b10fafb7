// What the painters are given of a view, without what the pointer is on.
import { infoOf, inLines, lit, stageNow } from "#view/view/look.js";

// What paintGrid needs.
export function gridOf(view) {
  const { message, look, theme } = view;
  const name = `grid/${look.kind}`;
  const heads = inLines(view) ? lit(view) : null;
  return {
    info: infoOf(view),
    cells: message.arrays[name],
    shape: message.shapes[name],
    look,
    theme,
    scale: look.scale,
    lit: heads,
  };
}

// What paintMatrix needs.
export function matrixOf(view, made = view.made) {
  const newest = view.message.newest && view.look.kind !== "encoder";
  return { info: infoOf(view), stage: stageNow(view), look: view.look, ...made, newest, theme: view.theme };
}
