// What the scripts of a page share. Each component is a script of its own, with a scope of its own, so this is one
// object on the window, made by whichever comes first:
//   figures     Set of {root, files()}: pictures that can be saved
//   terms       name -> sentence: the terms that a page explains
//   keys, levels, lesson, room, forming, shell   AbortControllers of the one that listens now; `view` is what it
//               listens for
//   leaving     whether somebody is on the way to another page (shell.js); a component says nothing then
//   foot, history, roomState, scheme, tab   see foot.js, shell.js and room/room_bar.js
// and an event emitter: `on` and `emit`.
export const app = () =>
  (window.headsUpViews ??= { figures: new Set(), terms: Object.create(null), events: new EventTarget() });

// Calls `listener` with the detail of each such event, until `signal` is aborted.
export const on = (name, listener, signal) =>
  app().events.addEventListener(name, ({ detail }) => listener(detail), { signal });

export const emit = (name, detail) => app().events.dispatchEvent(new CustomEvent(name, { detail }));

// Ends what listens under this name and gives the AbortController of its successor.
export function takeOver(name) {
  app()[name]?.abort();
  return (app()[name] = new AbortController());
}
