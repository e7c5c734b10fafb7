// What a published page would draw; answers {packed, page, cases: [{text, sampling, heads, choices, step, selection,
// early, picks, branch}]}, where early is a step that is asked for while the text still opens.
import { readFileSync } from "node:fs";
import { openCheckpoint } from "../../transformer/publishing/js/inference/decoding.js";
import { Reader } from "../../transformer/publishing/js/worker/reader.js";
import { Stepper } from "../../transformer/publishing/js/worker/stepper.js";
import { answering } from "./answering.js";

await answering(({ packed, page, cases }) => {
  const opened = openCheckpoint(new Uint8Array(readFileSync(packed)));
  return cases.map((asked) => pictureOf(opened, page, asked));
});

function pictureOf(opened, page, asked) {
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
  return one.picture();
}
