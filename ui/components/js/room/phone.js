// The page of a phone: the way in, or a room.
import PHONE from "./phone.css";
import QUESTION from "./question.css";
import { dress } from "#view/elements.js";
import { showJoin } from "./join.js";
import { enterRoom } from "./phone_room.js";

const main = document.querySelector("main");
dress(main, PHONE, QUESTION);
const [, code] = /\/r\/([^/]+)$/.exec(window.location.pathname) ?? [];
if (code) enterRoom(main, decodeURIComponent(code).toUpperCase());
else showJoin(main);
