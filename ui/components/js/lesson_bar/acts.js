// What a visitor does in a lesson. What is sent adds up, so nothing is lost where Python is slower than the presses.
import { remember } from "./stored.js";

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
