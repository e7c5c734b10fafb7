// The smoothed loss. An exponential moving average that is not drawn towards zero at its start (Kingma and Ba 2015,
// section 3), in which a value fades with the steps since, not with the points since: how often a run logs changes
// nothing. A point never moves again, since nothing in it depends on what comes later.
import { Column } from "./points.js";

export const SMOOTH = 0.6; // the weight until somebody chooses another
const PARTS = 300; // of a whole training, in one of which a value fades to `weight`

// weight: 0 to 1; steps: of the whole training
export const begin = (weight, steps) => ({
  out: new Column(),
  weight,
  unit: steps / PARTS,
  sum: 0,
  share: 0,
  last: null,
});

// Goes on where it was left, with the loss at each step.
export function smooth(state, steps, losses) {
  const { out, weight, unit } = state;
  const from = out.length;
  const more = new Float32Array(losses.length - from);
  for (let i = from; i < losses.length; i++) {
    const value = losses.at(i);
    const step = steps.at(i);
    if (Number.isFinite(value)) {
      const kept = weight ** (Math.max(step - (state.last ?? step - unit), 1e-9) / unit);
      state.sum = kept * state.sum + (1 - kept) * value;
      state.share = kept * state.share + (1 - kept);
      state.last = step;
    }
    more[i - from] = state.share ? state.sum / state.share : NaN;
  }
  out.put(from, more);
  return out;
}

// The smoothed loss of a run, as far as it has been computed for this weight.
export function smoothedLoss({ train, smoothed, steps }, weight) {
  if (!weight) return train.loss;
  if (!smoothed.has(weight)) {
    smoothed.clear(); // a slider is moved over many
    smoothed.set(weight, begin(weight, steps || 10_000));
  }
  return smooth(smoothed.get(weight), train.step, train.loss);
}
