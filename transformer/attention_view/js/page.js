// The attention view in a page of its own, which holds its message: nobody is there to be told what is looked at.
import STYLE from "#view/view/view.css";
import { dress } from "#view/elements.js";
import { readBytes } from "#view/message.js";
import { mount } from "#view/view/mount.js";

const root = document.querySelector(".attention-view");
const packed = new Blob([readBytes(document.getElementById("message").textContent)]);
const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
const data = new Uint8Array(await new Response(stream).arrayBuffer());
dress(root, STYLE);
mount(root, data, () => {});
