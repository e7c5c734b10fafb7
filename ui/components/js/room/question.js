import { part } from "#view/elements.js";
export function drawQuestion(root, state) { root.replaceChildren(part("pre", { textContent: JSON.stringify(state.question, null, 1) })); }
