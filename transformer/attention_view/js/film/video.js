// A film as WebM or MP4: the browser encodes it.
import { breath } from "#view/film/breath.js";
import { encoderFor, FILM_KINDS } from "#view/film/kinds.js";

const SECOND = 1e6; // of the clock of video frames
const KEY_SECONDS = 2; // between frames that stand alone, where a player can jump to
const MOST_WAITING = 4; // frames that an encoder is given ahead
const CODECS = { vp09: "vp9", vp8: "vp8", avc1: "avc" };

export async function writeVideo(film) {
  const { frames, kind, fps, hold, tell } = film;
  const config = await encoderFor(kind, film);
  if (!config) throw new Error(`This browser cannot make ${FILM_KINDS[kind].name} of ${film.width} x ${film.height}.`);
  const sink = await openSink(kind, config, fps);
  try {
    for (let i = 0; i < frames; i++) {
      const { canvas } = await film.still(i);
      const copies = i === frames - 1 ? 1 + Math.round(hold * fps) : 1;
      for (let copy = 0; copy < copies; copy++) await sink.put(canvas, i + copy);
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
      return output.target.buffer;
    },
    async close() {
      if (encoder.state !== "closed") encoder.close();
      if (!["finalized", "canceled"].includes(output.state)) await output.cancel();
    },
  };
}
