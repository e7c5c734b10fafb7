// The step view, or the attention view alone, in a frame of a notebook's widget; notebook.js is outside of it.
import CONTROLS from "#view/step_view/controls.css";
import PLACES from "#view/step_view/places.css";
import STEP_VIEW from "#view/step_view/step_view.css";
import VIEW from "#view/view/view.css";
import { flatContext } from "#view/drawing/canvas.js";
import { prefersDark } from "#view/drawing/colours.js";
import { freeKeys } from "#view/step_view/controls.js";
import { block, dress } from "#view/page/elements.js";
import { unpack } from "#view/message/message.js";
import { mountMessage } from "#view/step_view/step_view.js";
import { mountView } from "#view/view/view.js";
/** @import { Message } from "#view/message/fields.js" */

const toPython = (said) => window.parent.postMessage(said, "*");
/** @type {any} */
let stage = null; // the element of the view, which holds it
let asks = Date.now(); // of another branch, or to go on; other frames of the same view ask with other numbers

window.addEventListener("message", ({ source, data }) => {
  if (source === window.parent) showMessage(unpack(data.message), data.look);
});
freeKeys();
toPython({ ready: true });

/** @param {Message} message */
function showMessage(message, look) {
  const dark = wear(look);
  const steps = message.step_view;
  stage ??= document.body.appendChild(block(steps ? "step-view" : "attention-view"));
  dress(stage, VIEW, CONTROLS, STEP_VIEW, PLACES);
  const select = (selection) => toPython({ _look: selection });
  if (!steps) return mountView(stage, { ...message, dark }, select);
  mountMessage(
    stage,
    { ...message, dark },
    {
      move,
      selection: select,
      choose: ({ branch }) => toPython({ _branch: { branch, number: ++asks } }),
    },
  );
  // another frame of the same view asks for the next portion of what it asked for
  if (steps.steps?.going && stage.moved?.number > steps.steps.answered) move(stage.moved);
}

// Python goes a portion of a long way at a time, and is asked for the next once that has been drawn.
function move(moved) {
  stage.moved = moved;
  toPython({ _move: { ...moved, asks: ++asks } });
}

// The notebook's colours and type; returns whether they are dark.
function wear({ background, color, font }) {
  const dark = background ? lightness(background) < 128 : prefersDark();
  const { style } = document.documentElement;
  style.colorScheme = dark ? "dark" : "light";
  const worn = { paper: background, ink: background && color, font };
  for (const [name, value] of Object.entries(worn)) {
    if (value) style.setProperty(`--${name}`, value);
    else style.removeProperty(`--${name}`);
  }
  return dark;
}

// Of a colour as a browser computes it, in 0..255.
function lightness(colour) {
  const context = flatContext(document.createElement("canvas"));
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}
