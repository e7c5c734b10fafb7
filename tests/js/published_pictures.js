// What a published page would draw, as JSON:
// `node --import ./tests/js/styles.js tests/js/published_pictures.js asked.json`.
// asked: {packed, page, cases: [{text, sampling, heads, choices, step, selection, early, picks, branch}]}, where
// early is a step that is asked for while the text still opens.
import { readFileSync } from "node:fs";
import { openCheckpoint } from "../../transformer/publishing/js/decoding.js";
import { Reader } from "../../transformer/publishing/js/reader.js";
import { Stepper } from "../../transformer/publishing/js/stepper.js";

const { packed, page, cases } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const opened = openCheckpoint(new Uint8Array(readFileSync(packed)));

const pictures = cases.map((asked) => {
  const Kind = opened.config.decoder_layers ? Stepper : Reader;
  const one = new Kind(opened, page, { ...asked, looked: 0, answered: 0 }, 1);
  if (asked.early !== undefined && one.work(0)) {
    one.move({ index: asked.early, number: 1, decoding: null, from: 0, choices: [] });
  }
  while (one.work(1e9));
  (asked.picks ?? []).forEach(([at, nth], number) => {
    const choices = [{ number: number + 1, at, nth }];
    one.move({ index: at + 1, number: number + 1, decoding: 1, from: 0, choices });
    while (one.work(1e9));
  });
  if (asked.branch !== undefined) one.branch(asked.branch);
  const { message, place } = one.picture();
  const arrays = Object.fromEntries(Object.entries(message.arrays).map(([name, values]) => [name, [...values]]));
  return { message: { ...message, arrays }, place };
});
process.stdout.write(JSON.stringify(pictures));
