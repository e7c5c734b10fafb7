// A cell as a tone: the further along its key the higher, the larger its weight the louder.
import { say } from "#view/page/elements.js";

const FIRST_KEY = 220; // Hz, of the first key
const OCTAVES = 2;
const LOUDEST = 0.3;
const LENGTH = 0.18; // seconds

export const pitchOf = (key, keys) => FIRST_KEY * 2 ** ((OCTAVES * key) / Math.max(1, keys - 1));

// part: of the largest that there can be; ears hear in ratios, as eyes do.
export const loudnessOf = (part) => LOUDEST * Math.sqrt(Math.min(1, Math.max(0, part)));

export function switchSound(view) {
  view.sounds = !view.sounds;
  say(view.parts.live, view.sounds ? "Sound on: higher for later keys, louder for larger weights" : "Sound off");
  view.redraw();
}

export function sound(view, key, keys, part) {
  if (!view.sounds) return;
  const context = (view.audio ??= new AudioContext());
  const tone = new OscillatorNode(context, { frequency: pitchOf(key, keys) });
  const gain = new GainNode(context, { gain: loudnessOf(part) });
  tone.connect(gain).connect(context.destination);
  const end = context.currentTime + LENGTH;
  gain.gain.setTargetAtTime(0, end - LENGTH / 2, LENGTH / 8); // no click as it ends
  tone.start();
  tone.stop(end);
}
