// The whole model, small, beside the step view of its page: it draws what that was sent last. The picture is fetched
// when the card comes into sight, and leads to the large one.
import STYLE from "./model_card.css";
import { STEP_SHOWN, app, on, takeOver } from "#view/app.js";
import { prefersDark, themeOf } from "#view/colours.js";
import { dress, part, redrawWhenMoved } from "#view/elements.js";
import { keySelector } from "#view/streamlit.js";

// data: {leads, words, label}: the key of the link that leads to the large picture, and what is said of this one.
export default function component({ data, parentElement }) {
  const root = parentElement.querySelector(".model-card");
  dress(root, STYLE);
  const card = (root.card ??= newCard(root));
  card.data = data;
  card.words.textContent = data.words;
  card.way.textContent = data.label;
  const { signal } = takeOver("card");
  on(STEP_SHOWN, () => draw(card), signal);
  redrawWhenMoved(root);
  draw(card);
}

function newCard(root) {
  const card = { root, show: null };
  card.room = part("div", { className: "place", onclick: () => card.way.click() });
  card.words = part("p");
  card.way = part("a", { onclick: (event) => follow(card, event) });
  const lead = () => {
    card.way.href = linkOf(card)?.href ?? "translate?view=model"; // of the step that is shown now
  };
  card.way.onfocus = card.way.onpointerenter = lead;
  root.replaceChildren(card.room, card.words, card.way);
  root.redraw = () => draw(card);
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    import("#view/model/model_view.js").then(({ showModel }) => {
      card.show = showModel;
      draw(card);
    });
  });
  seen.observe(root);
  return card;
}

const linkOf = ({ data }) => document.querySelector(`${keySelector(data.leads)} a`);

// The page has a link of its own, which goes there without loading all anew.
function follow(card, event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  linkOf(card)?.click();
}

function draw(card) {
  const message = app().shown;
  const { root, show, room } = card;
  card.way.href = linkOf(card)?.href ?? "translate?view=model";
  if (!message?.model || !show || !root.isConnected) return;
  const view = (card.view ??= { root: room, parts: { main: room, live: part("output") }, still: true });
  room.classList.add("attention-view", "modelled", "boxed"); // it fills the box that it is given
  view.message = message;
  view.selection = { ...message.selection, view: "model", level: "whole" };
  view.theme = themeOf(message.dark ?? prefersDark(), false);
  show(view);
}
