// What `headsup.run` asks the worker for: the steps of a text, or what an encoder reads in it.
import { chosen, next, read, start } from "../inference/decoding.js";
/** @import { Step } from "../inference/decoding.js" */
import { rotationState } from "../model/positions.js";

const STEPS = 200;

// {ran, buffers}: the steps with what each predicted, and the attention of the last, of which theirs is a part. Where a
// longer text turns positions by other angles, rows do not stay as they were, and steps have their own.
export function computed(opened, text, { sampling, heads, choices, steps: most = STEPS }) {
  if (!opened.config.decoder_layers) {
    const reading = read(opened, text, { heads });
    const pieces = reading.source.map((piece) => piece.text);
    const { logits, probabilities } = reading;
    return sent({ reading: { pieces, classes: opened.classes, logits, probabilities } }, reading);
  }
  /** @type {{index: number, id: number, piece: string, logits: Float32Array, own?: object}[]} */
  const steps = [];
  /** @type {Step[]} */
  const path = [];
  let step = start(opened, text, { sampling, heads });
  const prompt = step.tokens.length;
  for (;;) {
    if (choices[step.index] !== undefined) step = chosen(step, choices[step.index]);
    const { index, id, logits } = step;
    steps.push({ index, id, piece: step.label(id), logits: logits.slice() });
    path.push(step);
    if (step.ended || steps.length >= most) break;
    step = next(step);
  }
  const turned = ({ tokens }) => rotationState(opened.config, tokens.length);
  for (const [at, one] of path.entries()) if (turned(one) !== turned(step)) steps[at].own = attentionsOf(one);
  return sent({ steps, prompt, text: opened.tokenizer.decode(step.written) }, step);
}

function sent(ran, seen) {
  const attentions = attentionsOf(seen);
  const buffers = Object.values(attentions).map(({ values }) => values.buffer);
  return { ran: { ...ran, attentions }, buffers };
}

// Of all kinds, {values, shape: [layers, heads, queries, keys]}.
function attentionsOf(seen) {
  const attentions = {};
  for (const kind of seen.kinds) {
    const layers = seen.opened.config[kind === "encoder" ? "encoder_layers" : "decoder_layers"];
    const every = Array.from({ length: layers }, (_, layer) => seen.attention(kind, layer));
    const [{ heads, queries, keys }] = every;
    const values = new Float32Array(layers * heads * queries * keys);
    every.forEach(({ weights }, layer) => values.set(weights, layer * weights.length));
    attentions[kind] = { values, shape: [layers, heads, queries, keys] };
  }
  return attentions;
}
