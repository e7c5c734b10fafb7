// The attention view in a page of its own, which holds its message: nobody is there to be told what is looked at. Where
// the message holds a whole decoding, it is the stage, and steps.
import CONTROLS from "#view/controls/controls.css";
import PLACES from "#view/stage/places.css";
import STAGE from "#view/stage/stage.css";
import VIEW from "#view/view/view.css";
import { dress, part } from "#view/elements.js";
import { readBytes, unpack } from "#view/message.js";
import { mountPath } from "#view/stage/path.js";
import { mount } from "#view/view/mount.js";
import { caption } from "#view/view/words.js";

const root = document.querySelector(".attention-view, .stage");
const packed = new Blob([readBytes(document.getElementById("message").textContent)]);
const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
const data = new Uint8Array(await new Response(stream).arrayBuffer());
dress(root, VIEW, CONTROLS, STAGE, PLACES);
if (root.classList.contains("stage")) {
  mountPath(root, unpack(data));
  root.append(part("p", { className: "caption", textContent: caption(root.stage.parts.picture.view)[1] }));
} else mount(root, data, () => {});
