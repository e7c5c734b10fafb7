import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { Rise } from "#view/model/rise.js";

globalThis.matchMedia = () => ({ matches: false }); // motion is welcome

const part = (id) => ({ id, type: "attention", block: { name: id } });
const stack = { id: "decoder", box: [0, 0, 1, 1], block: { layers: [] } };

// A model whose token goes through its embedding alone.
function modelAt(position) {
  const message = { about: {}, model: { stack: "decoder", position, token: "a", parts: {} } };
  const places = { parts: [part("decoder.embedding")], stack: () => stack };
  return { view: { message }, places, canvas: {}, focus: null };
}

function risen() {
  const model = modelAt(0);
  const rise = new Rise(model, () => {});
  rise.show = (along) => (rise.along = along); // without the words of a view
  rise.receive();
  return { model, rise };
}

test("a token is at the top at first, and sets out at another step", () => {
  const { model, rise } = risen();
  assert.equal(rise.along, 1);
  model.view.message.model.position = 1;
  rise.receive();
  assert.equal(rise.along, 0);
});

test("a token goes a part on or back by hand, whatever was drawn before", () => {
  const { rise } = risen();
  rise.step(-1);
  assert.equal(rise.along, 0);
  rise.step(1);
  assert.equal(rise.along, 1);
});
