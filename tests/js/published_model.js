// What packed checkpoints compute; answers a list of {file, text, heads, sampling, choices: {step: id}, steps, only,
// branches: {step: id} in place of choices, refuses: that it may throw}, of {logits, sampling} alone, or of {pieces,
// mark} to be labelled, with {before} as what may come next. only: "ids" where they are enough, "script" for the
// attention that `headsup.run` gives.
import { readFileSync } from "node:fs";
import { computed } from "../../transformer/publishing/js/worker/computed.js";
import { chosen, next, openCheckpoint, read, start } from "../../transformer/publishing/js/inference/decoding.js";
import { scriptFace } from "../../transformer/publishing/js/page/run.js";
import { candidates, GREEDY, probabilitiesOf } from "../../transformer/publishing/js/inference/sampling.js";
import { alternatives, pieceLabels } from "../../transformer/publishing/js/text/words.js";
import { answering } from "./answering.js";

const numbers = (array) => array && Float32Array.from(array);

function attended(seen) {
  const layersOf =
    ({ encoder_layers, decoder_layers }) =>
    (kind) =>
      kind === "encoder" ? encoder_layers : decoder_layers;
  const count = layersOf(seen.config);
  return seen.kinds.map((kind) => ({
    kind,
    layers: Array.from({ length: count(kind) }, (_, layer) => {
      const { weights, scores, heads, queries, keys } = seen.attention(kind, layer);
      const { q, k, v } = seen.projections(kind, layer);
      const all = { weights, scores, q, k, v, bias: seen.bias(kind, layer) };
      return {
        shape: [heads, queries, keys],
        ...Object.fromEntries(Object.entries(all).map(([n, a]) => [n, numbers(a)])),
      };
    }),
  }));
}

// What a step shows before and after another token was chosen at it, and the logits that follow that one.
function branched(opened, { text, branches }) {
  const [[index, id]] = Object.entries(branches);
  let step = start(opened, text);
  while (step.index < index) step = next(step);
  const seen = () => JSON.stringify([step.id, step.tokens, step.logits, attended(step)]);
  const before = seen();
  next(step);
  const branch = next(step, id);
  next(step);
  return { before, after: seen(), branch: numbers(branch.logits) };
}

function decoded(opened, { text, heads, sampling, choices = {}, steps = 1, only }) {
  const path = [];
  let step = start(opened, text, { heads, sampling });
  for (;;) {
    if (step.index in choices) step = chosen(step, choices[step.index]);
    path.push(step);
    if (path.length === steps || step.ended) break;
    step = next(step);
  }
  const ids = path.map(({ id }) => id);
  const likeliest = path.map(({ likeliest }) => likeliest);
  if (only === "ids") return { ids, likeliest, candidates: path.map((one) => candidates(one, 5, sampling)) };
  return { tokens: step.tokens, logits: path.map(({ logits }) => numbers(logits)), attended: attended(step) };
}

// The attention of every step, as a script of a page reads it.
async function scripted(opened, { text, steps }) {
  const answers = { run: (_, typed, options) => computed(opened, typed, options).ran };
  const run = scriptFace([{ name: "one", emptyReads: true }], [], answers).run("one", text, { steps });
  return (await run).map(({ attentions }) =>
    Object.entries(attentions).map(([kind, { weights, shape }]) => ({ kind, shape, weights: numbers(weights) })),
  );
}

const opened = new Map();

function answer(asked) {
  if (asked.before) return alternatives(asked.before, asked.pieces, asked.mark);
  if (asked.pieces) return pieceLabels(asked.pieces, asked.mark);
  if (asked.logits) return probabilitiesOf(Float32Array.from(asked.logits), { ...GREEDY, ...asked.sampling });
  if (!opened.has(asked.file)) opened.set(asked.file, openCheckpoint(readFileSync(asked.file)));
  const model = opened.get(asked.file);
  try {
    if (asked.only === "script") return scripted(model, asked);
    if (asked.branches) return branched(model, asked);
    if (model.config.decoder_layers) return decoded(model, asked);
    const reading = read(model, asked.text, { heads: asked.heads });
    const added = Array.from({ length: model.config.n_classes ?? 0 }, (_, id) => numbers(reading.contributions(id)));
    return { logits: numbers(reading.logits), added, src: Array.from(reading.src), attended: attended(reading) };
  } catch (error) {
    if (!asked.refuses) throw error;
    return { error: error.message };
  }
}

await answering((every) => Promise.all(every.map(answer)));
