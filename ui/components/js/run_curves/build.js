// The bar over the curves, the names of the runs, and the pointer and the keyboard on the canvas.
import { keepFile, part } from "#view/elements.js";
import { spot, take, withModifier } from "#view/pointer.js";

export function build(view) {
  const parts = {
    names: part("div", { className: "names", role: "group", ariaLabel: "Runs" }),
    canvas: part("canvas", { tabIndex: 0, role: "img" }),
    readout: part("output", { className: "readout" }),
    back: backButton(view),
  };
  const controls = [smoothing(view), logScale(view), axis(view), parts.back, saveButton(view)];
  view.root.append(part("div", { className: "bar" }, ...controls), parts.names, parts.canvas, parts.readout);
  listenToPointer(view, parts.canvas);
  parts.canvas.onkeydown = (event) => onKey(view, event);
  return parts;
}

function smoothing(view) {
  const ariaLabel = "Smoothing of the training loss";
  const slider = part("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: view.smooth, ariaLabel });
  const number = part("output", { textContent: view.smooth.toFixed(2) });
  slider.oninput = () => {
    view.smooth = Number(slider.value);
    number.textContent = view.smooth.toFixed(2);
    view.made.clear();
    view.redraw();
  };
  return part("label", {}, "Smoothing ", slider, number);
}

function logScale(view) {
  const box = part("input", { type: "checkbox", checked: view.log });
  box.onchange = () => {
    view.log = box.checked;
    view.redraw();
  };
  return part("label", {}, box, " log scale");
}

function axis(view) {
  const option = (value, textContent) => part("option", { value, textContent });
  const select = part("select", { ariaLabel: "Across" }, option("step", "steps"), option("seconds", "time trained"));
  select.onchange = () => {
    view.axis = select.value;
    setZoom(view, null);
  };
  return part("label", {}, "Across ", select);
}

function backButton(view) {
  const title = "Show the whole length again (double click)";
  return part("button", { textContent: "Whole", title, hidden: true, onclick: () => setZoom(view, null) });
}

function saveButton(view) {
  const onclick = () => view.parts.canvas.toBlob((blob) => keepFile(blob, curvesName(view)));
  return part("button", { textContent: "Save as PNG", onclick });
}

export function curvesName({ header }) {
  const names = header.runs.map((run) => run.name).join("-");
  return `${names.slice(0, 80)}-curves.png`;
}

function setZoom(view, zoom) {
  view.zoom = zoom;
  view.redraw();
}

export function legend(view) {
  const { runs } = view.header;
  view.parts.names.replaceChildren(...runs.map((run) => chipOf(view, run)));
  view.parts.names.hidden = runs.length < 2;
}

function chipOf(view, { name, colour }) {
  const { hidden } = view;
  const chip = part("button", { textContent: name, title: "Show or hide", ariaPressed: !hidden.has(name) });
  chip.style.setProperty("--ink", colour);
  chip.onclick = () => {
    if (!hidden.delete(name)) hidden.add(name);
    legend(view);
    view.redraw();
  };
  return chip;
}

function listenToPointer(view, canvas) {
  canvas.onmousemove = (event) => setCursor(view, valueUnder(view, event));
  canvas.onmouseleave = () => setCursor(view, null);
  canvas.onmousedown = (event) => {
    view.from = inMain(view, event);
  };
  canvas.onmouseup = (event) => {
    const { from } = view;
    const to = inMain(view, event);
    const { x } = view.plots[0];
    if (from !== null && to !== null && Math.abs(x(to) - x(from)) > 8) {
      view.zoom = [Math.min(from, to), Math.max(from, to)];
    }
    view.from = null;
    view.redraw();
  };
  canvas.ondblclick = () => setZoom(view, null);
}

function setCursor(view, cursor) {
  view.cursor = cursor;
  view.redraw();
}

function valueUnder({ parts, plots }, event) {
  const [x, y] = spot(event, parts.canvas);
  const plot = plots.find(({ left, right, top, bottom }) => {
    return x >= left - 4 && x <= right + 4 && y >= top - 20 && y <= bottom + 20;
  });
  return plot ? plot.value(x) : null;
}

function inMain({ parts, plots: [plot] }, event) {
  const [x, y] = spot(event, parts.canvas);
  if (y < plot.top - 10 || y > plot.bottom + 20) return null;
  return plot.value(Math.min(plot.right, Math.max(plot.left, x)));
}

function onKey(view, event) {
  const [low, high] = view.plots[0].range;
  if (event.key === "Escape") {
    view.parts.canvas.blur();
    return setCursor(view, null);
  }
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || withModifier(event)) return;
  take(event);
  if (event.key === "Home") return setCursor(view, low);
  if (event.key === "End") return setCursor(view, high);
  const by = ((event.key === "ArrowLeft" ? -1 : 1) * (high - low)) / 100;
  setCursor(view, Math.min(high, Math.max(low, (view.cursor ?? high) + by)));
}
