// As much of a document as the views are built of, for node: elements that keep what is put into them, and canvases
// that write down what is painted on them (svg.js). Nothing is laid out: an element has the size of its class.
import { Vector } from "#view/drawing/svg.js";

const WINDOW = [1440, 900];
const SIZES = { scroller: [720, 520], side: [420, 520], "model-room": [1200, 760], flow: [900, 600] };
const LETTER = { 400: 6.5, 650: 7 }; // px of 13, whatever the letter

class Element extends EventTarget {
  constructor(tagName) {
    super();
    const style = { setProperty: (name, value) => (style[name] = value) };
    Object.assign(this, { tagName, children: [], attributes: new Map(), dataset: {}, style, parentElement: null });
    Object.assign(this, { hidden: false, scrollTop: 0, scrollLeft: 0, scrollWidth: 0, scrollHeight: 0 });
    this.classes = new Set();
  }

  get className() {
    return [...this.classes].join(" ");
  }

  set className(names) {
    this.classes = new Set(names.split(" ").filter(Boolean));
  }

  get classList() {
    const { classes } = this;
    return {
      add: (name) => classes.add(name),
      contains: (name) => classes.has(name),
      toggle: (name, on = !classes.has(name)) => (on ? classes.add(name) : classes.delete(name)),
    };
  }

  get textContent() {
    return this.children.map((one) => one.textContent ?? one).join("");
  }

  set textContent(words) {
    this.replaceChildren(...(words === "" ? [] : [words]));
  }

  replaceChildren(...children) {
    for (const one of this.children) if (one instanceof Element) one.parentElement = null;
    this.children = [];
    this.append(...children);
  }

  append(...children) {
    for (const one of children) this.appendChild(one);
  }

  prepend(...children) {
    this.replaceChildren(...children, ...this.children);
  }

  appendChild(child) {
    const one = child instanceof Element ? child : String(child);
    if (child instanceof Element) {
      child.remove();
      child.parentElement = this;
    }
    this.children.push(one);
    return one;
  }

  remove() {
    if (this.parentElement) this.parentElement.children = this.parentElement.children.filter((one) => one !== this);
    this.parentElement = null;
  }

  get firstChild() {
    return this.children[0] ?? null;
  }

  get elements() {
    return this.children.filter((one) => one instanceof Element);
  }

  get below() {
    return this.elements.flatMap((one) => [one, ...one.below]);
  }

  contains(other) {
    return other === this || this.below.includes(other);
  }

  matches(selector) {
    const [, tag, rest] = selector.match(/^([\w-]*)(.*)$/);
    const wanted = [...rest.matchAll(/\.([\w-]+)|\[([\w-]+)\]/g)];
    return (!tag || tag === this.tagName) && wanted.every(([, name, key]) => this.classes.has(name) || this.has(key));
  }

  has(key) {
    return this.attributes.has(key) || (key?.startsWith("data-") && key.slice(5) in this.dataset);
  }

  querySelectorAll(selectors) {
    return this.below.filter((one) => selectors.split(", ").some((selector) => one.matches(selector)));
  }

  querySelector(selectors) {
    return this.querySelectorAll(selectors)[0] ?? null;
  }

  closest(selector) {
    return this.matches(selector) ? this : (this.parentElement?.closest(selector) ?? null);
  }

  getRootNode() {
    return document;
  }

