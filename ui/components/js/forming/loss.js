// The loss of a training beside its heads, how much of held-out text is right, and what has become of heads: marks on
// the curve and a list, of which each leads to its step and its head.
import { part } from "#view/page/elements.js";
import { chartIn, drawChart, lookAt, zoomTo } from "../curves/chart.js";
import { Column } from "../curves/points.js";
import { SMOOTH } from "../curves/smoothing.js";
import { PANELS, guidesOf, has, lossLines, marksOf, hasPoints, panelLines, runsOf } from "../curves/runs.js";

const ACCURACY = 96; // px
const LOW = 430; // px of the whole pane; below that there is no room for it
const [RIGHT] = PANELS;
let made = 0;

// onPoint: called with a step that is clicked; onMark: with an event.
export function lossChart(view, { onPoint, onMark }) {
  const loss = { onMark };
  view.parts.accuracy.ariaLabel = RIGHT.title;
  const shared = {
    ...{ sync: `training-${made++}`, onPoint, onMark },
    onZoom: (zoom) => [loss.chart, loss.right].forEach((chart) => zoomTo(chart, zoom)),
    onCursor: (value, mark) => {
      view.parts.loss.title = mark?.words ?? "";
    },
  };
  return Object.assign(loss, { chart: chartIn(view.parts.loss, shared), right: chartIn(view.parts.accuracy, shared) });
}

export function drawLoss(view, step) {
  const { loss, parts, theme, message } = view;
  const runs = pointsOf(view);
  const shared = { axis: "step", theme, logAcross: false };
  const right = runs.some((run) => has(run, RIGHT)) && parts.screen.clientHeight > LOW;
  parts.accuracy.hidden = !right;
  drawEvents(view, runs);
  markReached(view.parts.events, step);
  const lines = lossLines(runs, { axis: "step", smooth: SMOOTH });
  const { clientWidth: width, clientHeight: height } = parts.loss;
  if (width && height) {
    const guides = lines.length ? guidesOf(message.curves ?? { guessing: [], reference: null }) : [];
    drawChart(loss.chart, { ...shared, lines, guides, marks: marksOf(runs, "step") }, [width, height]);
    lookAt(loss.chart, step);
  }
  if (!right || !width) return;
  drawChart(loss.right, { ...shared, lines: panelLines(runs, RIGHT, { axis: "step" }), small: true }, [
    width,
    ACCURACY,
  ]);
  lookAt(loss.right, step);
}

// The runs whose points have come; of a checkpoint without metrics, the losses that stand beside its attention.
function pointsOf({ points, message, theme }) {
  if (message.curves) return runsOf({ header: message.curves, store: points }).filter(hasPoints);
  const { training = [], validation = [] } = message;
  const columns = (rows, name) => ({ step: column(rows, 0), [name]: column(rows, 1) });
  const run = { name: message.name, colour: theme.bar, smoothed: new Map(), steps: validation.at(-1)?.[0] };
  return [{ ...run, train: columns(training, "loss"), held_out: columns(validation, "validation_loss") }].filter(
    hasPoints,
  );
}

function column(rows, place) {
  const one = new Column();
  one.put(
    0,
    Float32Array.from(rows, (row) => row[place]),
  );
  return one;
}

function drawEvents(view, runs) {
  const { events } = view.parts;
  const marks = runs.flatMap((run) => (run.marks ?? []).map((mark) => ({ ...mark, run: run.name })));
  const id = JSON.stringify(marks);
  if (id === events.dataset.id) return;
  events.dataset.id = id;
  delete events.dataset.at;
  events.hidden = !marks.length;
  const several = runs.length > 1;
  const buttons = marks.map((mark) => {
    const words = part("span", { textContent: mark.words });
    const button = part(
      "button",
      { onclick: () => view.loss.onMark(mark), className: mark.alert ? "alert" : "" },
      words,
    );
    if (several) button.prepend(part("b", { textContent: `${mark.run} ` }));
    button.dataset.step = mark.step;
    return part("li", {}, button);
  });
  events.replaceChildren(part("ul", { ariaLabel: "Events" }, ...buttons));
}

// The newest events up to a step, which stay in sight while one moves through the steps.
function markReached(events, step) {
  const at = [step, events.clientWidth, events.clientHeight].join();
  if (step === null || events.dataset.at === at) return;
  events.dataset.at = at;
  const buttons = [...events.querySelectorAll("button")];
  const reached = buttons.findLast((button) => Number(button.dataset.step) <= step);
  for (const button of buttons) {
    const newest = reached && button.dataset.step === reached.dataset.step;
    if (newest) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  if (events.matches(":hover, :focus-within")) return;
  const low = reached ? reached.offsetTop + reached.offsetHeight : 0;
  events.scrollTop = Math.max(0, low - events.clientHeight);
}
