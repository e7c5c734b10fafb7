// What a page of its own holds: the element to draw in, and the bytes of its message.
import { readBytes } from "#view/message.js";

export async function held() {
  const packed = new Blob([readBytes(document.getElementById("message").textContent)]);
  const stream = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  return [document.querySelector(".attention-view, .step-view"), data];
}
