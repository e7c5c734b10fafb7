// Heads that are switched in their maps, one click after another, whenever the answers come.
import "./dom.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import showMaps from "../../ui/components/js/figures/head_maps.js";

const HEADS = 3;

function mounted() {
  const [root, parentElement] = [document.createElement("div"), document.createElement("div")];
  root.className = "head-maps";
  document.body.replaceChildren(parentElement);
  parentElement.append(root);
  const sent = [];
  const scale = { low: "", high: "", marks: [], diverging: false };
  const map = { caption: "", shades: [Array(HEADS).fill(0)], texts: [Array(HEADS).fill("")] };
  const card = { name: "switch", kind: "cross", title: "Cross", unit: "", maps: [map], scale };
  const show = (answered, crossed) =>
    showMaps({
      data: { cards: [card], answered, crossed, columns: 1, source: "", ramp: ["#fff"], inks: { ramp: ["#000"] } },
      parentElement,
      setTriggerValue: (_, what) => sent.push(what),
    });
  const cells = () => root.querySelectorAll("button");
  const crossed = () => cells().flatMap((one, head) => (one.classes.has("crossed") ? head : []));
  return { show, sent, crossed, press: (head) => cells()[head].onclick() };
}

test("a head is crossed before Python has answered, and an answer to an earlier click takes none back", () => {
  const { show, sent, crossed, press } = mounted();
  show(4, ["cross:0:2"]);
  assert.deepEqual(crossed(), [2]);
  press(0);
  press(1);
  assert.deepEqual(crossed(), [0, 1, 2]);
  show(5, ["cross:0:2", "cross:0:0"]);
  assert.deepEqual(crossed(), [0, 1, 2]);
  press(2);
  assert.deepEqual(sent.at(-1), { heads: ["cross:0:0", "cross:0:1"], sent: 7 });
  show(7, ["cross:0:0", "cross:0:1"]);
  show(7, []); // Reset
  assert.deepEqual(crossed(), []);
  show(0, ["cross:0:1"]); // a new session
  assert.deepEqual(crossed(), [1]);
});
