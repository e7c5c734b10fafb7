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
    title: "This browser forgets the key; the room continues",
  });
  return part(
    "div",
    { className: "line keeping" },
    named(lock, "lock"),
    ...(state.devices.length ? [named(outNew(desk), "out new")] : []),
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

// One laptop may be hundreds of phones.
function outNew(desk) {
  return pressedTwice(
    desk,
    "out new",
    "Remove all new phones",
    "Remove everyone who joined in the last minute, and lock: press again",
  );
}

function ending(desk) {
  return pressedTwice(desk, "end", "End the room", "End it and delete every answer: press again", () =>
    window.location.reload(),
  );
}

// A button that does nothing before it is pressed a second time.
function pressedTwice(desk, deed, words, again, after = () => {}) {
  return button(desk.sure === deed ? again : words, async () => {
    if (desk.sure === deed) {
      desk.sure = null;
      await desk.act(deed);
      after();
    } else {
      desk.sure = deed;
      desk.draw();
    }
  });
}

async function leaveHere() {
  await fetch(new URL("./lead", document.baseURI), { method: "POST", body: JSON.stringify({ leave: true }) });
  window.location.reload();
}
