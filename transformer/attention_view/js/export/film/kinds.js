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
