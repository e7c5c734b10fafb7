// The lecturer's view on a phone, with the way to look around from there, and what there is to look for.
import { part } from "#view/elements.js";
import { base } from "./api.js";
import { remember } from "./memory.js";
import { newPicture, redrawPicture, showPicture } from "./view.js";

const HOME = { page: "home", params: {} };
export const NOT_YET = "The lecturer has not shown anything yet.";

export function showView(room) {
  const { parts, state } = room;
  const { view, mode, drawing, held, picture } = state;
  room.viewing ??= buildView(parts.view, room);
  const { title, place, free, words, look, root } = room.viewing;
  const away = !view || view.page === "room"; // nothing is shown that can be opened
  title.hidden = away;
  title.replaceChildren(away ? "" : view.title, " ", place);
  place.textContent = (!away && view.place) || "";
  free.hidden = mode !== "free" || Boolean(state.task);
  look.hidden = away && !state.task;
  look.href = addressOfView(room.code, away ? HOME : view);
  const drawn = view && drawing && held === picture;
  root.hidden = !drawn;
  words.hidden = Boolean(drawn || (away && state.task));
  words.textContent = !away
    ? `The lecturer shows ${view.title}. Look at the wall, or look around. ${view.said}`.trim()
    : NOT_YET;
  if (drawn) showPicture(room.viewing.picture, drawing);
}

function buildView(section, room) {
  const made = {
    title: part("h2"),
    place: part("span", { className: "place" }),
    free: part("p", { className: "free", textContent: "Look around on your own; the lecturer will call you back." }),
    words: part("p", { className: "words" }),
    look: part("a", { className: "look", textContent: "Look around" }),
    root: part("div", { className: "picture-of-view" }),
  };
  made.look.title = "Open this exact view in the app";
  made.look.onclick = () => remember(room, "away");
  section.append(part("div", { className: "heading" }, made.title, made.look), made.free, made.words, made.root);
  made.picture = newPicture(made.root);
  let width = 0;
  new ResizeObserver(() => {
    if (made.root.clientWidth === width) return;
    width = made.root.clientWidth;
    redrawPicture(made.picture);
  }).observe(made.root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redrawPicture(made.picture));
  return made;
}

function addressOfView(code, { page, params }) {
  const search = new URLSearchParams({ ...params, room: code });
  return new URL(`${base()}${page === "home" ? "" : page}?${search}`, document.baseURI).href;
}

export function showTask({ parts, state }) {
  const textContent = "Look around, then press “Show the lecturer” on the page you found.";
  const how = part("p", { textContent });
  parts.task.replaceChildren(
    part("h2", { textContent: "Task" }),
    part("p", { className: "words", textContent: state.task }),
    how,
  );
}
