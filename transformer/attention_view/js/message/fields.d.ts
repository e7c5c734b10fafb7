// Made of message_fields.py by `python -m transformer.attention_view.message_types`: change that.

/**
 * What was made of tokens. words: they are put together.
 */
export interface Merged {
  special: string[];
  sinks: string[];
  words: boolean;
}

/**
 * The selection: which part of the attention is seen, and how; every field is a word or a number of the link. Words
 * are those of `CHOICES`.
 */
export interface Selection {
  kind: string;
  layer: number;
  head: number;
  view: string;
  of: string;
  stage: string;
  scale: string;
  pair?: [number, number] | null;
  lit?: number[] | null;
  tokens: string;
  special: string;
  rows: string;
  order: string;
  start?: [number, number] | null;
  level: string;
  feature?: number | null;
}

/**
 * One row of tokens, shaded by what the newest query gives them. name: for a screen reader; part: "source" or
 * "target"; predicted: from where on nothing has been read yet; picked: what the reader chose; added: what each adds
 * to `adds_to`, by which they are then shaded; wraps: on several lines.
 */
export interface Row {
  label: string;
  name: string;
  part: string;
  tokens: string[];
  unknown: number[];
  predicted?: number | null;
  picked: number[];
  added?: number[] | null;
  adds_to: string;
  wraps: boolean;
}

/**
 * One candidate or class.
 */
export interface Bar {
  label: string;
  probability: number;
  chosen: boolean;
  excluded: boolean;
}

/**
 * The candidates for what comes next, or the classes of a text. rest: the probability of all that have no bar;
 * label: for a screen reader; keys: each is chosen by a digit; least: how many are there however unlikely; most: how
 * many there is room for; tokens: their labels are tokens; hint: what a click on one does; invites: to click, those
 * who can.
 */
export interface Bars {
  title: string;
  label: string;
  rows: Bar[];
  rest?: number | null;
  least: number;
  most: number;
  keys: boolean;
  tokens: boolean;
  hint: string;
  help: string;
  note: string;
  invites: string;
}

/**
 * Translations by people.
 */
export interface References {
  label: string;
  note: string;
  texts: string[];
  /** how many others there are */
  more: number;
}

/**
 * What is written so far, and what is known to come.
 */
export interface Text {
  label?: string;
  written?: string;
  coming?: string;
  /** as it is broken into lines */
  lines?: boolean;
  note?: string;
  reference?: References;
}

/**
 * Where a decoding is, for the controls.
 */
export interface Steps {
  /** its name in links; "" where there are none */
  page: string;
  index: number;
  /** the last step, where it is known */
  last: number | null;
  /** counts texts: what is asked of an earlier one is not answered */
  decoding: number;
  /** the number of the last move that was answered */
  answered: number;
  farthest: number;
  /** still on its way to where a press led */
  going: boolean;
  /** the step at which the text opened */
  opened?: number;
}

/**
 * The step view: all that stands around the attention. said: a sentence for a screen reader; text: what is written
 * so far, or known of what is read; steps: where a decoding is, for the controls; branches: how each version of the
 * text ends, the one looked at first; brief: with little besides, for a first look; plays: steps that it takes by
 * itself then; hide: what comes next is to be guessed; films: the steps can be kept as a film; changes: a click can
 * change what the model computes.
 */
export interface StepView {
  rows: Row[];
  said: string;
  bars?: Bars | null;
  text?: Text | null;
  steps?: Steps | null;
  branches: string[];
  brief: boolean;
  hide: boolean;
  plays?: number | null;
  films?: boolean | null;
  changes?: boolean | null;
}

/**
 * The origin that every picture and every file states.
 */
export interface About {
  checkpoint: string | null;
  /** of its training */
  step: number | null;
  text: string;
  output: string | null;
  merged?: { [name: string]: Merged };
}

/**
 * Labels of tokens with the marks that their tokenizers use.
 */
export interface Pieces {
  queries: string[];
  keys: string[];
  makes: string[] | null;
}

/**
 * Layers whose self-attention has a window.
 */
export interface Near {
  layers: number[];
  /** tokens */
  size: number;
  /** of words: each query's first key and the one after its last */
  sees?: ([number, number])[];
}

/**
 * The range in which values are drawn that are no weights.
 */
export interface OpenScale {
  signed: boolean;
  most: number;
}

/**
 * Labels of tokens that a decoder will read, and of what it predicts from each.
 */
