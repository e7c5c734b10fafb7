// The few methods of a canvas that the pictures use, written down as a PDF of one page; see ISO 32000. Text is text in
// the fonts that every reader has, Helvetica and Symbol; a sign for a space is drawn, and what else they have not is a
// small picture of itself.
import { flatContext } from "#view/drawing/canvas.js";
import { channels } from "#view/drawing/colours.js";
import { cut } from "#view/drawing/svg.js";
import { FONT } from "#view/drawing/type.js";

// Thousandths of the font's size, for the characters from space to ~: Adobe's metrics of Helvetica.
const WIDTHS = {
  F1: `278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278
    584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944
    667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500
    278 556 500 722 500 500 500 334 260 334 584`.split(/\s+/),
  F2: `278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333
    584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944
    667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556
    333 611 556 778 556 556 500 389 280 389 584`.split(/\s+/),
};
const LATIN = {
  "’": 0x92,
  "‘": 0x91,
  "“": 0x93,
  "”": 0x94,
  "–": 0x96,
  "—": 0x97,
  "…": 0x85,
  œ: 0x9c,
  Œ: 0x8c,
  "€": 0x80,
};
const LATIN_WIDTHS = {
  "’": 222,
  "‘": 222,
  "“": 333,
  "”": 333,
  "—": 1000,
  "…": 1000,
  œ: 944,
  Œ: 1000,
  "·": 278,
  "°": 400,
};
const SPACE = "␣";
const WIDTH_OF_SPACE = 0.56; // of the font's size
const SYMBOLS = {
  "−": [0x2d, 549],
  "√": [0xd6, 549],
  "→": [0xae, 987],
  "∞": [0xa5, 713],
  "↵": [0xbf, 658],
  "∅": [0xc6, 823],
  "⟨": [0xe1, 329],
  "⟩": [0xf1, 329],
};
const SHARP = 4; // pixels to a point of a picture of text
const ISOLATES = /[\u2066-\u2069]/g; // which act on what is around, and a PDF has none of that
const FONTS = { F1: "Helvetica", F2: "Helvetica-Bold", F3: "Symbol" };

const number = (value) => String(Number(value.toFixed(3)));
const bytesOf = (latin) => Uint8Array.from(latin, (c) => c.charCodeAt(0));
const isLatin = (c) => (c >= " " && c <= "~") || (c >= "\u00a1" && c <= "\u00ff") || c in LATIN;

// How one character is written: its font, its byte and its width.
function glyphOf(c, font) {
  if (c in SYMBOLS) return { font: "F3", code: SYMBOLS[c][0], width: SYMBOLS[c][1] };
  if (c === SPACE) return { font: SPACE, code: c, width: 1000 * WIDTH_OF_SPACE };
  if (!isLatin(c)) return { font: null, code: c, width: 600 };
  const base = c.normalize("NFD").charCodeAt(0) - 32; // an accent changes no width
  return { font, code: LATIN[c] ?? c.charCodeAt(0), width: LATIN_WIDTHS[c] ?? Number(WIDTHS[font][base] ?? 556) };
}

// A text in runs of one font: [{font, codes, width}].
function runsOf(string, font, measure) {
  const runs = [];
  for (const c of string.normalize("NFC")) {
    const glyph = glyphOf(c, font);
    if (runs.at(-1)?.font !== glyph.font) runs.push({ font: glyph.font, codes: [], width: 0 });
    runs.at(-1).codes.push(glyph.code);
    runs.at(-1).width += glyph.width / 1000;
  }
  for (const run of runs) if (!run.font) run.width = measure(run.codes.join(""));
  return runs;
}

const painted = {};
// A colour of any spelling as red, green and blue between 0 and 1.
function rgb(colour) {
  if (colour.startsWith("#") && colour.length === 7) return channels(colour).map((c) => c / 255);
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour);
  if (parts) return parts.slice(1).map((c) => Number(c) / 255);
  return (painted[colour] ??= byPainting(colour));
}

function byPainting(colour) {
  const context = flatContext(Object.assign(document.createElement("canvas"), { width: 1, height: 1 }));
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.subarray(0, 3)].map((c) => c / 255);
}

