// A frame sets what a picture asks for, and nothing else of the widget's model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { widgetOf } from "#view/outside_app/notebook.js";

class Observer {
  observe() {}
  disconnect() {}
}

const frame = { contentWindow: {}, setAttribute() {}, style: {} };
const page = new EventTarget();
const media = { addEventListener() {} };
Object.assign(globalThis, { window: page, MutationObserver: Observer, matchMedia: () => media });
globalThis.document = { createElement: () => frame, documentElement: {}, body: {} };

// What the model is set to when a frame, or another window, says something.
function heard(data, source = frame.contentWindow) {
  const set = {};
  let saved = 0;
  const model = {
    get: (name) => (name === "message" ? new DataView(new ArrayBuffer(0)) : 720),
    set: (name, value) => (set[name] = value),
    save_changes: () => saved++,
    on() {},
    off() {},
  };
  const leave = widgetOf("").render({ model, el: { append() {} } });
  page.dispatchEvent(Object.assign(new Event("message"), { source, data }));
  leave();
  return { set, saved };
}

for (const name of ["_look", "_move", "_branch"]) {
  test(`${name} is set`, () =>
    assert.deepEqual(heard({ [name]: { number: 1 } }), { set: { [name]: { number: 1 } }, saved: 1 }));
}

for (const data of [
  { _esm: "alert()" },
  { _css: "a {}" },
  { message: new ArrayBuffer(1) },
  { height: 9e9 },
  { layout: {} },
  { _anywidget_id: "a" },
  { constructor: {} },
  {},
  [],
  null,
  undefined,
  "_look",
  5,
  { ready: true, _look: {} },
]) {
  test(`${JSON.stringify(data)} sets nothing`, () => assert.deepEqual(heard(data), { set: {}, saved: 0 }));
}

test("what is asked for comes through beside what may not be set", () => {
  assert.deepEqual(heard({ _esm: "alert()", _look: { number: 2 } }).set, { _look: { number: 2 } });
});

test("another window sets nothing", () => assert.deepEqual(heard({ _look: {} }, {}), { set: {}, saved: 0 }));
