// The address of what is seen: all that decides the picture, by the names that the app's links have, in the fragment.
// Values from outside are taken where they make sense, and left out where they do not.
import SHARED from "#view/message/shared.json";

const CHOICES = SHARED.choices;
const KINDS = ["encoder", "decoder", "cross"];
const NUMBERS = ["layer", "head", "feature"]; // of a selection
const MOST = 2_000; // choices, or heads
const FARTHEST_STEP = 1_000_000;

const count = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);
const counts = (text, separator) => {
  const parts = (text ?? "").split(separator, MOST).map(count);
  return parts.length && !parts.includes(null) ? parts : null;
};

// A setting of sampling in the range that is offered; what it is without one where the text is no number.
export function settingOf({ off, offered: [least, most], whole }, text) {
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(value)) return off;
  const inRange = Math.max(least, Math.min(most, value));
  return whole ? Math.round(inRange) : inRange;
}

// "3:17,5:9" as {3: 17, 5: 9}.
function choicesOf(text) {
  const pairs = (text ?? "").split(",", MOST).map((pair) => counts(pair, ":"));
  return Object.fromEntries(pairs.filter((pair) => pair?.length === 2));
}

// "decoder:0:3,cross:1:2" as [{kind, layer, head}, ...], those that a model has.
export function headsOf(text, { layers, heads: most }) {
  const heads = new Map();
  for (const part of (text ?? "").split(",", MOST)) {
    const [kind, ...places] = part.trim().split(":");
    const [layer, head] = places.map(count);
    const there = KINDS.includes(kind) && places.length === 2 && layer < (layers[kind] ?? 0) && head < most;
    if (there && layer !== null && head !== null) heads.set(`${kind}:${layer}:${head}`, { kind, layer, head });
  }
  return [...heads.values()];
}

export const headsText = (heads) => heads.map(({ kind, layer, head }) => `${kind}:${layer}:${head}`).join(",");

// The parameters of an address: those of the fragment before those of the query.
export function paramsOf({ search, hash }) {
  const params = new URLSearchParams(search);
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) params.set(name, value);
  return params;
}

// models: what the file says of each; -> {model, unknown, text, asked}. unknown: the checkpoint named, if it is not
// here; asked: {sampling, heads, choices, step, selection, class}.
export function readAddress(params, models, settings) {
  const named = params.get("checkpoint");
  const name = (id) => id.split("@")[0];
  const exact = models.findIndex(({ id }) => id === named);
  const alike = named === null ? 0 : models.findIndex(({ id }) => name(id) === name(named));
  const model = exact >= 0 ? exact : Math.max(0, alike);
  const page = models[model];
  const sampling = {};
  for (const one of settings) {
    const text = params.get(one.name);
    sampling[one.name] = text === null ? startOf(page, one) : settingOf(one, text);
  }
  const step = count(params.get("step"));
  return {
    model,
    unknown: exact >= 0 || (alike >= 0 && !named?.includes("@")) ? null : named,
    text: params.get("text") ?? page.examples[0]?.text ?? "",
    asked: {
      sampling,
      heads: headsOf(params.get("heads"), page),
      choices: choicesOf(params.get("choices")),
      step: step === null ? null : Math.min(step, FARTHEST_STEP),
      selection: selectionOf(params),
      class: params.get("class"),
    },
  };
}

export const startOf = (page, { name, off }) => (name === "temperature" ? page.temperature : off);

function selectionOf(params) {
  const selection = {};
  if (params.has("kind")) selection.kind = params.get("kind");
  for (const name of NUMBERS) if (count(params.get(name)) !== null) selection[name] = count(params.get(name));
  for (const [name, words] of Object.entries(CHOICES)) {
    if (words.includes(params.get(name))) selection[name] = params.get(name);
  }
  for (const name of ["pair", "start"]) selection[name] = counts(params.get(name), ":");
  selection.lit = params.get("lit") === "" ? [] : counts(params.get("lit"), ",");
  return selection;
}

// The fragment for what is seen; what has its usual value is left out, the temperature apart.
export function writeAddress(page, settings, { text, sampling, heads, place }) {
  const params = new URLSearchParams({ checkpoint: page.id, text });
  const put = (name, value) => value !== null && value !== undefined && value !== "" && params.set(name, value);
  const { choices = {}, step, selection } = place;
  put(
    "choices",
    Object.entries(choices)
      .map((pair) => pair.join(":"))
      .join(","),
  );
  if (page.steps) {
    for (const { name, off } of settings) {
      if (name === "temperature" || sampling[name] !== off) put(name, String(sampling[name]));
    }
  }
  put("heads", headsText(heads));
  put("step", step);
  for (const name of ["kind", ...NUMBERS]) put(name, selection[name]);
  for (const [name, [usual]] of Object.entries(CHOICES)) if (selection[name] !== usual) put(name, selection[name]);
  for (const name of ["pair", "start"]) put(name, selection[name]?.join(":"));
  if (selection.lit) params.set("lit", selection.lit.join(","));
  put("class", place.class);
  return `#${params}`;
}
