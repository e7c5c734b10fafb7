// Attention as it forms: every snapshot of a pinned sentence is here, and moving through them asks nobody. One object,
// `view`, made once for an element, holds its parts, the snapshots, what is looked at and what the pointer is on.
import { prefersDark, themeOf } from "#view/colours.js";
import { redrawWhenMoved } from "#view/elements.js";
import { unpack } from "#view/message.js";
import { build } from "#view/forming/build.js";
import { draw } from "#view/forming/draw.js";
import { listenToKeys } from "#view/forming/keys.js";
import { lookWords, release, soon } from "#view/forming/move.js";
import { listenToPointer } from "#view/forming/pointer.js";
import { keepSnapshots, missing } from "#view/forming/snapshots.js";
import { toolbar } from "#view/forming/toolbar.js";

export function mountForming(root, data, send) {
  const message = unpack(data);
  const view = (root.view ??= newView(root, message));
  view.send = send;
  receive(view, message);
  redrawWhenMoved(root);
  view.told ??= lookWords(view);
  toolbar(view);
  draw(view);
  if (missing(view) && message.answered >= view.sent) release(view, true); // a message was lost, or this is a new page
}

function newView(root, message) {
  const view = { root, parts: build(root), sent: message.answered, at: null, cursor: null, over: null };
  view.redraw = root.redraw = () => draw(view);
  view.soon = () => soon(view);
  view.rebuild = () => toolbar(view);
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

function receive(view, message) {
  keepSnapshots(view, message);
  if (!view.message || message.given !== view.message.given) {
    Object.assign(view, { selection: { ...message.selection }, told: undefined });
  }
  view.message = message;
  view.theme = themeOf(message.dark ?? prefersDark());
  const ends = [message.training, message.validation].map((curve) => curve.at(-1)?.[0] ?? 0);
  view.last = Math.max(message.steps.at(-1), ...ends);
}
