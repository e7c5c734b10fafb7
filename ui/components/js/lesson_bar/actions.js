// The actions of a visitor in a lesson. Requests are cumulative, so none is lost if Python is slower than the presses.

export function goTo(view, to) {
  const target = Math.max(0, Math.min(to, view.data.count));
  if (target === view.target) return;
  view.target = target;
  if (view.data.guided && target === view.data.count) remember("done");
  sendAct(view);
}

export function answerWith(view, value) {
  view.answers[view.data.at] = value;
  sendAct(view);
}

export function leaveLesson(view) {
  sendAct(view, true);
}

function sendAct(view, leave = false) {
  view.number = view.sent = Math.max(view.number, view.data.served) + 1;
  const { number, lesson, target: to, answers } = view;
  view.setState("act", { number, lesson, to, leave, answers: { ...answers } });
}

// The progress of this browser's visitor on the tour: a stop, "done" or "refused".

const STORED = "headsup-tour";

export function remember(what) {
  try {
    localStorage.setItem(STORED, what);
  } catch {
    /* this browser has no storage */
  }
}

export function remembered() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}
