// The kinds of film that this browser can make.
export const FILM_KINDS = {
  gif: { name: "GIF", type: "image/gif", codecs: [] },
  webm: { name: "WebM", type: "video/webm", codecs: ["vp09.00.40.08", "vp8"] },
  mp4: { name: "MP4", type: "video/mp4", codecs: ["avc1.640028", "avc1.4d0028", "avc1.420028"] },
};
const BITS = 0.25; // for a pixel of a frame: text has sharp edges

// What a VideoEncoder is set to for such a film; null where there is no encoder for it.
export async function encoderFor(kind, { width, height, fps }) {
  if (typeof VideoEncoder === "undefined") return null;
  const bitrate = Math.round(Math.max(2e6, width * height * fps * BITS));
  for (const codec of FILM_KINDS[kind].codecs) {
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
