import assert from "node:assert/strict";
import { test } from "node:test";
import { cosine, lengthOf, mixed, movedText, weighed } from "../../ui/views/by_hand/vectors/weigh.js";

const data = {
  query: { id: "q", place: [2, 0] },
  keys: [
    { id: "3", place: [4, 1], bias: 0, value: [1, 0] },
    { id: "0", place: [0, 5], bias: 0, value: [0, 2] },
    { id: "1", place: [-4, 0], bias: 0, value: [3, 4] },
  ],
  divisor: 2,
  cap: null,
};
const own = new Map([data.query, ...data.keys].map(({ id, place }) => [id, place]));
const near = (one, other) => assert.ok(Math.abs(one - other) < 1e-9, `${one} is not ${other}`);

test("weights are the softmax of the products divided, at any temperature", () => {
  for (const temperature of [0.1, 1, 10]) {
    const rows = weighed(data, own, temperature);
    assert.deepEqual(
      rows.map(({ id, product, score }) => [id, product, score]),
      [
        ["3", 8, 4],
        ["0", 0, 0],
        ["1", -8, -4],
      ],
    );
    const powers = [4, 0, -4].map((score) => Math.exp(score / temperature));
    const sum = powers.reduce((all, one) => all + one);
    rows.forEach(({ weight, carried }, at) => {
      near(weight, powers[at] / sum);
      near(carried, weight * lengthOf(data.keys[at].value));
    });
  }
});

test("a cap and a bias go into the score, a large one without overflow", () => {
  const keys = data.keys.map((key, at) => ({ ...key, bias: at }));
  const rows = weighed({ ...data, keys, cap: 3 }, own, 1);
  near(rows[0].score, 3 * Math.tanh(4 / 3));
  near(rows[2].score, 3 * Math.tanh(-2 / 3));
  const far = weighed(data, new Map([...own, ["q", [1e4, 0]]]), 0.1);
  assert.deepEqual(
    far.map(({ weight }) => weight),
    [1, 0, 0],
  );
});

test("the query's move changes every weight, a key's move takes from the others", () => {
  const before = weighed(data, own, 1);
  const turned = weighed(data, new Map([...own, ["q", [-2, 0]]]), 1);
  assert.deepEqual(
    turned.map(({ product }) => product + 0),
    [-8, 0, 8],
  );
  const nearer = weighed(data, new Map([...own, ["0", [4, 5]]]), 1);
  assert.ok(nearer[1].weight > before[1].weight && nearer[0].weight < before[0].weight);
  near(
    nearer.reduce((sum, { weight }) => sum + weight, 0),
    1,
  );
});

test("what is carried is the weighted sum of the values", () => {
  const rows = [
    { weight: 0.25, value: [4, 0] },
    { weight: 0.75, value: [0, 4] },
  ];
  assert.deepEqual(mixed(rows), [1, 3]);
  near(cosine([1, 3], [2, 6]), 1);
  near(cosine([1, 0], [0, 1]), 0);
  assert.equal(cosine([0, 0], [1, 0]), 1);
});

test("only what was moved is written, and what is written is the same again", () => {
  assert.equal(movedText(data, own), "");
  const places = new Map([...own, ["q", [2.5, -0.12345]], ["1", [-4, 1]]]);
  assert.equal(movedText(data, places), "q:2.5:-0.1235,1:-4:1");
});
