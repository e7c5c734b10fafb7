// How large the picture is: on a page as it comes, on a projector all of it on one screen.
import { zoomOf } from "#view/drawing/canvas.js";
import { matrixLayout, TYPE } from "#view/pictures/matrix.js";
import { onPhone, topOnPage } from "#view/page/window.js";
import { boxed, infoOf, sizesOf } from "#view/attention/selection.js";

const ROW_BY_FINGER = 24; // px
const LEGEND = 52; // px; below the matrix stands its scale

export function setZoom(view) {
  const { root, large } = view;
  if (boxed(view)) {
    // 24 px on a screen 720 px high, the least that can be read from the last row
    root.style.zoom = large ? Math.max(1, Math.min(window.innerHeight, window.innerWidth) / 30 / TYPE) : "";
    return;
  }
  const fits = Math.min(window.innerWidth / 800, window.innerHeight / 500);
  root.style.zoom = large && !onPhone() ? Math.min(2.4, Math.max(1.2, fits)) : "";
}

export function tallest(view) {
  if (boxed(view)) return Math.max(60, view.parts.scroller.clientHeight);
  if (!view.large) return 620;
  if (onPhone()) return 420;
  return Math.max(120, (window.innerHeight - topOnPage(view.parts.scroller)) / zoomOf(view) - LEGEND);
}

export function layout(view, width, zoom) {
  return matrixLayout(infoOf(view), width, {
    selection: view.selection,
    zoom,
    least: view.large && !boxed(view) ? 11 : 1,
    leastRow: boxed(view) && onPhone() ? ROW_BY_FINGER : 0,
    tall: view.large || boxed(view) ? tallest(view) : null,
  });
}

// What the picture of all heads may fill of a box.
export function roomOfGrid({ parts }) {
  if (onPhone()) return 560;
  return Math.max(60, parts.side.clientHeight - parts.sideTitle.offsetHeight - parts.order.offsetHeight - 8);
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
