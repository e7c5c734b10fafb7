// Canvases, and text on them or on anything that has their few methods (see svg.js).
import { visible } from "#view/text/tokens.js";
import { FONT, SMALL } from "#view/drawing/type.js";

// A canvas of that many pixels of the page, its context ready to paint.
/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} zoom */
export function resized(canvas, width, height, zoom = 1) {
  const ratio = (window.devicePixelRatio || 1) * zoom;
  const across = Math.round(width * ratio);
  const down = Math.round(height * ratio);
  const context = flatContext(canvas);
  if (canvas.width === across && canvas.height === down && context.reset)
    context.reset(); // its memory can stay
  else [canvas.width, canvas.height] = [across, down];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** @param {HTMLCanvasElement} canvas */
export const flatContext = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

// How much the page enlarges a view: its canvases have as many pixels more.
export const zoomOf = ({ root }) => root.currentCSSZoom ?? 1;

// A canvas of a view, of that many pixels of the page, its context ready to paint.
export const sized = (view, canvas, width, height) => resized(canvas, width, height, zoomOf(view));

// A small picture, whose pixels `paint` fills in, row after row: see pixelOf in colours.js.
export function bitmap(width, height, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = flatContext(canvas);
  const image = context.createImageData(width, height);
  paint(new Uint32Array(image.data.buffer));
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * @typedef {object} TextOptions
 * @property {string} [colour]
 * @property {number} [size]
 * @property {number} [weight]
 * @property {string} [align]
 * @property {string} [baseline]
 * @property {number} [turn]
 */
const PLAIN = { size: SMALL, weight: 400, align: "left", baseline: "middle", turn: 0 };
/**
 * @param {any} context of a canvas, or what has its few methods
 * @param {string} string
 * @param {number} x
 * @param {number} y
 * @param {TextOptions} options
 */
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

/** @type {CanvasRenderingContext2D | null} */
let ruler = null;
// How wide the widest of these texts is.
export function widest(texts, weight = 400, size = SMALL) {
  const context = (ruler ??= flatContext(document.createElement("canvas")));
  context.font = `${weight} ${size}px ${FONT}`;
  return [...new Set(texts)].reduce((most, one) => Math.max(most, context.measureText(one).width), 0);
}

export const textWidth = (tokens, weight = 400, size = SMALL) =>
  widest(
    tokens.map((token) => visible(token)),
    weight,
    size,
  );

export function stroke(context, ...points) {
  context.beginPath();
  points.forEach((/** @type {number[]} */ [x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}
