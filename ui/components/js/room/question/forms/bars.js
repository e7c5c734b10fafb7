// Answering by drawing bars, dragged with a finger or a mouse or set with the arrow keys. Only how they compare counts.
import { part } from "#view/page/elements.js";
import { nameOf, share } from "../../texts.js";

export const barsForm = {
  input: barsInput,
  answerText: () => "the bars below",
  verdict: (spec, choices, key, value) => {
    const [model, drawn] = [shares(key.values), shares(value)];
    const common = share(overlap(model, drawn));
    const nats = divergence(model, drawn);
    return { right: null, words: `Your bars and the model’s have ${common} in common. ${divergenceText(nats)}` };
  },
  picture: (spec, values) => ({ names: spec.labels.map((label) => nameOf(spec, label)), values }),
  rows: barRows,
  lines: ({ question: { summary } }) => {
    if (!summary?.mean) return [];
    const common = `The room’s mean and the model’s bars have ${share(summary.overlap)} in common.`;
    return [`${common} ${divergenceText(summary.kl)}`];
  },
  more: ({ summary }, face) => {
    if (!summary || face === "wall") return null;
    return part("details", {}, part("summary", { textContent: "What these numbers mean" }), WHAT_DRAWN_MEANS);
  },
};

function divergenceText(nats) {
  const how = nats < 0.05 ? "Almost the same" : nats < 0.3 ? "Close" : nats < 1 ? "Some way off" : "Far off";
  return `${how} (KL divergence ${nats.toFixed(2)} nats).`;
}

const WHAT_DRAWN_MEANS =
  "In common: 100% means the same bars, 0% means no overlap. The KL divergence is 0 for the same bars, and grows " +
  "fastest if you leave out a bar that matters to the model.";

// The tallest bar of all fills its track.
function barRows({ spec, votes, first, key, given }) {
  const model = key && shares(key.values);
  const own = Array.isArray(given) ? shares(given) : null;
  const sets = [
    ["before", first?.mean],
    ["room", votes.mean],
    ["you", own],
    ["model", model],
  ].filter(([, values]) => values);
  const most = Math.max(1e-9, ...sets.flatMap(([, values]) => values));
  return spec.labels.map((label, at) => {
    const tracks = sets.map(([who, values]) => [who, values[at] / most, share(values[at])]);
    return { name: nameOf(spec, label), tracks };
  });
}

const TALLEST = 100;
const BAR_KEYS = {
  ArrowRight: 2,
  ArrowUp: 2,
  ArrowLeft: -2,
  ArrowDown: -2,
  PageUp: 10,
  PageDown: -10,
  Home: -TALLEST,
  End: TALLEST,
};

const heightOf = (height) => Math.max(0, Math.min(TALLEST, Math.round(height)));

function barsInput(entry) {
  const { spec } = entry;
  /** @type {{heights: number[], rows: ReturnType<typeof barRow>[], put: (at: number, height: number) => void}} */
  const form = {
    heights: spec.labels.map(() => 0),
    rows: [],
    put: (at, height) => {
      if (form.heights[at] === heightOf(height)) return;
      form.heights[at] = heightOf(height);
      showBars(form, button);
      entry.changed([...form.heights]);
    },
  };
  const button = part("button", { type: "submit", className: "send", textContent: "Send" });
  form.rows = spec.labels.map((label, at) => barRow(form, nameOf(spec, label), at));
  const onsubmit = (event) => {
    event.preventDefault();
    if (form.heights.some(Boolean)) entry.give([...form.heights]);
  };
  const list = part("div", { className: "bars" }, ...form.rows.map(({ element }) => element));
  const hint = part("p", {
    className: "hint",
    textContent: "Drag the bars. Only their relative lengths count.",
  });
  const show = (value) => {
    if (value === null) form.heights.fill(0);
    else if (value.some((one, at) => one !== form.heights[at])) {
      const most = Math.max(...value);
      const drawn = wholePercents(shares(form.heights)).join() === wholePercents(shares(value)).join();
      if (!drawn) form.heights = value.map((one) => heightOf((TALLEST * one) / most));
    }
    showBars(form, button);
  };
  return { element: part("form", { className: "drawing", onsubmit }, hint, list, button), show };
}

function showBars({ heights, rows }, button) {
  const any = heights.some(Boolean);
  const percents = any ? wholePercents(shares(heights)) : heights;
  for (const [at, { slider, bar, number }] of rows.entries()) {
    bar.style.width = `${heights[at]}%`;
    number.textContent = any ? `${percents[at]}%` : "–";
    slider.setAttribute("aria-valuenow", String(heights[at]));
    slider.setAttribute("aria-valuetext", any ? `${percents[at]}% of all` : "empty");
  }
  button.disabled = !any;
}

function barRow(form, label, at) {
  const name = part("bdi", { textContent: label });
  const bar = part("i");
  const number = part("span", { className: "percent" });
  const slider = part("div", { className: "track", tabIndex: 0, role: "slider", ariaLabel: label }, bar);
  slider.setAttribute("aria-valuemin", "0");
  slider.setAttribute("aria-valuemax", String(TALLEST));
  listenToBar(slider, { get: () => form.heights[at], put: (height) => form.put(at, height) });
  const element = part("div", { className: "bar" }, name, slider, number);
  element.dataset.at = at;
  return { element, slider, bar, number };
}

function listenToBar(slider, { get, put }) {
  let before = null; // the height to go back to where a drag turns out to scroll the page
  const under = (event) => {
    const box = slider.getBoundingClientRect();
    return (TALLEST * (event.clientX - box.left)) / box.width;
  };
  slider.onpointerdown = (event) => {
    if (event.button) return;
    before = get();
    slider.setPointerCapture(event.pointerId);
    put(under(event));
  };
  slider.onpointermove = (event) => {
    if (before !== null) put(under(event));
  };
  slider.onpointerup = () => {
    before = null;
  };
  slider.onpointercancel = () => {
    if (before !== null) put(before);
    before = null;
  };
  slider.onkeydown = (event) => {
    if (!(event.key in BAR_KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    put(get() + BAR_KEYS[event.key]);
  };
}

// How far what was drawn lies from the model's bars: as transformer/rooms/questions/bars.py.

const SMOOTHED = 0.01; // of what was drawn, spread evenly over all bars, so that one left empty costs much and not all

// Values from 0 up as shares of their sum; all alike where there is nothing.
export function shares(values) {
  const most = Math.max(0, ...values);
  if (!most) return values.map(() => 1 / values.length);
  const sum = values.reduce((all, value) => all + value / most, 0);
  return values.map((value) => value / most / sum);
}

// KL(p ‖ q) in nats (Kullback and Leibler 1951), of the drawn with a hundredth of it spread evenly.
export function divergence(p, q) {
  const even = SMOOTHED / q.length;
  const sum = p.reduce((all, a, at) => (a > 0 ? all + a * Math.log(a / ((1 - SMOOTHED) * q[at] + even)) : all), 0);
  return Math.max(0, sum);
}

// The share that the two have in common, 1 where they are the same.
export const overlap = (p, q) =>
  Math.min(
    1,
    p.reduce((all, a, at) => all + Math.min(a, q[at]), 0),
  );

// Shares as whole percentages that add up to 100: those that lose most by rounding down get what is left.
export function wholePercents(parts) {
  const exact = parts.map((one) => 100 * one);
  const out = exact.map(Math.floor);
  const left = 100 - out.reduce((all, one) => all + one, 0);
  const order = exact.map((one, at) => [one - out[at], at]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, at] of order.slice(0, left)) out[at] += 1;
  return out;
}
