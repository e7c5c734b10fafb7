// Bars that are drawn: dragged with a finger or a mouse, or set with the arrow keys. Only how they compare counts.
import { part } from "#view/elements.js";
import { shares, wholePercents } from "./shares.js";
import { nameOf } from "./words.js";

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

export function drawForm(entry) {
  const { spec } = entry;
  const form = { heights: spec.labels.map(() => 0) };
  const button = part("button", { type: "submit", className: "send", textContent: "Send" });
  form.rows = spec.labels.map((label, at) => barRow(form, nameOf(spec, label), at));
  form.put = (at, height) => {
    if (form.heights[at] === heightOf(height)) return;
    form.heights[at] = heightOf(height);
    showBars(form, button);
    entry.changed([...form.heights]);
  };
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
  for (const [attribute, value] of [
    ["aria-valuemin", 0],
    ["aria-valuemax", TALLEST],
  ])
    slider.setAttribute(attribute, String(value));
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
