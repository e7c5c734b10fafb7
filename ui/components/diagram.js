// Draws the description that ui/figures/diagram.py makes; what a click or Enter on an attention block chooses goes to Python.
const SMALLEST = 0.8; // of its size, so that the shapes can be read; a wider model scrolls in its box

function make(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function label(string, attributes) {
  const element = make("text", attributes);
  element.textContent = string;
  return element;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".model-diagram"), { diagram } = data;
  const focused = root.getRootNode().activeElement?.getAttribute?.("data-id");
  root.style.setProperty("--accent", data.accent);

  const pick = ({ kind, layer }) => {
    setTriggerValue("pick", { kind, layer });
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const target = document.querySelector(`.${data.target}`);
    if (target) target.style.scrollMarginTop = "4.5rem"; // below the bar on top
    target?.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
  };
  const blockOf = (block) => {
    const middle = block.x + block.width / 2, group = make("g", { class: `block ${block.role}`, "data-id": block.id ?? block.name });
    group.append(make("rect", { x: block.x, y: block.y, width: block.width, height: block.height, rx: block.role === "add" ? 10 : 5 }));
    const tall = 17, from = block.role === "many" ? block.y + 29 : block.y + block.height / 2;
    block.lines.forEach((line, i) => group.append(label(line, {
      x: middle, y: from + (i - (block.lines.length - 1) / 2) * tall, class: i ? "more" : "first",
    })));
    if (!block.name) return group;
    for (const [name, value] of Object.entries({ role: "button", tabindex: 0, "aria-label": block.name, "aria-pressed": block.shown })) group.setAttribute(name, value);
    group.onclick = () => pick(block);
    group.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick(block);
    };
    return group;
  };
  const arrowOf = ({ points, role, shape }) => {
    const title = make("title", {});
    title.textContent = role === "residual" ? `residual ${shape}` : shape;
    return make("path", { class: `arrow ${role}`, d: `M${points.map((point) => point.join(" ")).join("L")}`, "marker-end": "url(#head)" }, title);
  };
  const head = make("marker", { id: "head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
    make("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" }));
  const svg = make("svg", { viewBox: `-1 -1 ${diagram.width + 2} ${diagram.height + 2}`, role: "group", "aria-label": data.alt },
    make("defs", {}, head),
    ...diagram.frames.map((frame) => make("rect", { class: "frame", x: frame.x, y: frame.y, width: frame.width, height: frame.height, rx: 8 })),
    ...diagram.arrows.map(arrowOf),
    ...diagram.frames.map((frame) => label(frame.title, { class: "title", x: frame.x + 10, y: frame.y + 18 })),
    ...diagram.blocks.map(blockOf),
    ...diagram.arrows.filter((arrow) => arrow.at).map(({ shape, at: [x, y], anchor }) => label(shape, { class: "shape", x, y, "text-anchor": anchor })));
  Object.assign(svg.style, { width: "100%", minWidth: `${diagram.width * SMALLEST}px`, maxWidth: `${diagram.width}px` });
  root.replaceChildren(svg);
  if (focused) [...root.querySelectorAll("[data-id]")].find((block) => block.dataset.id === focused)?.focus({ preventScroll: true });
}
