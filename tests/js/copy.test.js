import assert from "node:assert/strict";
import { test } from "node:test";
import { copied } from "#view/page/copy.js";

// Fields as a browser has them: one of a single line drops the ends of lines.
class Field {
  constructor(tag) {
    this.tag = tag;
  }
  set value(text) {
    this.text = this.tag === "input" ? text.replace(/[\r\n]/g, "") : text;
  }
  append() {}
  focus() {}
  select() {
    globalThis.selected = this.text;
  }
  remove() {}
}

test("a text of several lines is copied whole where there is no clipboard", async () => {
  globalThis.document = { createElement: (tag) => new Field(tag), execCommand: () => true };
  assert.equal(await copied("one\ntwo\n", new Field("div")), true);
  assert.equal(globalThis.selected, "one\ntwo\n");
});
