// What every view here is made of: elements, choosers, colours of the page, canvases, the pointer and the keyboard, files.
const part = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const themeOf = (dark, large = false) => ({ dark, brief: large, least: large ? 12 : 10, ...(dark
  ? { ink: "#f0f2f6", muted: "#a9aeb8", accent: "#ff8a3d", forbidden: "#31343b", stripe: "#5d626c", page: "#0b0e14" }
  : { ink: "#262730", muted: "#5d626c", accent: "#e66100", forbidden: "#e4e6ea", stripe: "#b4b9c1", page: "#ffffff" }) });

const segments = (label, entries, value, pick) => part("div", { className: "segments", role: "radiogroup", ariaLabel: label }, ...entries.map(([name, shown]) => {
  const button = part("button", { textContent: shown, onclick: () => pick(name) });
  button.setAttribute("role", "radio"); button.setAttribute("aria-checked", name === value);
  return button;
}));
// entries: [value, what it says, and what keeps it from being chosen, if anything].
const chooser = (label, entries, value, pick) => {
  const select = part("select", { ariaLabel: label }, ...entries.map(([name, shown, why]) => part("option", { value: name, textContent: shown, selected: String(name) === String(value), disabled: Boolean(why) })));
  let pointer = false;
  select.onpointerdown = () => { pointer = true; };
  select.onkeydown = () => { pointer = false; };
  select.onchange = () => { const chosen = select.value; if (pointer) select.blur(); pick(chosen); };
  return part("label", {}, part("span", { textContent: label }), select);
};
// The choosers made anew, the one that had the focus keeping it.
const rebuilt = (bar, root, elements) => {
  const focused = root.getRootNode().activeElement?.closest?.("label")?.textContent;
  bar.replaceChildren(...elements);
  if (focused) [...bar.querySelectorAll("label")].find((label) => label.textContent === focused)?.querySelector("select").focus();
};
const counted = (n, names) => Array.from({ length: n }, (_, i) => [i, String(names?.[i] ?? i)]);

// A canvas of that many pixels of the page, its context ready to paint.
const resized = (canvas, width, height, zoom = 1) => {
  const ratio = (window.devicePixelRatio || 1) * zoom;
  const across = Math.round(width * ratio), down = Math.round(height * ratio), context = canvas.getContext("2d");
  if (canvas.width === across && canvas.height === down) context.reset(); // its memory can stay
  else [canvas.width, canvas.height] = [across, down];
  canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
};

// Has root.redraw called when the page gives the view another width.
const redrawWhenWider = (root) => {
  root.observer ??= (() => {
    const observer = new ResizeObserver(() => { if (root.clientWidth !== root.drawn) { root.drawn = root.clientWidth; root.redraw(); } });
    observer.observe(root);
    return observer;
  })();
  root.drawn = root.clientWidth;
};

const spot = (event, canvas) => {
  const box = canvas.getBoundingClientRect(), by = box.width / canvas.offsetWidth || 1;
  return [(event.clientX - box.left) / by, (event.clientY - box.top) / by];
};

// Keys used here go no further, or the page would step.
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const within = ([y, x], [rows, columns]) => [Math.min(Math.max(y, 0), rows - 1), Math.min(Math.max(x, 0), columns - 1)];
const keyboard = (canvas, move, enter, leave) => {
  canvas.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in ARROWS || ["Enter", "Escape"].includes(event.key))) return;
    event.preventDefault(); event.stopPropagation();
    if (event.key in ARROWS) move(ARROWS[event.key]);
    else if (event.key === "Enter") enter();
    else { leave(); canvas.blur(); }
  };
};

// What the pointer or the keyboard is on, in words and as data.
const sayIn = (readout) => (words, marks = {}) => {
  readout.textContent = words;
  for (const name in readout.dataset) delete readout.dataset[name];
  Object.assign(readout.dataset, marks);
};

const keepFile = (blob, name) => {
  const link = part("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
