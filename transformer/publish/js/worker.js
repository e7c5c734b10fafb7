// What computes, in a thread of its own: it opens the models of the file, and answers with what is to be drawn.
//
// It is told {tell: "models" | "show" | "move" | "select" | "choose" | "run", ...}, and tells {tell: "unpacking" |
// "opened" | "picture" | "error" | "ran", ...}; `answers.js` is the other end.
import { readBytes } from "#view/message.js";
import { computed } from "./computed.js";
import { openCheckpoint } from "./decoding.js";
import { Reader } from "./reader.js";
import { Stepper } from "./stepper.js";

const PORTION = 120; // ms of work after which a picture is drawn, or a press is heard
const models = []; // {page, text, opened}
let shown = null; // the text on the page, and the number of the view that asked for it
let waiting = false; // for the next portion

const tell = (name, fields, transfer = []) => postMessage({ tell: name, ...fields }, transfer);

function opened(at) {
  const model = models[at];
  if (!model.opened) {
    tell("unpacking", { model: at });
    model.opened = openCheckpoint(readBytes(model.text));
    model.text = null;
    tell("opened", { model: at });
  }
  return model.opened;
}

function draw() {
  const { message, place } = shown.picture();
  const buffers = new Set(Object.values(message.arrays).map(({ buffer }) => buffer));
  tell("picture", { view: shown.view, message, place }, [...buffers]);
}

// A portion of the work, a picture of it, and the next portion once whatever was asked meanwhile has been heard.
function goOn() {
  const before = shown.pending;
  const more = shown.work(PORTION);
  if (!more || before) draw();
  if (!more || waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    if (shown) goOn();
  });
}

const HEARD = {
  models: ({ packed }) => models.push(...packed),
  show: ({ view, model, asked }) => {
    shown = null;
    const { page } = models[model];
    const Kind = page.task === "translation" || page.task === "text" ? Stepper : Reader;
    shown = Object.assign(new Kind(opened(model), page, asked, view), { view });
    goOn();
  },
  move: ({ move }) => {
    shown.move(move);
    goOn();
  },
  select: ({ selection }) => {
    shown.select(selection);
    draw();
  },
  choose: ({ nth, branch }) => {
    if (branch === undefined) shown.choose(nth);
    else shown.branch(branch);
    goOn();
  },
  sample: ({ sampling }) => {
    shown.sample(sampling);
    goOn();
  },
  run: ({ number, model, text, options }) => {
    const { ran, buffers } = computed(opened(model), text, options);
    tell("ran", { number, ran }, buffers);
  },
};

onmessage = ({ data }) => {
  if (data.view !== undefined && data.tell !== "show" && data.view !== shown?.view) return; // of a text that has gone
  try {
    HEARD[data.tell](data);
  } catch (error) {
    tell("error", { view: data.view, number: data.number, message: String(error?.message ?? error) });
  }
};
