// What is drawn on a page and can be kept as files, for whoever takes all of it. Each component's script has a scope of
// its own, so the list is the window's.
import { app } from "#view/page/app.js";

// files: gives a promise of [name of the file, Blob] pairs of what is drawn now. Once for an element, however often.
export function expose(root, name, files) {
  const shelf = app().figures;
  for (const one of shelf) if (!one.root.isConnected) shelf.delete(one);
  root.figure ??= { root };
  shelf.add(Object.assign(root.figure, { name, files }));
}

// Keeps every figure of the page in one zip. Rejects where nothing is drawn.
export async function keepAllFigures() {
  const { keepPageFigures } = await import("#view/export/figures/page.js");
  return keepPageFigures();
}
