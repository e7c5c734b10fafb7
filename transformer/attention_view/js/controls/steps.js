// Where the presses add up to, and playing.
const STEP = "Step (right arrow)";
const LAST = "Last step (End)";
const STOP = "Stop here (left arrow)";

// Controls that take the place of others of the same decoding go on with what those have asked for, if it is under way.
export function beginSteps(view, data, before) {
  const { answered, index, page, decoding } = data;
  const goesOn = before && before.data.page === page && before.decoding === decoding && before.sent > answered;
  const { sent, target, choices } = goesOn ? before : { sent: answered, target: index, choices: [] };
  Object.assign(view, { sent, target, choices, decoding, from: index, playing: false, timer: 0 });
}

export function receiveSteps(view, data) {
  view.data = data;
  view.last = data.last; // null until the end of the text has been found
  if (view.decoding === data.decoding) view.from = data.index;
  else {
    // another text: what is still under way counts from where it opens
    const moved = data.index - view.from;
    view.target += moved;
    for (const choice of view.choices) choice.at += moved;
    Object.assign(view, { decoding: data.decoding, from: data.index });
  }
  view.choices = view.choices.filter((choice) => choice.number > data.answered);
  if (view.choices.length) view.last = null;
  if (data.answered >= view.sent) view.target = data.index; // nothing is under way: where Python says we are
  if (view.playing && atEnd(view)) play(view, false);
}

// Python is still on its way to where a press has sent it, and shows how far it has come
const going = ({ data, sent }) => Boolean(data.going) && data.answered < sent;

export const atStart = ({ target }) => target <= 0;
export const atEnd = ({ last, target }) => last !== null && target >= last;

export function showSteps(view) {
  const { parts, data, last, target, playing } = view;
  const endless = last === null && target > data.index + data.farthest && data.farthest > 0; // nobody knows the end yet
  // a press shows at once; while it plays, the number keeps to the picture
  const at = playing ? data.index : endless ? `${data.index} …` : target;
  parts.word.textContent = "step ";
  parts.number.textContent = last === null ? `${at}` : `${at} of ${last}`;
  const far = `: to the end of the text, at most ${data.farthest} steps further`;
  const stops = going(view);
  parts.last.dataset.does = stops ? "stop" : "go";
  parts.last.setAttribute("aria-label", stops ? STOP : LAST);
  parts.last.title = stops ? STOP : `${LAST}${last === null ? far : ""}`;
  parts.first.disabled = parts.back.disabled = atStart(view);
  parts.last.disabled = atEnd(view);
  const again = atEnd(view) && target > 0;
  parts.step.disabled = atEnd(view) && !again;
  parts.step.dataset.does = again ? "again" : "step";
  parts.step.setAttribute("aria-label", again ? "Replay from the start" : STEP);
  parts.step.title = again ? "Replay from the start" : STEP;
  parts.play.title = playing ? "Pause (P)" : "Play (P)";
  parts.play.setAttribute("aria-label", parts.play.title);
  parts.play.setAttribute("aria-pressed", playing);
}

function sendMove(view) {
  view.sent += 1;
  const { target, sent, decoding, from, choices } = view;
  view.send({ index: target, number: sent, decoding, from, choices: [...choices] });
  showSteps(view);
}

function go(view, to) {
  const target = Math.max(0, view.last === null ? to : Math.min(to, view.last));
  if (target === view.target) return;
  view.target = target;
  sendMove(view);
}

// The nth candidate where we are: 0 is the likeliest.
export function chooseCandidate(view, nth) {
  play(view, false);
  if (going(view)) view.target = view.data.index; // among those that are seen
  view.choices.push({ number: view.sent + 1, at: view.target, nth });
  view.target += 1;
  view.last = null; // the text may now go on
  sendMove(view);
}

// From the first step to the last by itself.
function replay(view) {
  go(view, 0);
  play(view, true);
}

const ACTIONS = {
  first: (view) => go(view, 0),
  back: (view) => go(view, view.target - 1),
  step: (view) => go(view, view.target + 1),
  last: (view) => go(view, 1e6),
  end: (view) => go(view, going(view) ? view.data.index : 1e6),
  play: (view) => (atEnd(view) && view.target > 0 ? replay(view) : play(view, !view.playing)),
  main: (view) => (atEnd(view) ? replay(view) : go(view, view.target + 1)),
};

// On the way, every press but those of either end stops at what is seen.
export function act(view, name) {
  if (going(view) && name !== "first" && name !== "last") return go(view, view.data.index);
  if (name !== "play") play(view, false);
  ACTIONS[name](view);
}

function play(view, on) {
  clearTimeout(view.timer);
  view.playing = on;
  if (on) tickLater(view);
  showSteps(view);
}

function tickLater(view) {
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    if (!view.root.isConnected) return;
    if (atEnd(view)) return play(view, false);
    if (view.data.answered >= view.sent) go(view, view.target + 1); // else the last step is still being drawn
    if (view.playing) tickLater(view);
  }, 1000 / view.parts.speed.valueAsNumber);
}
