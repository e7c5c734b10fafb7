// The choosers over the picture, and what is about the picture alone under it.
import { chooser, counted, part, rebuilt, segments } from "#view/elements.js";
import { kindName, rollsOut } from "#view/names.js";
import { STAGES } from "#view/stages.js";
import { change, infoOf, inLines } from "#view/view/look.js";
import { fileEntries, save } from "#view/view/save.js";

export function toolbar(view) {
  const matrix = !inLines(view);
  const all = !view.large;
  rebuilt(view.parts.bar, [
    kinds(view),
    all && views(view),
    layers(view),
    matrix && heads(view),
    all && matrix && means(view),
    all && matrix && stages(view),
  ]);
  rebuilt(view.parts.tools, [
    view.parts.legend,
    all && matrix && !["scores", "masked"].includes(view.look.stage) && colours(view),
    all && matrix && zooming(view),
    all && files(view),
  ]);
}

function kinds(view) {
  const names = Object.keys(view.message.kinds).map((kind) => [kind, kindName(kind)]);
  return names.length > 1 && segments("Attention", names, view.look.kind, (kind) => change(view, { kind }));
}

function views(view) {
  const names = [
    ["matrix", "Matrix"],
    ["lines", "Lines"],
  ];
  return segments("View", names, view.look.view, (name) => change(view, { view: name }));
}

function layers(view) {
  const { layers: count, numbers } = infoOf(view);
  const pick = (layer) => change(view, { layer: Number(layer) });
  return chooser("Layer", counted(count, numbers?.layers), view.look.layer, pick);
}

function heads(view) {
  const { heads: count, numbers } = infoOf(view);
  const pick = (head) => change(view, { head: Number(head), of: "head" });
  return chooser("Head", counted(count, numbers?.heads), view.look.head, pick);
}

function means(view) {
  const names = [
    ["head", "this head"],
    ["mean_heads", "mean over heads"],
    ["mean_all", "mean over layers"],
  ];
  if (rollsOut(view.look.kind, infoOf(view))) names.push(["rollout", "rollout"]);
  return chooser("Of", names, view.look.of, (of) => change(view, { of }));
}

function stages(view) {
  const names = Object.entries(STAGES).map(([name, words]) => {
    const here = name === "weights" || view.look.of === "head";
    return here ? [name, words] : [name, `${words}: of a single head only`, true];
  });
  return chooser("Stage", names, view.look.stage, (stage) => change(view, { stage }));
}

function colours(view) {
  const names = [
    ["sqrt", "square root"],
    ["linear", "linear"],
  ];
  return chooser("Colours", names, view.look.scale, (scale) => change(view, { scale }));
}

function zooming(view) {
  const button = (textContent, ariaLabel, by) => {
    const onclick = () => {
      view.zoom = Math.min(40, Math.max(1, view.zoom * by));
      view.redraw();
    };
    return part("button", { textContent, ariaLabel, onclick });
  };
  return part("span", { className: "zoom" }, button("−", "smaller cells", 1 / 1.5), button("+", "larger cells", 1.5));
}

function files(view) {
  const pick = (kind) => {
    if (kind) save(view, kind);
    toolbar(view);
  };
  return chooser("Save", [["", "as …"], ...fileEntries(view)], "", pick);
}