export interface Ahead {
  queries: string[];
  keys: string[];
  makes: string[];
}

/**
 * One kind of attention: its size, its tokens, what may look at what, and how scores are made.
 */
export interface AttentionKind {
  layers: number;
  heads: number;
  queries: string[];
  keys: string[];
  causal: boolean;
  /** the exact labels, where they are others */
  pieces?: Pieces;
  /** so many of the first keys, for each query */
  sees?: number[];
  /** heads of keys and values, where several heads share one */
  groups?: number;
  /** of q.k, where it is not 1 / sqrt(D) */
  scale?: number;
  /** a score becomes cap * tanh(score / cap) */
  cap?: number;
  /** what is predicted from each query */
  makes?: string[];
  merged?: Merged;
  near?: Near;
  /** there is a rollout */
  rolls?: boolean;
  /** of layers and heads, where some are left out */
  numbers?: Numbers;
  open?: OpenScale;
  /** the type of weights in half precision */
  rounded?: string;
  /** rows go on beyond these tokens */
  cut?: boolean;
  /** the places of the first query and key of a part of a text */
  first?: number[];
  /** queries and keys of the whole text */
  whole?: [number, number];
  ahead?: Ahead;
}

/**
 * The numbers of layers and heads, counted as their model does.
 */
export interface Numbers {
  layers?: number[];
  heads?: number[];
}

/**
 * A change in this pass.
 */
export interface Changed {
  number: number;
  words: string;
  /** it switches heads off */
  off: boolean;
  kind?: string;
  layer?: number;
  heads?: number[];
}

/**
 * One number of a query or a key, taken apart: row · weights + bias, and what is done to that.
 */
export interface QueryNumber {
  kind?: string;
  layer?: number;
  head?: number;
  number: number;
  side: "q" | "k";
  position: number;
  projected: number;
  value: number;
  changed: boolean;
  bias?: number;
  clipped?: number;
  clip?: number;
  normed?: number;
  /** the number with which it is turned */
  partner?: number;
  partnerValue?: number;
  cos?: number;
  sin?: number;
  turned?: number;
}

/**
 * Whose logit is taken apart, or why none is.
 */
export interface LogitStep {
  effectOf?: string;
  logit?: number;
  why?: string;
}

/**
 * The picture of the whole model.
 */
export interface Model {
  effectOf?: string;
  logit?: number;
  why?: string;
  stack: "encoder" | "decoder";
  /** of the token that is followed, in the whole text */
  position: number;
  token: string;
  /** the model's blocks, as `Block.to_json` has them */
  tree?: { [name: string]: any };
  changes?: Changed[];
  /** kind -> the first query and key of a part of a text */
  first?: { [name: string]: number[] };
  /** kind -> queries and keys to a cell of `small` */
  blocks: { [name: string]: number[] };
  /** stack -> what is added to its residual, in order */
  parts?: { [name: string]: string[] };
  number?: QueryNumber;
  /** classes, where no step view has them */
  bars?: Bar[];
  /** of a page that goes through steps */
  steps?: LogitStep[];
}

/**
 * Every step on the way to the last one.
 */
export interface Path {
  prompt: number;
  source: string[] | null;
  target: string[];
  unknown: number[];
  /** the text that each step ends */
  outputs: string[];
  /** the candidates of each step */
  bars: Bar[][];
}

/**
 * The header of a message.
 */
export interface Header {
  about: About;
  selection: Selection;
  kinds: { [name: string]: AttentionKind };
  /** kind -> queries and keys to a cell of a picture of all heads */
  block: { [name: string]: [number, number] };
  /** the orders of which `map` has a row */
  maps: string[];
  /** the first query and key of `layer` */
  window?: number[] | null;
  /** queries from one that counts in `grid` to the next */
  every?: number;
  /** there is a picture of the whole model */
  modelled?: boolean;
  /** the newest query is the last one drawn */
  newest?: boolean;
  /** nobody can be asked for more */
  standalone?: boolean;
  /** queries and keys of which a phone has some */
  of?: [number, number];
  path?: Path;
  model?: Model;
  step_view?: StepView;
  /** the number of the last selection that was answered */
  answered?: number;
  dark?: boolean;
  /** larger, as when presented */
  large?: boolean;
  /** several files can be kept as one */
  zips?: boolean;
  /** tokens can be merged into words */
  whole_pieces?: boolean;
  arrays: { [name: string]: ArrayPlace };
}

