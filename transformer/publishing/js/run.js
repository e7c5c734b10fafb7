// `headsup`, for the scripts of a page that holds the file: `await headsup.run("translate", "I am cold.")`.
import { headsOf } from "./address.js";
import { samplingOf, switchesOf } from "./asked.js";

const cutRows = ({ values, shape }, rows, columns) => {
  const [layers, heads, Tq, Tk] = shape;
  const [to, across] = [Math.min(rows, Tq), Math.min(columns, Tk)];
  const out = new Float32Array(layers * heads * to * across);
  for (let row = 0; row < layers * heads * to; row++) {
    const from = (Math.floor(row / to) * Tq + (row % to)) * Tk;
    out.set(values.subarray(from, from + across), row * across);
  }
  return { weights: out, shape: [layers, heads, to, across] };
};

function asked({ heads = [], choices = {}, steps, ...sampling }, page, settings) {
  const off = headsOf([heads].flat().join(), page);
  return { sampling: samplingOf(sampling, settings), heads: switchesOf(off, page), choices: { ...choices }, steps };
}

// A step as scripts read it. Its attention is part of the last step's: rows that were read stay as they are.
function scriptStep(step, all, prompt) {
  const read = prompt + step.index;
  return {
    ...step,
    get attentions() {
      const of = ([kind, every]) => {
        if (kind === "encoder") return [kind, cutRows(every, Infinity, Infinity)];
        return [kind, cutRows(every, read, kind === "decoder" ? read : Infinity)];
      };
      return Object.fromEntries(Object.entries(all).map(of));
    },
  };
}

export function scriptFace(models, settings, answers) {
  const names = models.map(({ id, name }) => ({ id, name }));
  return {
    models: names,
    // options: {temperature, top_k, top_p, min_p, seed, heads, choices, steps}; see docs/publishing.md.
    async run(name, text, options = {}) {
      const model = names.findIndex((one) => one.name === name || one.id === name);
      if (model < 0)
        throw new Error(`there is no model ${name} here; there are ${names.map((one) => one.name).join(", ")}`);
      const { steps, reading, attentions, prompt } = await answers.run(
        model,
        String(text),
        asked(options, models[model], settings),
      );
      const whole = (every) => cutRows(every, Infinity, Infinity);
      if (steps) return steps.map((step) => scriptStep(step, attentions, prompt));
      const each = Object.entries(attentions).map(([kind, every]) => [kind, whole(every)]);
      return { ...reading, attentions: Object.fromEntries(each) };
    },
  };
}
