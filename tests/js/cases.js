// What Python makes of the same numbers, written by tests/test_javascript.py before these tests run.
import { readFileSync } from "node:fs";

export const cases = JSON.parse(readFileSync(process.env.HEADSUP_CASES, "utf8"));

export function near(actual, expected, within, what = "") {
  const far = [...actual].findIndex((value, i) => !(Math.abs(value - expected[i]) <= within));
  if (actual.length !== expected.length || far >= 0) {
    throw new Error(`${what}: ${actual[far]} at ${far} of ${actual.length}, and ${expected[far]} in Python`);
  }
}
