import assert from "node:assert/strict";
import { test } from "node:test";
import { readNumber } from "#view/text/numbers.js";
import { FORMS } from "../../ui/components/js/room/question/forms/answer_forms.js";
import { readCode, wrongWith } from "../../ui/components/js/room/phone/join.js";
import { divergence, overlap, shares, wholePercents } from "../../ui/components/js/room/question/forms/bars.js";
import { rangeText } from "../../ui/components/js/room/question/forms/number.js";
import { nameOf, proofText, rightText, roundsText, share, withoutHead } from "../../ui/components/js/room/texts.js";
import { cases } from "./cases.js";

const near = (one, other) => assert.ok(Math.abs(one - other) < 1e-9, `${one} is not ${other}`);

test("every form in which a question may be answered is in the table", () => {
  assert.deepEqual(Object.keys(FORMS).sort(), cases.forms);
});

test("drawn bars are compared as the server compares them", () => {
  const { model, bars, shares: expected, kl, overlap: common } = cases.drawn;
  const drawn = shares(bars);
  for (const [at, one] of expected.entries()) near(drawn[at], one);
  near(divergence(model, drawn), kl);
  near(overlap(model, drawn), common);
});

test("bars that are all empty are all alike, and the same bars have everything in common", () => {
  assert.deepEqual(shares([0, 0]), [0.5, 0.5]);
  near(overlap([0.25, 0.75], [0.25, 0.75]), 1);
});

test("whole percentages add up to 100", () => {
  assert.deepEqual(wholePercents(shares([1, 1, 1])), [34, 33, 33]);
  assert.deepEqual(wholePercents([0.005, 0.995]), [1, 99]);
});

test("a share is never a false 0 or 100", () => {
  assert.deepEqual([0, 0.001, 0.5, 199 / 200, 0.999, 1].map(share), ["0%", "< 1%", "50%", "> 99%", "> 99%", "100%"]);
});

test("a number is read with a point or a comma, and anything else is none", () => {
  assert.deepEqual(
    [" 40,5 ", "40.5 %", ".5", "−3", "-3", "– 0,25", "+2"].map(readNumber),
    [40.5, 40.5, 0.5, -3, -3, -0.25, 2],
  );
  for (const typed of ["1e3", "4 0", "", "abc", "Infinity", "--1", "1-2"]) assert.equal(readNumber(typed), null);
});

test("a code is read as it was meant, and what can be none is said", () => {
  assert.equal(readCode(" k7-m4 qx"), "K7M4QX");
  assert.equal(wrongWith("K7M4QX"), "");
  assert.match(wrongWith("K0MMA"), /^No code has 0 or A in it/);
  assert.match(wrongWith("K7M"), /six|6/);
  assert.match(wrongWith("../.."), /letters and digits/);
});

test("tokens are named with every character visible, and other names as they are", () => {
  assert.equal(nameOf({ pieces: true }, "▁cold"), "cold");
  assert.equal(nameOf({ pieces: true }, "all others"), "all others");
  assert.equal(nameOf({ pieces: false }, "head 3"), "head 3");
});

const verdict = (spec, ...values) => FORMS[spec.form].verdict(spec, ...values);

test("what an answer turned out to be is said", () => {
  const choice = { form: "choice", pieces: true };
  assert.equal(verdict(choice, ["a", "b"], { right: 1 }, 1).right, true);
  assert.match(verdict(choice, ["a", "b"], { right: 1 }, 0).words, /You answered “a”. The right answer is “b”/);
  const number = { form: "number", unit: "%" };
  assert.equal(verdict(number, null, { bounds: [82.7, 92.7], tolerance: 5 }, 83).right, true);
  const far = verdict(number, null, { bounds: [82.7, 92.7], tolerance: 5 }, 82);
  assert.equal(far.right, false);
  assert.equal(far.words, "You said 82%. Not close enough: within 5 percentage points counts as right.");
  const drawn = verdict({ form: "draw" }, null, { values: [0.5, 0.5] }, [0.5, 0.5]);
  assert.match(drawn.words, /100% in common. Almost the same \(KL divergence 0.00 nats\)\./);
  const other = verdict({ form: "draw" }, null, { values: [0.9, 0.1] }, [0.5, 0.5]); // of the model from the bars
  assert.match(other.words, /60% in common. Some way off \(KL divergence 0.37 nats\)\./);
});