export class Pdf {
  constructor(width, height, background) {
    this.vector = true;
    this.size = [width, height];
    /** @type {string[]} */
    this.page = [];
    /** @type {ReturnType<typeof pixelsOf>[]} */
    this.images = [];
    this.alphas = new Map();
    /** @type {string[]} */
    this.path = [];
    this.strokeStyle = background;
    this.lineWidth = 1;
    this.font = "";
    this.textAlign = "left";
    this.globalAlpha = 1;
    this.add(`1 0 0 -1 0 ${number(height)} cm`); // from here on y grows downwards, as on a canvas
    this.fillStyle = background;
    this.fillRect(0, 0, width, height);
  }

  add(...operators) {
    this.page.push(...operators);
  }

  // What is partly seen through is so alone.
  paint(operators) {
    if (this.globalAlpha < 1) this.add("q", this.alpha(), operators, "Q");
    else this.add(operators);
  }

  fillRect(...box) {
    this.paint(`${this.colour(this.fillStyle)} rg ${box.map(number).join(" ")} re f`);
  }

  strokeRect(...box) {
    this.paint(`${this.line()} ${box.map(number).join(" ")} re S`);
  }

  colour(style) {
    return rgb(style).map(number).join(" ");
  }

  line() {
    return `${this.colour(this.strokeStyle)} RG ${number(this.lineWidth)} w`;
  }

  // The graphics state for what is partly seen through.
  alpha() {
    const id = number(this.globalAlpha);
    if (!this.alphas.has(id)) this.alphas.set(id, `G${this.alphas.size}`);
    return `/${this.alphas.get(id)} gs`;
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`${number(x)} ${number(y)} m`);
  }

  lineTo(x, y) {
    this.path.push(`${number(x)} ${number(y)} l`);
  }

  rect(...box) {
    this.path.push(`${box.map(number).join(" ")} re`);
  }

  stroke() {
    this.add("q", this.alpha(), this.line(), ...this.path, "S", "Q");
  }

  fill() {
    this.paint(`${this.colour(this.fillStyle)} rg ${this.path.join(" ")} f`);
  }

  clip() {
    this.add(...this.path, "W n");
  }

  save() {
    this.add("q");
  }

  restore() {
    this.add("Q");
  }

  translate(x, y) {
    this.add(`1 0 0 1 ${number(x)} ${number(y)} cm`);
  }

  rotate(angle) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)].map(number);
    this.add(`${cos} ${sin} ${number(-Math.sin(angle))} ${cos} 0 0 cm`);
  }

  fillText(string, x, y) {
    const [, weight, size] = /** @type {RegExpMatchArray} */ (this.font.match(/(\d+) ([\d.]+)px/)).map(Number);
    const bold = weight >= 600;
    const measure = (text) => pictureOfText(text, size, bold, this.fillStyle).width / SHARP / size;
    const runs = runsOf(string.replace(ISOLATES, ""), bold ? "F2" : "F1", measure);
    const width = runs.reduce((sum, run) => sum + run.width, 0) * size;
    let left = x - width * { left: 0, center: 0.5, right: 1 }[this.textAlign];
    for (const run of runs) {
      this.addRun(run, left, y, { size, bold });
      left += run.width * size;
    }
  }

  addRun(run, x, y, { size, bold }) {
    const base = y + size * 0.36; // its middle is where a canvas has it
    if (run.font === SPACE) run.codes.forEach((_, i) => this.addSpace(x + i * WIDTH_OF_SPACE * size, base, size));
    else if (run.font) this.addText(run, x, base, size);
    else {
      const picture = pictureOfText(run.codes.join(""), size, bold, this.fillStyle);
      this.drawImage(picture, x, y - size, run.width * size, 2 * size);
    }
  }

  addText({ font, codes }, x, y, size) {
    const hex = codes.map((code) => code.toString(16).padStart(2, "0")).join("");
    const place = `1 0 0 -1 ${number(x)} ${number(y)} Tm`;
    this.paint(`BT /${font} ${number(size)} Tf ${this.colour(this.fillStyle)} rg ${place} <${hex}> Tj ET`);
  }

  // An open box, as the sign of a space is.
  addSpace(x, y, size) {
    const [left, right, top, bottom] = [x + 0.07 * size, x + 0.49 * size, y - 0.08 * size, y + 0.14 * size].map(number);
    const path = `${left} ${top} m ${left} ${bottom} l ${right} ${bottom} l ${right} ${top} l S`;
    this.paint(`${this.colour(this.fillStyle)} RG ${number(size / 14)} w ${path}`);
  }

  drawImage(canvas, ...place) {
    const [x, y, width, height] = place.slice(-4);
    this.images.push(pixelsOf(place.length > 4 ? cut(canvas, place) : canvas));
    const box = [width, 0, 0, -height, x, y + height].map(number).join(" ");
    this.paint(`q ${box} cm /I${this.images.length - 1} Do Q`);
  }

  // The file's bytes.
  bytes() {
    const file = new Objects();
    const fonts = Object.entries(FONTS).map(([id, name]) => `/${id} ${file.put(fontOf(name))} 0 R`);
    const states = [...this.alphas].map(([alpha, id]) => `/${id} << /CA ${alpha} /ca ${alpha} >>`);
    const pictures = this.images.map((image, i) => `/I${i} ${putImage(file, image)} 0 R`);
    const contents = file.putStream("", bytesOf(this.page.join("\n")));
    const named = { Font: fonts, ExtGState: states, XObject: pictures };
    const resources = Object.entries(named).map(([name, all]) => `/${name} << ${all.join(" ")} >>`);
    const pages = file.next + 1;
    const page = `/Type /Page /Parent ${pages} 0 R /MediaBox [0 0 ${this.size.map(number).join(" ")}]`;
    const kid = file.put(`<< ${page} /Resources << ${resources.join(" ")} >> /Contents ${contents} 0 R >>`);
    file.put(`<< /Type /Pages /Kids [${kid} 0 R] /Count 1 >>`);
    return file.end(file.put(`<< /Type /Catalog /Pages ${pages} 0 R >>`));
  }
}

