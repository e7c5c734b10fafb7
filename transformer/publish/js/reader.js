// A text as an encoder reads it: what it makes of it, and its attention. As ui/views/classify/classifier.py.
import { inPercent } from "#view/numbers.js";
import { read } from "./decoding.js";
import { live, selectionIn } from "./live.js";
import { Whole } from "./sources.js";
import { pieceLabels } from "./words.js";

const MOST_SHOWN = 400; // tokens shown; all are read and counted
const CLASSES = 10; // with a bar, before all are requested
const SAID = 3; // classes that are heard
const LONGEST_CLASS = 60; // characters of one

// What each token's row adds to a class's logit beyond the average class, as `pool` in transformer/analysis/pooling.py;
// null where a layer after pooling mixes the features.
function contributionsTo({ model, config }, { hidden, src }, chosen) {
  if (config.pooler) return null;
  const width = config.d_model;
  const weights = model.output.matrix.numbers();
  const added = new Float32Array(src.length);
  for (let i = 0; i < width; i++) {
    let mean = 0;
    for (let at = i; at < weights.length; at += width) mean += (weights[at] * width) / weights.length;
    const weight = weights[chosen * width + i] - mean;
    let best = 0;
    for (let token = 0; token < src.length; token++) {
      const value = hidden[token * width + i];
      if (config.pooling === "mean") added[token] += (value / src.length) * weight;
      else if (config.pooling === "max" && value > hidden[best * width + i]) best = token;
    }
    if (config.pooling !== "mean") added[best] += hidden[best * width + i] * weight;
  }
  return added;
}

export class Reader {
  constructor(opened, page, { text, heads, selection, looked }, number) {
    Object.assign(this, { opened, page, text, asked: selection, number, looked });
    this.reading = read(opened, text, { heads });
    this.source = new Whole(opened, { ids: { src: Array.from(this.reading.src) }, text, heads }, this.reading);
    const { probabilities } = opened.config.n_classes ? this.reading : {};
    this.order = probabilities
      ? Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a])
      : [];
    [this.class] = this.order;
  }

  select({ number, ...asked }) {
    Object.assign(this, { asked, looked: number });
  }

  choose(nth) {
    this.class = this.order[nth] ?? this.class;
  }

  work() {
    return false;
  }

  picture() {
    const { opened, source } = this;
    const selection = selectionIn(source, this.asked, this.page.first);
    const about = { checkpoint: opened.id, step: opened.meta?.step };
    const { message } = live(source, selection, { about, newest: false, answered: this.looked });
    message.step_view = this.stepView();
    return { message, place: { selection: message.selection, class: this.page.classes?.[this.class] } };
  }

  stepView() {
    const { opened, reading, page } = this;
    const pieces = reading.source.slice(0, MOST_SHOWN);
    const row = {
      picked: [],
      adds_to: "",
      label: "Text",
      name: "tokens read",
      part: "source",
      tokens: pieceLabels(pieces.map(({ text }) => text)),
      unknown: pieces.flatMap(({ unknown }, at) => (unknown ? [at] : [])),
      wraps: true,
    };
    const added = this.class === undefined ? null : contributionsTo(opened, reading, this.class);
    if (added) Object.assign(row, { added: Array.from(added.slice(0, MOST_SHOWN)), adds_to: page.classes[this.class] });
    const rest = { text: null, steps: null, branches: [], brief: false, plays: 0, hide: false, films: false };
    return { rows: [row], said: this.said(), bars: this.bars(Boolean(added)), ...rest };
  }

  said() {
    const { reading, order, page } = this;
    if (!order.length) return `${reading.src.length} token${reading.src.length === 1 ? "" : "s"} read`;
    const likeliest = order.slice(0, SAID).map((at) => {
      return `${[...page.classes[at]].slice(0, LONGEST_CLASS).join("")} ${inPercent(reading.probabilities[at])}`;
    });
    return `Likeliest classes: ${likeliest.join(", ")}.`;
  }

  bars(explains) {
    const { reading, order, page } = this;
    if (!order.length) return null;
    const rows = order.map((at) => ({
      label: page.classes[at],
      probability: reading.probabilities[at],
      chosen: at === this.class,
      excluded: false,
    }));
    return {
      title: page.question,
      label: "classes",
      rows,
      rest: 0,
      least: CLASSES,
      most: CLASSES,
      keys: false,
      tokens: false,
      hint: explains ? "Show which tokens speak for this class" : "",
      help: "",
      note: explains ? "Blue tokens support the class in orange; red ones oppose it." : "",
      invites: explains ? "Click another class." : "",
    };
  }
}