  get isConnected() {
    return this === document.body || Boolean(this.parentElement?.isConnected);
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    if (name === "class") this.className = String(value);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  get size() {
    const own = [...this.classes].find((name) => name in SIZES);
    return SIZES[own] ?? this.parentElement?.size ?? WINDOW;
  }

  get clientWidth() {
    return this.size[0];
  }

  get clientHeight() {
    return this.size[1];
  }

  get offsetHeight() {
    return 0;
  }

  getBoundingClientRect() {
    const [width, height] = this.size;
    return { left: 0, top: 0, x: 0, y: 0, width, height, right: width, bottom: height };
  }

  focus() {}

  blur() {}

  toString() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${this.tagName}${attributes}>${this.children.join("")}</${this.tagName}>`;
  }
}

class Canvas extends Element {
  constructor() {
    super("canvas");
    Object.assign(this, { width: 300, height: 150 });
  }

  getContext() {
    return (this.context ??= new Context(this));
  }

  // Its pixels: how bright each of its nine parts is on average, and what tells it from all others.
  toDataURL() {
    const { pixels } = this.getContext();
    const bright = (from, to) => {
      let [sum, count] = [0, 0];
      for (let row = from[0]; row < to[0]; row++) {
        for (let column = from[1]; column < to[1]; column++, count++) sum += light(pixels[row * this.width + column]);
      }
      return (sum / Math.max(1, count)).toFixed(1);
    };
    const cut = (size, at) => Math.floor((size * at) / 3);
    const parts = Array.from({ length: 9 }, (_, at) => {
      const [row, column] = [Math.floor(at / 3), at % 3];
      return bright(
        [cut(this.height, row), cut(this.width, column)],
        [cut(this.height, row + 1), cut(this.width, column + 1)],
      );
    });
    return `${this.width}x${this.height}:${parts.join(" ")}`;
  }
}

const light = (pixel) => ((pixel & 255) * 2 + ((pixel >> 8) & 255) * 5 + ((pixel >> 16) & 255)) / 8;

class Context extends Vector {
  constructor(canvas) {
    super(0, 0, "#ffffff");
    Object.assign(this, { canvas, vector: false }); // painted as on a screen
    this.reset();
  }

  reset() {
    Object.assign(this, { parts: [], stack: [], open: 0, globalAlpha: 1, turn: "" });
  }

  get pixels() {
    const { width, height } = this.canvas;
    if (this.kept?.length !== width * height) this.kept = new Uint32Array(width * height);
    return this.kept;
  }

  // What covers all of the canvas leaves nothing of what was there.
  fillRect(...box) {
    const { width, height } = this.canvas ?? {};
    const covers = box[0] <= 0 && box[1] <= 0 && box[0] + box[2] >= width && box[1] + box[3] >= height;
    if (covers && this.globalAlpha === 1 && !this.stack.length) this.parts = [];
    super.fillRect(...box);
  }

  setTransform() {}

  setLineDash() {}

  // As a path that is as wide and as high.
  arc(x, y, r) {
    this.moveTo(x - r, y - r);
    this.lineTo(x + r, y + r);
  }

  clearRect() {}

  measureText(words) {
    const [, weight, size] = this.font.match(/(\d+) ([\d.]+)px/);
    return { width: ([...words].length * LETTER[weight] * size) / 13 };
  }

  createImageData(width, height) {
    return { data: new Uint8ClampedArray(4 * width * height) };
  }

  putImageData({ data }) {
    this.pixels.set(new Uint32Array(data.buffer));
  }

  getImageData(left, top, width, height) {
    const rows = Array.from({ length: height }, (_, row) => {
      const start = (top + row) * this.canvas.width + left;
      return [...this.pixels.subarray(start, start + width)];
    });
    return { data: new Uint8ClampedArray(Uint32Array.from(rows.flat()).buffer) };
  }

  // A part of another canvas, as `cut` of svg.js takes it; else it is written down.
  drawImage(from, ...place) {
    if (place.length > 2) return super.drawImage(from, ...place);
    const [left, top] = place.map((one) => -one);
    const { width, height } = this.canvas;
    const own = this.pixels;
    for (let row = 0; row < height; row++) {
      const start = (top + row) * from.width + left;
      own.set(from.getContext().pixels.subarray(start, start + width), row * width);
    }
    return undefined;
  }
}

// Makes this the document of the process, with a window of a laptop in which nothing moves.
const nothing = () => {};
const store = new Map();
const document = Object.assign(new Element("#document"), {
  ...{ adoptedStyleSheets: [], activeElement: null, documentElement: new Element("html"), body: new Element("body") },
  createElement: (tag) => (tag === "canvas" ? new Canvas() : new Element(tag)),
  createElementNS: (_, tag) => new Element(tag),
});
Object.assign(globalThis, {
  ...{ window: globalThis, document, innerWidth: WINDOW[0], innerHeight: WINDOW[1], scrollY: 0, devicePixelRatio: 1 },
  matchMedia: (query) => ({ matches: query.includes("reduced-motion"), addEventListener: nothing }),
  getComputedStyle: () => ({ getPropertyValue: () => "" }),
  CSSStyleSheet: class {
    replaceSync() {}
  },
  ResizeObserver: class {
    observe() {}

    disconnect() {}
  },
  sessionStorage: { getItem: (name) => store.get(name) ?? null, setItem: (name, value) => store.set(name, value) },
  ...{ requestAnimationFrame: nothing, cancelAnimationFrame: nothing },
});
document.append(document.documentElement);
document.documentElement.append(document.body);
