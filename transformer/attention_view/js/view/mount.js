// The attention view: one object, `view`, made once for an element, that holds its parts, what it was last sent
// (`message`), what is looked at (`look`) and what the pointer is on. `send` tells Python, where there is one.
import { redrawWhenMoved } from "#view/elements.js";
import { prefersDark, themeOf } from "#view/colours.js";
import { sameBytes, unpack } from "#view/message.js";
import { build } from "#view/view/build.js";
import { draw } from "#view/view/draw.js";
import { infoOf } from "#view/view/look.js";
import { listenToKeys } from "#view/view/keys.js";
import { listenToPointer } from "#view/view/pointer.js";
import { topOf } from "#view/view/sizes.js";
import { pooled } from "#view/weights.js";

export function mount(root, data, send) {
  const message = unpack(data);
  pooled(message);
  const view = (root.view ??= newView(root, message));
  view.send = send;
  receive(view, message);
  redrawWhenMoved(root, () => (view.large ? topOf(view) : 0));
  draw(view);
}

function newView(root, message) {
  const view = { root, parts: build(root), sent: message.answered ?? 0, cursor: null, at: null, hover: null, zoom: 1 };
  view.redraw = root.redraw = () => draw(view);
  listenToPointer(view);
  listenToKeys(view);
  return view;
}

function receive(view, message) {
  if (!view.message || (message.answered ?? 0) >= view.sent) view.look = { ...message.look };
  for (const [name, array] of Object.entries(message.arrays)) {
    // what has not changed need not be painted again
    const before = view.message?.arrays[name];
    if (name.startsWith("grid/") && sameBytes(array, before)) message.arrays[name] = before;
  }
  view.message = message;
  view.large = Boolean(message.large); // for a projector: what is left out there is set beforehand
  view.root.classList.toggle("large", view.large);
  view.theme = themeOf(message.dark ?? prefersDark(), view.large);
  const { queries, keys } = infoOf(view);
  const [query, key] = view.cursor ?? [0, 0];
  if (query >= queries.length || key >= keys.length) view.cursor = null;
}
