// A film made and kept as a file, with a bar that says how far it is, a way to stop, and a sentence where it fails.
import BAR_STYLE from "#view/film/film.css";
import { dress, keepFile, part } from "#view/elements.js";

// Entries for a chooser: the films that can be made here, and why others cannot. `look` is called once they are known;
// until then there are none.
export function filmEntries(view, look) {
  view.films ??= filmKinds().then((found) => {
    view.filmsFound = found;
    look();
  });
  const { kinds = [], why = "" } = view.filmsFound ?? {};
  const made = kinds.map((kind) => [kind, `film, ${FILM_KINDS[kind].name}`]);
  return why ? [...made, ["", why, true]] : made;
}

// place: what the bar stands in, for which there is one film at a time; name: of the file, without its ending; the rest
// is what `film` takes. Gives the Blob; null where it was stopped or failed, which is said.
export async function keepFilm(place, { name, ...options }) {
  dress(place, BAR_STYLE);
  place.making?.abort();
  const making = (place.making = new AbortController());
  const { name: kindName } = FILM_KINDS[options.kind];
  const bar = part("progress", { max: 1, value: 0, ariaLabel: `Making the ${kindName}` });
  const cancel = part("button", { type: "button", textContent: "Cancel", onclick: () => making.abort() });
  const words = part("span", { textContent: `Making the ${kindName} …` });
  const row = part("div", { className: "film" }, words, bar, cancel);
  place.replaceChildren(row);
  const onProgress = (done) => {
    bar.value = done;
  };
  try {
    const blob = await film({ ...options, onProgress, signal: making.signal });
    keepFile(blob, `${name}.${options.kind}`);
    if (row.isConnected) row.remove();
    return blob;
  } catch (error) {
    if (making.signal.aborted) row.remove();
    else row.replaceChildren(part("span", { role: "alert", textContent: `No ${kindName} was made: ${error.message}` }));
    return null;
  }
}

// The kinds of film that this browser can make.

export const FILM_KINDS = {
  gif: { name: "GIF", type: "image/gif", codecs: [] },
  webm: { name: "WebM", type: "video/webm", codecs: ["vp09.00.40.08", "vp8"] },
  mp4: { name: "MP4", type: "video/mp4", codecs: ["avc1.640028", "avc1.4d0028", "avc1.420028"] },
};
const BITS = 0.25; // for a pixel of a frame: text has sharp edges

// What a VideoEncoder is set to for such a film; null where there is no encoder for it. A browser is asked first what
// it plays: WebKitGTK before 2.54 ends the page where an encoder is the first that is asked for (WebKit bug 320327).
export async function encoderFor(kind, { width, height, fps }) {
  if (typeof VideoEncoder === "undefined") return null;
  const bitrate = Math.round(Math.max(2e6, width * height * fps * BITS));
  const { type, codecs } = FILM_KINDS[kind];
  const player = document.createElement("video");
  for (const codec of codecs) {
    if (!player.canPlayType(`${type}; codecs="${codec}"`)) continue;
    const config = { codec, width, height, framerate: fps, bitrate };
    if (codec.startsWith("avc1")) config.avc = { format: "avc" };
    const { supported } = await VideoEncoder.isConfigSupported(config).catch(() => ({ supported: false }));
    if (supported) return config;
  }
  return null;
}

// {kinds, why}: the names of the kinds, and one sentence on those that are missing, if any are.
export async function filmKinds({ width = 1280, height = 720, fps = 4 } = {}) {
  const kinds = ["gif"];
  for (const kind of ["webm", "mp4"]) if (await encoderFor(kind, { width, height, fps })) kinds.push(kind);
  return { kinds, why: whyNot(kinds) };
}

function whyNot(kinds) {
  const missing = Object.keys(FILM_KINDS).filter((kind) => !kinds.includes(kind));
  const names = missing.map((kind) => FILM_KINDS[kind].name).join(" and ");
  if (!missing.length) return "";
  if (!window.isSecureContext) return `${names} need https: over plain http a browser makes no video.`;
  return `This browser cannot make ${names}.`;
}

// Films: a picture for each step, painted here and made into one file. What makes the file is fetched with the first.

// frames: how many; paint(context, index) paints one of them, on a canvas of width x height that is empty; fps: frames
// a second; kind: one of filmKinds; hold: seconds that the last frame stays; onProgress is told parts of one. Gives a
// Blob. Rejects with the signal's reason once that is aborted.
async function film(options) {
  const { makeFilm } = await import("#view/film/make.js");
  return makeFilm(options);
}