const fontOf = (name) =>
  `<< /Type /Font /Subtype /Type1 /BaseFont /${name}${name === "Symbol" ? "" : " /Encoding /WinAnsiEncoding"} >>`;

// Objects one after the other, then where each begins.
class Objects {
  constructor() {
    this.parts = [bytesOf("%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n")];
    this.starts = [];
  }

  get next() {
    return this.starts.length + 1;
  }

  get length() {
    return this.parts.reduce((sum, part) => sum + part.length, 0);
  }

  put(body, ...more) {
    this.starts.push(this.length);
    this.parts.push(bytesOf(`${this.starts.length} 0 obj\n${body}`), ...more, bytesOf("\nendobj\n"));
    return this.starts.length;
  }

  putStream(dictionary, data) {
    return this.put(`<< ${dictionary} /Length ${data.length} >>\nstream\n`, data, bytesOf("\nendstream"));
  }

  end(root) {
    const start = this.length;
    const rows = this.starts.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`);
    const table = `xref\n0 ${rows.length + 1}\n0000000000 65535 f \n${rows.join("")}`;
    this.parts.push(
      bytesOf(`${table}trailer << /Size ${rows.length + 1} /Root ${root} 0 R >>\nstartxref\n${start}\n%%EOF\n`),
    );
    return this.parts;
  }
}

function pixelsOf(canvas) {
  const { width, height } = canvas;
  const { data } = flatContext(canvas).getImageData(0, 0, width, height);
  const colours = new Uint8Array(width * height * 3);
  const alphas = new Uint8Array(width * height);
  for (let i = 0; i < alphas.length; i++) {
    colours.set(data.subarray(4 * i, 4 * i + 3), 3 * i);
    alphas[i] = data[4 * i + 3];
  }
  return { width, height, colours, alphas };
}

function putImage(file, { width, height, colours, alphas }) {
  const size = `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /BitsPerComponent 8`;
  const through = alphas.every((alpha) => alpha === 255)
    ? ""
    : `/SMask ${file.putStream(`${size} /ColorSpace /DeviceGray`, alphas)} 0 R`;
  return file.putStream(`${size} /ColorSpace /DeviceRGB ${through}`, colours);
}

// A text twice as high as its size, its middle in the middle.
function pictureOfText(text, size, bold, colour) {
  const canvas = document.createElement("canvas");
  const context = flatContext(canvas);
  const font = `${bold ? 650 : 400} ${size * SHARP}px ${FONT}`;
  context.font = font;
  canvas.width = Math.max(1, Math.ceil(context.measureText(text).width));
  canvas.height = Math.ceil(2 * size * SHARP);
  Object.assign(context, { font, fillStyle: colour, textBaseline: "middle" });
  context.fillText(text, 0, size * SHARP);
  return canvas;
}
