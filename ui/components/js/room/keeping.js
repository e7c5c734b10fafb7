// What a lecturer does with all of a room: who may come in, what is taken home, and the end.
import { part } from "#view/elements.js";
import { addressOf } from "./api.js";
import { button, named } from "./parts.js";

export function keepingPart(desk) {
  const { state, act, code } = desk;
  const file = (name, textContent) =>
    named(part("a", { href: addressOf(code, name), download: "", textContent }), name);
  const lock = button(state.locked ? "Unlock the room" : "Lock the room", () => act("lock", { on: !state.locked }));
  const leave = button("Stop controlling it here", leaveHere, {
    title: "This browser forgets the key; the room goes on",
  });
  return part(
    "div",
    { className: "line keeping" },
    named(lock, "lock"),
    named(
      button("Keep it longer", () => act("extend")),
      "extend",
    ),
    file("answers.csv", "Answers (CSV)"),
    file("lesson.md", "Questions as a lesson"),
    named(leave, "leave"),
    named(ending(desk), "end"),
  );
}

function ending(desk) {
  const words = desk.sureToEnd ? "End it and delete every answer: press again" : "End the room";
  return button(words, async () => {
    if (desk.sureToEnd) {
      await desk.act("end");
      window.location.reload();
    } else {
      desk.sureToEnd = true;
      desk.draw();
    }
  });
}

async function leaveHere() {
  await fetch(new URL("./lead", document.baseURI), { method: "POST", body: JSON.stringify({ leave: true }) });
  window.location.reload();
}
