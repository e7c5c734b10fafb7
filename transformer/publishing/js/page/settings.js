// The settings of a model, in a box that waits behind a button: how its tokens are chosen, and the heads that are off.
import SHARED from "#view/message/shared.json";
import { part } from "#view/page/elements.js";

const MOST_NOTCHES = 100; // of a slider; with more, a number is typed

const samePlace = (a) => (b) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;

// change: is told of another {sampling} or {heads}.
export function drawSettings(box, { page, settings, sampling, heads, change }) {
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = box.contains(active) ? active?.dataset.name : null;
  const parts = [];
  if (page.steps) {
    parts.push(part("h2", { textContent: "How tokens are chosen" }));
    parts.push(part("p", { textContent: SHARED.sampling.reach }));
    for (const one of settings) {
      if (!one.sampled || sampling.temperature) parts.push(settingPart(one, sampling, change));
    }
  }
  parts.push(part("h2", { textContent: "Switch heads off" }));
  parts.push(part("p", { textContent: "What does the model do without them?" }));
  for (const [kind, layers] of Object.entries(page.layers))
    if (layers) parts.push(...headParts(kind, page, heads, change));
  box.replaceChildren(...parts);
  if (focused) [...box.querySelectorAll("[data-name]")].find(({ dataset }) => dataset.name === focused)?.focus();
}

function settingPart(one, sampling, change) {
  const { name, label, help, offered } = one;
  const [min, max, step] = offered;
  const type = (max - min) / step <= MOST_NOTCHES ? "range" : "number";
  const value = sampling[name];
  const input = part("input", { type, min, max, step, ariaLabel: label, title: help });
  input.value = value;
  input.dataset.name = name;
  const number = part("output", { textContent: type === "range" ? shownValue(one, value) : "" });
  input.oninput = () => {
    if (type === "range") number.textContent = shownValue(one, input.valueAsNumber);
  };
  input.onchange = () => {
    const typed = Number.isFinite(input.valueAsNumber) ? Math.max(min, Math.min(max, input.valueAsNumber)) : one.off;
    change({ sampling: { ...sampling, [name]: one.whole ? Math.round(typed) : typed } });
  };
  return part("label", { className: "setting", title: help }, label, input, ...(type === "range" ? [number] : []));
}

const shownValue = ({ off, name }, value) => (value === off && name !== "temperature" ? "off" : String(value));

function headParts(kind, page, heads, change) {
  const rows = Array.from({ length: page.layers[kind] }, (_, layer) => {
    const buttons = Array.from({ length: page.heads }, (__, head) => {
      const place = { kind, layer, head };
      const isOff = heads.some(samePlace(place));
      const button = part("button", { type: "button", textContent: head, ariaPressed: isOff });
      button.ariaLabel = `${kind}, layer ${layer}, head ${head} off`;
      button.title = isOff ? "off: click to switch it on" : "click to switch it off";
      button.dataset.name = `${kind}:${layer}:${head}`;
      button.onclick = () => {
        const others = heads.filter((other) => !samePlace(place)(other));
        change({ heads: isOff ? others : [...others, place] });
      };
      return button;
    });
    return part("div", { className: "layer" }, part("span", { textContent: `layer ${layer}` }), ...buttons);
  });
  const words = { encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention" }[kind];
  return [part("h3", { textContent: words }), ...rows];
}
