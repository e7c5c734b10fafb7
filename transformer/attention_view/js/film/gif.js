// A film as GIF. Every frame is painted twice: for the palette, made from the colours of all, and to be written.
import { changed, countColours, indexer, MOST_COLOURS, paletteOf } from "#view/film/colours.js";

const COUNTING = 0.4; // of the time

export async function writeGif({ frames, fps, hold, width, height, still, tell }) {
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
  let before = null;
  for (let i = 0; i < frames; i++) {
    const now = placesOf(await pixels(i));
    const delay = 1000 / fps + (i === frames - 1 ? 1000 * hold : 0);
    const first = { palette, delay, dispose: 1 };
    const later = { delay, dispose: 1, transparent: true, transparentIndex: MOST_COLOURS };
    gif.writeFrame(before ? changed(before, now, MOST_COLOURS) : now, width, height, before ? later : first);
    before = now;
    await tell(COUNTING + ((1 - COUNTING) * (i + 1)) / frames);
  }
  gif.finish();
  return [gif.bytes()];
}
