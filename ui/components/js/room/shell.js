// What stands round everything that a room shows on a phone: its code, whether it is connected, what is kept.
import { part } from "#view/elements.js";
import { send } from "./api.js";
import { keptSaid } from "./words.js";

const COOKIE =
  "No address and nothing about this device is stored with them. One cookie tells this browser from the others, so " +
  "that it has one answer to each question.";
const LOST = "No connection: trying again";

// room: {main, code}; its parts are made here once.
export function buildShell(room) {
  const section = (className) => part("section", { className, hidden: true });
  const parts = {
    link: part("span", { className: "link", role: "status" }),
    kept: part("div", { className: "kept", id: "kept", hidden: true }),
    notice: part("p", { className: "notice", role: "status", hidden: true }),
    task: section("task"),
    calm: section("calm"),
    question: section("asks"),
    view: section("view"),
    live: part("p", { className: "unseen", ariaLive: "polite" }),
  };
  const code = part(
    "h1",
    { className: "code" },
    part("span", { className: "unseen", textContent: "Room " }),
    room.code,
  );
  parts.about = part("button", { type: "button", className: "about", ariaLabel: "What is kept" });
  parts.about.setAttribute("aria-controls", "kept");
  parts.about.onclick = () => openKept(room, parts.kept.hidden);
  room.parts = parts;
  buildKept(room);
  openKept(room, false);
  const { link, about, kept, notice, task, calm, question, view, live } = parts;
  const top = part("header", { className: "top" }, code, link, about);
  room.main.replaceChildren(top, kept, notice, task, calm, question, view, live);
}

export function openKept({ parts }, open) {
  parts.kept.hidden = !open;
  parts.about.setAttribute("aria-expanded", String(open));
}

function buildKept(room) {
  const { kept } = room.parts;
  const words = part("p", { className: "words" });
  const said = part("p", { role: "status" });
  const button = part("button", { type: "button", textContent: "Delete mine now" });
  button.onclick = async () => {
    button.disabled = true;
    said.textContent = "";
    try {
      await send(room.code, "forget");
      room.forgotten();
      said.textContent = "Deleted: everything that this browser has answered and handed in.";
    } catch {
      said.textContent = "Nothing was deleted, because the server did not answer. Try again.";
    }
    button.disabled = false;
  };
  kept.append(words, part("p", { textContent: COOKIE }), button, said);
}

export function showShell({ parts, state, mine, lost, ended, refused }) {
  parts.link.hidden = Boolean(ended || refused);
  parts.link.classList.toggle("lost", lost);
  const words = lost ? LOST : state ? "Connected" : "Connecting …";
  if (parts.link.textContent !== words) parts.link.textContent = words;
  parts.link.classList.toggle("calmly", !lost && Boolean(state));
  if (state) parts.kept.querySelector(".words").textContent = keptSaid(state.ends, mine?.number);
}
