// A lecturer's phone: the key that its link carries becomes a cookie, and then it leads the room from there.
import PAGE from "./remote.css";
import QUESTION from "../question/question.css";
import STYLE from "../lecturer/room_bar.css";
import { dress, part } from "#view/page/elements.js";
import { goneParts, mountDesk } from "../lecturer/page.js";
import { sentence } from "../texts.js";

const PARTS = ["remote", "room", "question", "people", "keeping"];
const DESK = new URLSearchParams(window.location.search).has("desk");

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
dress(main, QUESTION, STYLE, PAGE);
enter();

// What follows the # is never sent by the browser, and is gone from the bar before it is used.
async function enter() {
  const key = window.location.hash.slice(1);
  if (key) window.history.replaceState(null, "", window.location.pathname + window.location.search);
  try {
    const body = JSON.stringify(key ? { key } : {});
    const answer = await fetch("./lead", { method: "POST", body });
    const found = await answer.json();
    if (answer.status === 404 && !key) return main.replaceChildren(title(), ...goneParts());
    if (!answer.ok) throw new Error(sentence(found.error));
    if (DESK) window.location.replace("./room");
    else show(found.code);
  } catch (error) {
    main.replaceChildren(title(), ...goneParts(/** @type {Error} */ (error).message));
  }
}

const title = (code) => part("h1", { textContent: code ? `Remote of room ${code}` : "Remote" });

function show(code) {
  const root = part("div", { className: "room-bar lecturer page" });
  main.replaceChildren(title(code), root);
  mountDesk(root, code, PARTS);
}
