// A table that is saved is read by spreadsheets as Python's are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvFile } from "#view/export/picture_files.js";
import { cases } from "./cases.js";

test("no cell is computed, and Excel reads every letter", async () => {
  const { spreadsheet } = cases;
  const file = csvFile(
    [],
    spreadsheet.map(([given]) => [given, -0.5, null]),
  );
  const bytes = new Uint8Array(await file.arrayBuffer());
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  const expected = spreadsheet.map(([, written]) => `"${written.replaceAll('"', '""')}",-0.5,\n`);
  assert.equal(await file.text(), expected.join(""));
  assert.equal(await csvFile(["Text: a, =1"], []).text(), "# Text: a, '=1\n");
});
