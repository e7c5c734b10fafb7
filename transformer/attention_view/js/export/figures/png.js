// Pictures of pixels: twice the size whatever the screen, light or dark whatever the page.
import { resized } from "#view/drawing/canvas.js";
import { themeOf } from "#view/drawing/colours.js";

const TWICE = 2;
export const PNGS = {
  "png-light": { words: "PNG, light", dark: false },
  "png-dark": { words: "PNG, dark", dark: true },
  "png-clear-light": { words: "PNG, light, transparent", dark: false, clear: true },
  "png-clear-dark": { words: "PNG, dark, transparent", dark: true, clear: true },
};

// The view as a picture of that kind needs it.
export function inTheme(view, kind) {
  const { dark, clear } = PNGS[kind];
  const theme = themeOf(dark);
  return { ...view, large: false, theme: clear ? { ...theme, page: null } : theme };
}

// A canvas ready to be painted on.
export function paper(canvas, width, height, { page }) {
  const context = resized(canvas, width, height, TWICE / (window.devicePixelRatio || 1));
  if (!page) return context;
  context.fillStyle = page;
  context.fillRect(0, 0, width, height);
  return context;
}

export const blobOf = (canvas) => new Promise((give) => canvas.toBlob(give));
