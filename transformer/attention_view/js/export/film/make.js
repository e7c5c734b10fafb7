// Paints a film frame by frame and hands each to what writes it.
import { FILM_KINDS, encoderFor } from "#view/export/film/kinds.js";

const even = (size) => size + (size % 2); // H.264 takes nothing else

export async function makeFilm(options) {
  const { frames, paint, kind = "gif", fps = 4, hold = 1, lasts = () => 1, onProgress = () => {}, signal } = options;
  if (!(kind in FILM_KINDS)) throw new Error(`There is no film of the kind ${kind}.`);
  if (!(frames >= 1)) throw new Error("A film needs one frame at least.");
  const [width, height] = [options.width, options.height].map((size) => even(Math.round(size)));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext("2d", { alpha: false, willReadFrequently: kind === "gif" })
  );
  const still = async (index) => {
    context.reset();
    await paint(context, index);
    return context;
  };
  const tell = async (part) => {
    onProgress(part);
    await breath();
    signal?.throwIfAborted();
  };
  signal?.throwIfAborted();
  const film = { frames, kind, fps, hold, lasts, width, height, still, tell };
  const parts = await (kind === "gif" ? writeGif(film) : writeVideo(film));
  return new Blob(parts, { type: FILM_KINDS[kind].type });
}

// A film as GIF. Every frame is painted twice: for the palette, made from the colours of all, and to be written.

const COUNTING = 0.4; // of the time

async function writeGif({ frames, fps, hold, lasts, width, height, still, tell }) {
  const { GIFEncoder, quantize, nearestColorIndex } = await import("#view/vendor/gifenc/gifenc.js");
  const pixels = async (index) => new Uint32Array((await still(index)).getImageData(0, 0, width, height).data.buffer);
  const counts = new Map();
  for (let i = 0; i < frames; i++) {
    countColours(await pixels(i), counts);
    await tell((COUNTING * (i + 1)) / frames);
  }
  const colours = paletteOf(counts, quantize);
  const placesOf = indexer(colours, nearestColorIndex);
  const palette = Array.from({ length: MOST_COLOURS + 1 }, (_, at) => colours[at] ?? [0, 0, 0]);
  const gif = GIFEncoder();
  /** @type {Uint8Array | null} */
  let before = null;
  for (let i = 0; i < frames; i++) {
    const now = placesOf(await pixels(i));
    const delay = (1000 * lasts(i)) / fps + (i === frames - 1 ? 1000 * hold : 0);
    const first = { palette, delay, dispose: 1 };
    const later = { delay, dispose: 1, transparent: true, transparentIndex: MOST_COLOURS };
    gif.writeFrame(before ? changed(before, now, MOST_COLOURS) : now, width, height, before ? later : first);
    before = now;
    await tell(COUNTING + ((1 - COUNTING) * (i + 1)) / frames);
  }
  gif.finish();
  return [gif.bytes()];
}

// The colours of a GIF: one palette for all of its frames, so that nothing flickers.

export const MOST_COLOURS = 255; // one more stands for "as before"
const EXACT = 216; // of more colours than that, so many are kept as they are: a colour stands for a number

// pixels: as a canvas has them, four bytes each in one number. Adds to how often each colour is there.
export function countColours(pixels, counts) {
  for (let i = 0, from = 0; i < pixels.length; i = from) {
    while (from < pixels.length && pixels[from] === pixels[i]) from++;
    counts.set(pixels[i], (counts.get(pixels[i]) ?? 0) + from - i);
  }
}

const rgbOf = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];

// All colours, or the most frequent ones and what `quantize` makes of the rest.
export function paletteOf(counts, quantize) {
  const order = [...counts].sort(([a, often], [b, more]) => more - often || a - b);
  if (order.length <= MOST_COLOURS) return order.map(([pixel]) => rgbOf(pixel));
  const rest = order.slice(EXACT).flatMap(([pixel, count]) => new Array(1 + Math.round(Math.log2(count))).fill(pixel));
  const made = quantize(new Uint8Array(Uint32Array.from(rest).buffer), MOST_COLOURS - EXACT, { format: "rgb565" });
  return [...order.slice(0, EXACT).map(([pixel]) => rgbOf(pixel)), ...made.map((colour) => colour.slice(0, 3))];
}