test("a sentence ends in one stop, whatever it quotes ends in", () => {
  const head = { kind: "cross", layer: 1, head: 0, who: "right", votes: 1 };
  const row = { ...head, token: "▁jamais", before: 0.9, after: 0.5, same: true };
  assert.match(withoutHead({ ...row, output: "Jamais ?", as_it_is: "" }), /“jamais” goes .* would be: “Jamais \?”$/);
});

test("what becomes of the text without a head is said, and how many chose it", () => {
  const row = { kind: "cross", layer: 1, head: 5, token: "le", before: 0.9, after: 0.2, same: false, instead: "la" };
  assert.equal(
    withoutHead({ ...row, who: "most chosen", votes: 12, output: "J'aime la vin.", as_it_is: "J'aime le vin." }),
    "Without cross, layer 1, head 5 (which 12 of you chose), “le” goes from 90.0% to 20.0%; “la” would be likeliest. " +
      "The text would be: “J'aime la vin.”",
  );
  assert.match(withoutHead({ ...row, who: "right", votes: 0 }), /the right one, which none of you chose/);
});

test("how a room did is said", () => {
  const told = { count: 34, right: 21, share: 21 / 34, sure_right: 0.8, sure_wrong: 0.4 };
  const sure = [3, 1, 1, 29];
  assert.equal(rightText(told, { sure }), "21 of 34 were right (62%). Those who were right were more confident.");
  assert.equal(rightText(told, { sure: [3, 1, 0, 30] }), "21 of 34 were right (62%)."); // four say nothing of a room
  const said = (count, right) =>
    rightText({ count, right, share: count ? right / count : null }, { sure: [0, 0, 0, 0] });
  assert.equal(said(0, 0), "Nobody answered.");
  assert.equal(said(1, 0), "The one answer was not right.");
  assert.equal(said(2, 0), "Neither was right.");
  assert.equal(said(3, 0), "None of 3 was right.");
  assert.equal(said(3, 1), "1 of 3 was right (33%).");
  assert.equal(
    roundsText({ both: 50, changed: 18, became_right: 15, became_wrong: 1, share: [0.56, 0.84] }),
    "Right: 56% before, 84% now. Of the 50 who answered twice, 18 changed their answer: 15 from wrong to right, " +
      "1 from right to wrong.",
  );
  const same = { both: 6, changed: 0, became_right: 0, became_wrong: 0 };
  assert.equal(roundsText(same), "Of the 6 who answered twice, none changed their answer.");
  assert.equal(roundsText({ both: 2, changed: 1 }), "Of the 2 who answered twice, 1 changed their answer.");
  assert.equal(
    roundsText({ both: 3, changed: null, overlap: [0.4, 0.7] }),
    "In common with the model: 40% before, 70% now.",
  );
  assert.equal(rangeText({ least: 0, unit: "%" }, { from: 40, to: 50 }), "40–50%");
  const bins = [
    { from: -20, to: -10 },
    { from: null, to: 0.2 },
    { from: 0.8, to: null },
  ];
  assert.deepEqual(
    bins.map((bin) => rangeText({ unit: "" }, bin)),
    ["−20 to −10", "below 0.2", "0.8 or more"],
  );
  assert.equal(
    proofText({ checkpoint: "translate@c34702e2", trained: 4000, step: 4, seed: 0 }),
    "Computed: translate@c34702e2, trained for 4,000 steps, step 4 of the text, seed 0.",
  );
});
