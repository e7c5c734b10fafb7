// All of a room on the lecturer's page: what was handed in, texts to let through, the phones, and what to take home.
import QUESTION from "../question/question.css";
import STYLE from "./room_bar.css";
import { dress, part } from "#view/page/elements.js";
import { follow, readJson } from "../connection.js";
import { newDesk } from "./controls.js";
import { ENDED_HERE, sentence } from "../texts.js";

export default function component({ data, parentElement }) {
  const root = parentElement.querySelector(".room-bar");
  dress(root, QUESTION, STYLE);
  if (root.code === data.code) return;
  root.code = data.code;
  mountDesk(root, data.code, ["keeping", "question", "people"]);
}

export function mountDesk(root, code, parts) {
  root.stop?.abort();
  root.stop = new AbortController();
  const desk = newDesk(part("div", { className: "desk whole" }), code, parts, { whole: true });
  root.replaceChildren(desk.root);
  follow(code, {
    name: "lead",
    query: (state) => ({ rev: state?.rev ?? 0, tally: state?.tally ?? "" }),
    read: readJson,
    handlers: {
      state: (state) => {
        desk.state = state;
        if (root.isConnected) desk.draw();
        else root.stop.abort();
      },
      lost: () => root.classList.add("lost"),
      refused: (why, status) => {
        if (status === 404) root.replaceChildren(...goneParts());
        else root.replaceChildren(part("p", { textContent: sentence(why) }));
      },
    },
    signal: root.stop.signal,
  });
}

// A room that is no more, and the way back.
export function goneParts(words = ENDED_HERE) {
  const back = part("a", { className: "gone", href: "./room", target: "_self", textContent: "Open another room" });
  return [part("p", { className: "gone", role: "status", textContent: words }), back];
}
