// Milliseconds of a published model's steps: node benchmarks/browser_model.js FILE TEXT TOKENS; see browser_model.py.
import { readFileSync } from "node:fs";
import { next, openCheckpoint, start } from "../transformer/publishing/js/inference/decoding.js";

const REPEATS = 9;
const STEPS = 8; // the last of them at so many tokens
const [file, text, tokens] = process.argv.slice(2);

// Milliseconds of the processor, which a busy machine does not add to as it does to the clock's.
function timed(work) {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1000, result];
}

// A step as the page needs it: the next token, and every head's weights of every layer.
function whole(step) {
  const after = next(step);
  for (const kind of after.kinds) {
    const layers = after.config[kind === "encoder" ? "encoder_layers" : "decoder_layers"];
    for (let layer = 0; layer < layers; layer++) after.attention(kind, layer);
  }
  return after;
}

const [opening, opened] = timed(() => openCheckpoint(readFileSync(file)));
const taken = { start: [], step: [] };
for (let repeat = 0; repeat < REPEATS; repeat++) {
  const reading = timed(() => start(opened, text));
  let step = reading[1];
  taken.start.push(reading[0]);
  while (step.tokens.length < tokens - STEPS) step = next(step);
  step = whole(step); // as a page has drawn the step before
  for (let more = 0; more < STEPS; more++) {
    const [ms, after] = timed(() => whole(step));
    taken.step.push(ms);
    step = after;
  }
}
console.log(JSON.stringify({ opening, ...taken }));