/**
 * Where an array lies.
 */
export interface ArrayPlace {
  type: "f4" | "u1" | "u2";
  shape: number[];
  /** its first byte after the header */
  at: number;
  /** sent without what is above the diagonal */
  lower: boolean;
  /** the largest of numbers that are sent in three bytes */
  most?: number;
}

export interface Arrays {
  /** (L H rows columns): square roots of weights in 0..255 */
  grid?: Uint8Array;
  [grid: `grid/${string}`]: Uint8Array;
  /** (orders L H): in proportion, 0..255 */
  map?: Uint8Array;
  [map: `map/${string}`]: Uint8Array;
  /** (tiles 2): layer and head */
  places?: Uint16Array;
  [places: `places/${string}`]: Uint16Array;
  /** (tiles rows columns): square roots of weights in 0..255 */
  tiles?: Uint8Array;
  [tiles: `tiles/${string}`]: Uint8Array;
  /** (rows columns): square roots of weights in 0..255 */
  text?: Uint8Array;
  [text: `text/${string}`]: Uint8Array;
  /** (2 L H Tq Tk): square roots of weights in 0..65,535, high bytes and low ones */
  cells?: Uint8Array;
  [cells: `cells/${string}`]: Uint8Array;
  /** (L H Tq Tk): as they are */
  values?: Float32Array;
  [values: `values/${string}`]: Float32Array;
  /** (Tq Tk): rows sum to 1 */
  weights?: Float32Array;
  [weights: `weights/${string}`]: Float32Array;
  /** (H Tq Tk): rows sum to 1 */
  layer?: Float32Array;
  [layer: `layer/${string}`]: Float32Array;
  /** (2 Tq Tk): square roots of weights in 0..65,535, high bytes and low ones */
  fine?: Uint8Array;
  [fine: `fine/${string}`]: Uint8Array;
  /** (H Tq Tk): square roots of weights in 0..255, without the faintest */
  faint?: Uint8Array;
  [faint: `faint/${string}`]: Uint8Array;
  /** (Tq D) or (L H Tq D): as they met their keys */
  q?: Float32Array;
  [q: `q/${string}`]: Float32Array;
  /** (Tk D) or (L H Tk D): as they met their queries */
  k?: Float32Array;
  [k: `k/${string}`]: Float32Array;
  /** (Tk D) or (L H Tk D): values */
  v?: Float32Array;
  [v: `v/${string}`]: Float32Array;
  /** (Tk) or (L H Tk): norms of values after the output projection */
  moved?: Float32Array;
  [moved: `moved/${string}`]: Float32Array;
  /** (Tq Tk) or (L H Tq Tk): added to scores by positions; one layer where all have the same */
  bias?: Float32Array;
  [bias: `bias/${string}`]: Float32Array;
  /** (bytes): a message with every head of every kind */
  film?: Uint8Array;
  [film: `film/${string}`]: Uint8Array;
  /** (L H Tk): of the followed query, square roots of weights in 0..65,535 */
  seen?: Uint16Array;
  [seen: `seen/${string}`]: Uint16Array;
  /** (L H rows columns): square roots of weights in 0..255 */
  small?: Uint8Array;
  [small: `small/${string}`]: Uint8Array;
  /** (P parts): of the residual after each part */
  norms?: Float32Array;
  [norms: `norms/${string}`]: Float32Array;
  /** (P parts): norms of what each part adds */
  added?: Float32Array;
  [added: `added/${string}`]: Float32Array;
  /** (P) or (P parts): norms of what positions add */
  position?: Float32Array;
  [position: `position/${string}`]: Float32Array;
  /** (L P H) or (L H P): norms of what each head adds */
  headNorms?: Float32Array;
  [headNorms: `headNorms/${string}`]: Float32Array;
  /** (L H) or (F) or (3) or (steps L H) or (steps F) or (steps 3): logits */
  effects?: Float32Array;
  [effects: `effects/${string}`]: Float32Array;
  /** (D): a row of numbers */
  number?: Float32Array;
  [number: `number/${string}`]: Float32Array;
}

// What `unpack` makes of one. made: what is made from it, by name.
export interface Message extends Omit<Header, "arrays"> {
  arrays: Arrays;
  shapes: { [name: string]: number[] };
  made: Map<string, any>;
}

export type ModelMessage = Message & { model: Model };
export type PathMessage = Message & { path: Path };
