// What the room that this tab leads is doing, as the bar of a room says it and that of a lesson hears it: null where
// there is none, else "shows" or "asks".
import { app, emit, on } from "#view/app.js";
const SAID = "room state";

export const whatRoomDoes = () => app().roomState ?? null;

export function sayWhatRoomDoes(what) {
  if (whatRoomDoes() === what) return;
  app().roomState = what;
  emit(SAID);
}

export const hearRoom = (act, signal) => on(SAID, act, signal);
