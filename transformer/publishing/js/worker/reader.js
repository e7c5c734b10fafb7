// A text as an encoder reads it: what it makes of it, and its attention. As ui/views/classify/classifier.py.
import { inPercent } from "#view/text/numbers.js";
import { read } from "../inference/decoding.js";
import { live, selectionIn } from "../messages/live.js";
import { Whole } from "../messages/sources.js";
import { pieceLabels } from "../text/words.js";

const MOST_SHOWN = 400; // tokens shown; all are read and counted
const CLASSES = 10; // with a bar, before all are requested
const SAID = 3; // classes that are heard
const LONGEST_CLASS = 60; // characters of one

export class Reader {
  constructor(opened, page, { text, heads, selection, looked, class: wanted }, number) {
    this.opened = opened;
    this.page = page;
    this.text = text;
    this.asked = selection;
    this.number = number;
    this.looked = looked;
    this.reading = read(opened, text, { heads });
    this.source = new Whole(opened, { ids: { src: Array.from(this.reading.src) }, text, heads }, this.reading);
    const probabilities = (opened.config.n_classes && this.reading.probabilities) || new Float32Array();
    this.probabilities = probabilities;
    this.order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a]);
    const named = page.classes.indexOf(wanted);
    this.class = named >= 0 ? named : this.order[0];
  }

  select({ number, ...asked }) {
    this.asked = asked;
    this.looked = number;
  }

  choose(nth) {
    this.class = this.order[nth] ?? this.class;
  }

  work() {
    return false;
  }

  picture() {
    const { opened, source, page } = this;
    const selection = selectionIn(source, this.asked, page.first);
    const about = { checkpoint: opened.id, step: opened.meta?.step };
    const { message } = live(source, selection, { about, newest: false, tree: page.tree, answered: this.looked });
    message.step_view = this.stepView();
    return { message, place: { selection: message.selection, class: page.classes?.[this.class] } };
  }

  stepView() {
    const { reading, page } = this;
    const pieces = reading.source.slice(0, MOST_SHOWN);
    const row = {
      picked: [],
      adds_to: "",
      label: "Text",
      name: "tokens read",
      part: "source",
      tokens: pieceLabels(
        pieces.map(({ text }) => text),
        this.opened.sourceTokenizer.labelMark,
      ),
      unknown: pieces.flatMap(({ unknown }, at) => (unknown ? [at] : [])),
      wraps: true,
    };
    const added = this.class === undefined ? null : reading.contributions(this.class);
    if (added) Object.assign(row, { added: Array.from(added.slice(0, MOST_SHOWN)), adds_to: page.classes[this.class] });
    const rest = { text: null, steps: null, branches: [], brief: false, plays: 0, hide: false, films: false };
    return { rows: [row], said: this.said(), bars: this.bars(Boolean(added)), ...rest };
  }

  said() {
    const { reading, order, page, probabilities } = this;
    if (!order.length) return `${reading.src.length} token${reading.src.length === 1 ? "" : "s"} read`;
    const likeliest = order.slice(0, SAID).map((at) => {
      return `${[...page.classes[at]].slice(0, LONGEST_CLASS).join("")} ${inPercent(probabilities[at])}`;
    });
    return `Likeliest classes: ${likeliest.join(", ")}.`;
  }

  bars(explains) {
    const { order, page, probabilities } = this;
    if (!order.length) return null;
    const rows = order.map((at) => ({
      label: page.classes[at],
      probability: probabilities[at],
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
      note: explains ? "Blue: for the orange class. Red: against it." : "",
      invites: explains ? "Click another class." : "",
    };
  }
}
