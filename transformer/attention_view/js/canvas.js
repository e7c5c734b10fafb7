// Canvases, and text on them or on anything that has their few methods (see svg.js).
import { visible } from "#view/tokens.js";
import { FONT, SMALL } from "#view/type.js";

// A canvas of that many pixels of the page, its context ready to paint.
export function resized(canvas, width, height, zoom = 1) {
  const ratio = (window.devicePixelRatio || 1) * zoom;
  const across = Math.round(width * ratio);
  const down = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (canvas.width === across && canvas.height === down && context.reset)
    context.reset(); // its memory can stay
  else [canvas.width, canvas.height] = [across, down];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// How much the page enlarges a view: its canvases have as many pixels more.
export const zoomOf = ({ root }) => root.currentCSSZoom ?? 1;

// A canvas of a view, of that many pixels of the page, its context ready to paint.
export const sized = (view, canvas, width, height) => resized(canvas, width, height, zoomOf(view));

// A small picture, whose pixels `paint` fills in, row after row: see pixelOf in colours.js.
export function bitmap(width, height, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  paint(new Uint32Array(image.data.buffer));
  context.putImageData(image, 0, 0);
  return canvas;
}

const PLAIN = { size: SMALL, weight: 400, align: "left", baseline: "middle", turn: 0 };
export function text(context, string, x, y, options = {}) {
  const { size, weight, colour, align, baseline, turn } = { ...PLAIN, ...options };
  context.font = `${weight} ${size}px ${FONT}`;
  context.fillStyle = colour;
  context.textAlign = align;
  context.textBaseline = baseline;
  if (!turn) return context.fillText(string, x, y);
  context.save();
  context.translate(x, y);
  context.rotate(turn);
  context.fillText(string, 0, 0);
  context.restore();
}

let ruler = null;
// How wide the widest of these texts is.
export function widest(texts, weight = 400, size = SMALL) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${weight} ${size}px ${FONT}`;
  return [...new Set(texts)].reduce((most, one) => Math.max(most, ruler.measureText(one).width), 0);
}

export const textWidth = (tokens, weight = 400, size = SMALL) =>
  widest(
    tokens.map((token) => visible(token)),
    weight,
    size,
  );

export function stroke(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}
