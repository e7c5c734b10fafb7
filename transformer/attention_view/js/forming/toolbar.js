// The choosers over attention as it forms.
import { chooser, counted, part, rebuilt, segments } from "#view/elements.js";
import { change, go, play, release } from "#view/forming/move.js";
import { formingEntries, save } from "#view/forming/save.js";
import { sizesOf } from "#view/forming/snapshots.js";
import { kindName } from "#view/names.js";

export function toolbar(view) {
  const { selection, parts } = view;
  const [layers, heads] = sizesOf(view);
  rebuilt(parts.bar, [
    kinds(view),
    sentences(view),
    chooser("Layer", counted(layers), selection.layer, (layer) => change(view, { layer: Number(layer) })),
    chooser("Head", counted(heads), selection.head, (head) => change(view, { head: Number(head) })),
    playing(view),
    following(view),
    files(view),
  ]);
}

function kinds(view) {
  const names = Object.keys(view.message.heads).map((kind) => [kind, kindName(kind)]);
  return names.length > 1 && segments("Attention", names, view.selection.kind, (kind) => change(view, { kind }));
}

function sentences(view) {
  const names = view.message.sentences.map(({ label }, i) => [i + 1, `${i + 1} · ${label}`]);
  const pick = (sentence) => change(view, { sentence: Number(sentence) });
  return names.length > 1 && chooser("Sentence", names, view.selection.sentence, pick);
}

function playing(view) {
  view.playButton ??= part("button", { className: "play", title: "P", onclick: () => play(view) });
  view.playButton.textContent = view.playing ? "❚❚ Pause" : "▶ Play";
  return view.playButton;
}

function following(view) {
  if (!view.message.live) return null;
  const onclick = () => {
    play(view, false);
    go(view, view.message.steps.length - 1);
    release(view);
  };
  view.follow = part("button", { textContent: "Follow newest", onclick, ariaPressed: view.selection.step === null });
  return view.follow;
}

function files(view) {
  const pick = (kind) => {
    if (kind) save(view, kind);
    toolbar(view);
  };
  return chooser("Save", [["", "as …"], ...formingEntries(view, () => toolbar(view))], "", pick);
}
