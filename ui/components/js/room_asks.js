// What the room that this tab leads is doing, as the bar of a room says it and that of a lesson hears it: null where
// there is none, else "shows" or "asks".
const SAID = "headsup-room";

export const whatRoomDoes = () => window.headsUpRoomDoes ?? null;

export function sayWhatRoomDoes(what) {
  if (whatRoomDoes() === what) return;
  window.headsUpRoomDoes = what;
  window.dispatchEvent(new Event(SAID));
}

export const hearRoom = (act, signal) => window.addEventListener(SAID, act, { signal });
