// What computes, in a thread of its own: it opens the models of the file, and answers with what is to be drawn.
//
// It is told {tell, ...}, where `tell` is a name of `HEARD`, and tells {tell: "opened" | "picture" | "error" | "ran",
// ...}; `answers.js` is the other end.
import { readBytes } from "#view/message/message.js";
import { computed } from "./computed.js";
import { Opening } from "../inference/decoding.js";
import { Reader } from "./reader.js";
import { Stepper } from "./stepper.js";

const PORTION = 120; // ms of work after which a picture is drawn, or a press is heard
const models = []; // {page, opened}, and of one that is coming {bytes, read, opening}
/** @type {any} */
let shown = null; // a Stepper or a Reader, and the number of the view that asked for it
let waiting = false; // for the next portion

/** @param {string} name @param {object} fields @param {Transferable[]} transfer */
const tell = (name, fields, transfer = []) => postMessage({ tell: name, ...fields }, { transfer });

// Throws where its bytes could not be read, each time that it is asked for.
function opened(at) {
  const { page, opened: model } = models[at];
  if (!model) throw new Error(`${page.title} cannot be read: this file is damaged or incomplete. Download it again`);
  return model;
}

function draw() {
  const { message, place } = shown.picture();
  const buffers = new Set(Object.values(message.arrays).map(({ buffer }) => buffer));
  tell("picture", { view: shown.view, message, place }, [...buffers]);
}

// A portion of the work, and a picture of it; the next portion once whatever was asked meanwhile has been heard.
function goOn() {
  const isAsked = shown.pending || shown.changed;
  const more = shown.work(PORTION);
  shown.changed = false;
  if (!more || isAsked) draw();
  if (more) later();
}

// Presses that come faster than pictures share one.
function soon(change) {
  change();
  shown.changed = true;
  later();
}

function later() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    if (shown) attempt(goOn, { view: shown.view });
  });
}

function attempt(work, about) {
  try {
    work();
  } catch (error) {
    tell("error", { ...about, message: String(/** @type {Error | undefined} */ (error)?.message || error) });
  }
}

const HEARD = {
  models: ({ pages }) => models.push(...pages.map((page) => ({ page, read: 0 }))),
  part: ({ model, text }) => {
    const [one, part] = [models[model], readBytes(text)];
    one.bytes ??= new Uint8Array(one.page.bytes);
    one.opening ??= new Opening(one.bytes);
    one.bytes.set(part, one.read);
    one.read += part.length;
    one.opening.take(one.read);
  },
  unpack: ({ model }) => {
    const one = models[model];
    try {
      if (one.read === one.page.bytes) one.opened = one.opening.checkpoint();
    } catch {
      /* it is said when the model is asked for */
    }
    Object.assign(one, { bytes: null, opening: null });
    tell("opened", { model });
  },
  show: ({ view, model, asked }) => {
    shown = null;
    const { page } = models[model];
    const Kind = page.task === "translation" || page.task === "text" ? Stepper : Reader;
    shown = Object.assign(new Kind(opened(model), page, asked, view), { view, changed: false });
    goOn();
  },
  leave: () => (shown = null),
  move: ({ move }) => soon(() => shown.move(move)),
  select: ({ selection }) => soon(() => shown.select(selection)),
  choose: ({ nth, branch }) => soon(() => (branch === undefined ? shown.choose(nth) : shown.branch(branch))),
  sample: ({ sampling }) => soon(() => shown.sample(sampling)),
  run: ({ number, model, text, options }) => {
    const { ran, buffers } = computed(opened(model), text, options);
    tell("ran", { number, ran }, buffers);
  },
};

const OF_ANY = ["show", "leave"]; // heard whatever is on the page

onmessage = ({ data }) => {
  const { view, number } = data;
  if (view !== undefined && !OF_ANY.includes(data.tell) && view !== shown?.view) return; // of a text that has gone
  attempt(() => HEARD[data.tell](data), { view, number });
};