// Gives a function from pixels to places in the palette; each colour is looked up once.
export function indexer(palette, nearest) {
  const places = new Map(palette.map(([r, g, b], at) => [((255 << 24) | (b << 16) | (g << 8) | r) >>> 0, at]));
  const placeOf = (pixel) => {
    if (!places.has(pixel)) places.set(pixel, nearest(palette, rgbOf(pixel)));
    return places.get(pixel);
  };
  return (pixels) => {
    const out = new Uint8Array(pixels.length);
    for (let i = 0, from = 0; i < pixels.length; i = from) {
      while (from < pixels.length && pixels[from] === pixels[i]) from++;
      out.fill(placeOf(pixels[i]), i, from);
    }
    return out;
  };
}

// What has changed between two frames; the rest is `same`.
export function changed(before, now, same) {
  return now.map((place, i) => (place === before[i] ? same : place));
}

// Lets the page do what waits, clicks among it. A timer would be held up in a tab that is not in sight.

/** @type {MessageChannel | null} */
let channel = null;
/** @type {((value?: any) => void)[]} */
const waiting = [];

function breath() {
  const { port1, port2 } = (channel ??= new MessageChannel());
  port1.onmessage ??= () => waiting.shift()?.();
  return new Promise((go) => {
    waiting.push(go);
    port2.postMessage(null);
  });
}

// A film as WebM or MP4: the browser encodes it.

const SECOND = 1e6; // of the clock of video frames
const KEY_SECONDS = 2; // between frames that stand alone, where a player can jump to
const MOST_WAITING = 4; // frames that an encoder is given ahead
const CODECS = { vp09: "vp9", vp8: "vp8", avc1: "avc" };

async function writeVideo(film) {
  const { frames, kind, fps, hold, lasts, tell } = film;
  const config = await encoderFor(kind, film);
  if (!config) throw new Error(`This browser cannot make ${FILM_KINDS[kind].name} of ${film.width} x ${film.height}.`);
  const sink = await openSink(kind, config, fps);
  try {
    for (let i = 0, at = 0; i < frames; i++) {
      const { canvas } = await film.still(i);
      const copies = Math.round(lasts(i) + (i === frames - 1 ? hold * fps : 0));
      for (let copy = 0; copy < copies; copy++) await sink.put(canvas, at++);
      await tell((0.95 * (i + 1)) / frames);
    }
    return [await sink.end()];
  } finally {
    await sink.close();
  }
}

async function openSink(kind, config, fps) {
  const bunny = await import("#view/vendor/mediabunny/mediabunny.js");
  const format = kind === "mp4" ? new bunny.Mp4OutputFormat({ fastStart: "in-memory" }) : new bunny.WebMOutputFormat();
  const output = new bunny.Output({ format, target: new bunny.BufferTarget() });
  const source = new bunny.EncodedVideoPacketSource(CODECS[config.codec.split(".")[0]]);
  output.addVideoTrack(source, { frameRate: fps });
  await output.start();
  let failure = null;
  let written = Promise.resolve();
  const fail = (error) => {
    failure ??= error;
  };
  const take = (chunk, about) => {
    written = written.then(() => source.add(bunny.EncodedPacket.fromEncodedChunk(chunk), about)).catch(fail);
  };
  const encoder = new VideoEncoder({ output: take, error: fail });
  encoder.configure(config);
  return {
    async put(canvas, at) {
      const time = (SECOND * at) / fps;
      const frame = new VideoFrame(canvas, { timestamp: time, duration: SECOND / fps });
      if (!failure) encoder.encode(frame, { keyFrame: at % Math.round(KEY_SECONDS * fps) === 0 });
      frame.close();
      while (!failure && encoder.encodeQueueSize > MOST_WAITING) await breath();
      if (failure) throw failure;
    },
    async end() {
      await encoder.flush();
      await written;
      if (failure) throw failure;
      await output.finalize();
      return /** @type {ArrayBuffer} */ (output.target.buffer);
    },
    async close() {
      if (encoder.state !== "closed") encoder.close();
      if (!["finalized", "canceled"].includes(output.state)) await output.cancel();
    },
  };
}
