// How large the picture is: on a page as it comes, on a projector all of it on one screen.
import { resized } from "#view/canvas.js";
import { matrixLayout } from "#view/matrix.js";
import { infoOf, sizesOf } from "#view/view/look.js";

const WIDE = 700; // px of the window; below that everything is in one column
const LEGEND = 52; // px; below the matrix stands its scale

const zoomOf = ({ root }) => root.currentCSSZoom ?? 1;

export function setZoom({ root, large }) {
  const fits = Math.min(window.innerWidth / 800, window.innerHeight / 500);
  root.style.zoom = large && window.innerWidth > WIDE ? Math.min(2.4, Math.max(1.2, fits)) : "";
}

// Where the picture begins on the page.
export function topOf({ parts }) {
  const scrolled = document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0;
  return parts.scroller.getBoundingClientRect().top + scrolled;
}

export function tallest(view) {
  if (!view.large) return 620;
  if (window.innerWidth <= WIDE) return 420;
  return Math.max(120, (window.innerHeight - topOf(view)) / zoomOf(view) - LEGEND);
}

export function layout(view, width, zoom) {
  return matrixLayout(infoOf(view), width, {
    look: view.look,
    zoom,
    least: view.large ? 11 : 1,
    tall: view.large ? tallest(view) : null,
  });
}

// What of a long text is not on a projector's screen is said.
export function inSight(view, { cell, gutter }, width, tall) {
  const [Q, K] = sizesOf(view);
  const rows = Math.floor((tall - gutter.top) / cell[1]);
  const columns = Math.floor((width - gutter.left) / cell[0]);
  return [rows < Q && `${rows} of ${Q} queries`, columns < K && `${columns} of ${K} keys`]
    .filter(Boolean)
    .join(" and ");
}

export const sized = (view, canvas, width, height) => resized(canvas, width, height, zoomOf(view));
