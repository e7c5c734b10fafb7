// The few methods of a canvas that the pictures use, written down as SVG.
import { flatContext } from "#view/drawing/canvas.js";
import { FONT } from "#view/drawing/type.js";

const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // what no file of XML may hold
const FINEST = 100; // parts of a pixel that a place is written in
const ANCHOR = { left: "start", center: "middle", right: "end" };

export class Vector {
  constructor(width, height, background) {
    this.vector = true;
    /** @type {string[]} */
    this.parts = [];
    /** @type {{turn: string, open: number}[]} */
    this.stack = [];
    this.clips = 0;
    this.open = 0;
    /** @type {string[]} */
    this.path = [];
    this.size = [width, height];
    this.box = [0, 0, width, height];
    this.turn = "";
    this.globalAlpha = 1;
    this.strokeStyle = background;
    this.lineWidth = 1;
    this.font = "";
    this.textAlign = "left";
    this.fillStyle = background;
    this.fillRect(0, 0, width, height);
  }

  // What is partly seen through says so.
  get opacity() {
    const { globalAlpha } = this;
    return globalAlpha < 1 ? ` opacity="${rounded(globalAlpha)}"` : "";
  }

  add(string) {
    this.parts.push(string);
  }

  fillRect(x, y, width, height) {
    this.add(`<rect ${box(x, y, width, height)} fill="${this.fillStyle}"${this.opacity}/>`);
  }

  strokeRect(x, y, width, height) {
    const line = `stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"`;
    this.add(`<rect ${box(x, y, width, height)} fill="none" ${line}${this.opacity}/>`);
  }

  fillText(string, x, y) {
    const [, weight, size] = /** @type {RegExpMatchArray} */ (this.font.match(/(\d+) ([\d.]+)px/));
    const font = `font-family="${FONT}" font-size="${size}" font-weight="${weight}"`;
    const place = `text-anchor="${ANCHOR[this.textAlign]}" dominant-baseline="central" transform="${this.turn}"`;
    const safe = string.replace(NOT_XML, "\ufffd").replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    const at = `x="${rounded(x)}" y="${rounded(y)}"`;
    this.add(`<text ${at} ${font} ${place} fill="${this.fillStyle}"${this.opacity}>${safe}</text>`);
  }

  drawImage(canvas, ...place) {
    const picture = (place.length > 4 ? cut(canvas, place) : canvas).toDataURL();
    const how = `preserveAspectRatio="none" style="image-rendering: pixelated"`;
    this.add(`<image href="${picture}" ${box(...place.slice(-4))} ${how}${this.opacity}/>`);
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${rounded(x)} ${rounded(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`L${rounded(x)} ${rounded(y)}`);
  }

  stroke() {
    const line = `stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"`;
    this.add(`<path d="${this.path.join("")}" fill="none" ${line} stroke-opacity="${this.globalAlpha}"/>`);
  }

  fill() {
    this.add(`<path d="${this.path.join("")}" fill="${this.fillStyle}"${this.opacity}/>`);
  }

  rect(...sides) {
    this.box = sides;
  }

  clip() {
    const id = `c${++this.clips}`;
    this.add(`<clipPath id="${id}"><rect ${box(...this.box)}/></clipPath><g clip-path="url(#${id})">`);
    this.open += 1;
  }

  save() {
    this.stack.push({ turn: this.turn, open: this.open });
  }

  restore() {
    const { turn, open } = /** @type {{turn: string, open: number}} */ (this.stack.pop());
    for (; this.open > open; this.open--) this.add("</g>");
    this.turn = turn;
  }

  translate(x, y) {
    this.turn = `translate(${rounded(x)} ${rounded(y)})`;
  }

  rotate(angle) {
    this.turn += ` rotate(${(angle * 180) / Math.PI})`;
  }

  toString() {
    const [width, height] = this.size;
    const space = 'xmlns="http://www.w3.org/2000/svg"';
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    return `<svg ${space} ${size}>${this.parts.join("\n")}</svg>`;
  }
}

const rounded = (value) => Math.round(value * FINEST) / FINEST;

/** @param {number[]} sides */
const box = (...[x, y, width, height]) =>
  `x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"`;

// A part of a canvas.
export function cut(canvas, /** @type {number[]} */ [from, down, columns, rows]) {
  const part = document.createElement("canvas");
  part.width = columns;
  part.height = rows;
  flatContext(part).drawImage(canvas, -from, -down);
  return part;
}
