// Paints a film frame by frame and hands each to what writes it.
import { breath } from "#view/film/breath.js";
import { writeGif } from "#view/film/gif.js";
import { FILM_KINDS } from "#view/film/kinds.js";
import { writeVideo } from "#view/film/video.js";

const even = (size) => size + (size % 2); // H.264 takes nothing else

export async function makeFilm(options) {
  const { frames, paint, kind = "gif", fps = 4, hold = 1, onProgress = () => {}, signal } = options;
  if (!(kind in FILM_KINDS)) throw new Error(`There is no film of the kind ${kind}.`);
  if (!(frames >= 1)) throw new Error("A film needs one frame at least.");
  const [width, height] = [options.width, options.height].map((size) => even(Math.round(size)));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: kind === "gif" });
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
  const film = { frames, kind, fps, hold, width, height, still, tell };
  const parts = await (kind === "gif" ? writeGif(film) : writeVideo(film));
  return new Blob(parts, { type: FILM_KINDS[kind].type });
}
