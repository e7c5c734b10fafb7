// Draws the description that ui/figures/diagram.py makes; what a click or Enter on an attention block chooses goes to
// Python.
import STYLE from "./diagram.css";
import { dress, scrollToTarget, svgPart } from "#view/elements.js";

const SMALLEST = 0.8; // of its size, so that the shapes can be read; a wider model scrolls in its box
const LINE = 17; // px
const ARROW = { viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse" };

export default function component({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".model-diagram");
  const focused = root.getRootNode().activeElement?.getAttribute?.("data-id");
  dress(root, STYLE);
  root.style.setProperty("--accent", data.accent);
  const pick = ({ kind, layer }) => {
    setTriggerValue("pick", { kind, layer });
    scrollToTarget(data.target);
  };
  root.replaceChildren(picture(data, pick));
  if (!focused) return;
  const block = [...root.querySelectorAll("[data-id]")].find((one) => one.dataset.id === focused);
  block?.focus({ preventScroll: true });
}

function picture({ diagram, alt }, pick) {
  const { width, height, frames, arrows, blocks } = diagram;
  const head = svgPart("marker", { id: "head", orient: "auto", ...ARROW }, tip());
  const box = { viewBox: `-1 -1 ${width + 2} ${height + 2}`, role: "group", "aria-label": alt };
  const svg = svgPart("svg", box, svgPart("defs", {}, head));
  svg.append(...frames.map(frameOf), ...arrows.map(arrowOf));
  svg.append(...frames.map(({ title, x, y }) => label(title, { class: "title", x: x + 10, y: y + 18 })));
  svg.append(...blocks.map((block) => blockOf(block, pick)), ...arrows.filter(({ at }) => at).map(shapeOf));
  Object.assign(svg.style, { width: "100%", minWidth: `${width * SMALLEST}px`, maxWidth: `${width}px` });
  return svg;
}

const label = (words, attributes) => svgPart("text", attributes, words);
const tip = () => svgPart("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" });
const frameOf = ({ x, y, width, height }) => svgPart("rect", { class: "frame", x, y, width, height, rx: 8 });
const shapeOf = ({ shape, at: [x, y], anchor }) => label(shape, { class: "shape", x, y, "text-anchor": anchor });

function arrowOf({ points, role, shape }) {
  const title = svgPart("title", {}, role === "residual" ? `residual ${shape}` : shape);
  const d = `M${points.map((point) => point.join(" ")).join("L")}`;
  return svgPart("path", { class: `arrow ${role}`, d, "marker-end": "url(#head)" }, title);
}

function blockOf(block, pick) {
  const { x, y, width, height, role, lines, name, shown } = block;
  const group = svgPart("g", { class: `block ${role}`, "data-id": block.id ?? name });
  group.append(svgPart("rect", { x, y, width, height, rx: role === "add" ? 10 : 5 }));
  const middle = role === "many" ? y + 29 : y + height / 2;
  const words = lines.map((line, i) => {
    const place = { x: x + width / 2, y: middle + (i - (lines.length - 1) / 2) * LINE };
    return label(line, { ...place, class: i ? "more" : "first" });
  });
  group.append(...words);
  if (!name) return group;
  const button = { role: "button", tabindex: 0, "aria-label": name, "aria-pressed": shown };
  for (const [attribute, value] of Object.entries(button)) group.setAttribute(attribute, value);
  group.onclick = () => pick(block);
  group.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pick(block);
  };
  return group;
}
