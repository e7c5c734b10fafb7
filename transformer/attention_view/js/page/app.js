/**
 * What the scripts of a page share. Each component is a script of its own, with a scope of its own, so this is one
 * object on the window, made by whichever comes first. `on` and `emit` are its event emitter.
 * @typedef {object} App
 * @property {EventTarget} events
 * @property {Set<{root: HTMLElement, files: () => any}>} figures pictures that can be saved
 * @property {Record<string, string>} terms the terms that a page explains
 * @property {Listener} [keys] of the one that listens now, and of those below
 * @property {Listener} [levels]
 * @property {Listener} [lesson]
 * @property {Listener} [room]
 * @property {Listener} [forming]
 * @property {Listener} [shell]
 * @property {() => boolean} [leaving] whether somebody is on the way to another page; components say nothing then
 * @property {any} [foot] see foot.js
 * @property {any} [history] see shell.js
 * @property {any} [scheme] see shell.js
 * @property {any} [tab] see shell.js
 * @property {any} [roomState] see room/bar/room_bar.js
 * @property {any} [measured] see shell.js
 * @property {any} [namedKeys] see shell.js
 *
 * `view` is what it listens for.
 * @typedef {AbortController & {view?: any}} Listener
 */

/** @returns {App} */
export const app = () =>
  (window.headsUpViews ??= { figures: new Set(), terms: Object.create(null), events: new EventTarget() });

// Calls `listener` with the detail of each such event, until `signal` is aborted.
export const on = (name, listener, signal) =>
  app().events.addEventListener(name, (event) => listener(/** @type {CustomEvent} */ (event).detail), { signal });

export const emit = (name, detail) => app().events.dispatchEvent(new CustomEvent(name, { detail }));

// Ends what listens under this name and gives the AbortController of its successor.
/** @param {"keys" | "levels" | "lesson" | "room" | "forming" | "shell"} name */
export function takeOver(name) {
  app()[name]?.abort();
  /** @type {Listener} */
  const listener = new AbortController();
  app()[name] = listener;
  return listener;
}
