// Kudo 2018: the pieces with the highest sum of log-probabilities. Sums are in single precision and the first of equal
// ones is kept, as in sentencepiece, so that ties fall alike.
import { PrefixTree } from "./prefixes.js";

const UNKNOWN_PENALTY = 10;
const LARGEST_SUM = 100_000; // further on, sums begin at 0 again, so as not to lose their fractions

// Cuts characters at the pieces, a map of text -> id: [start, end, id] of each.
export function unigramCutter(pieces, { scores, unkId, userDefined }) {
  const tree = new PrefixTree();
  const weights = Float32Array.from(scores);
  let least = Infinity;
  for (const [text, id] of pieces) {
    tree.add(text, id);
    if (userDefined.has(id)) weights[id] = 0.1 * (new TextEncoder().encode(text).length - 1);
    else least = Math.min(least, weights[id]);
  }
  const unknown = Math.fround(least - UNKNOWN_PENALTY);
  return (characters) => traced(bestPaths(characters, tree, weights, unknown, unkId), characters.length);
}

// For each place of the text the start, the id and the sum of the best path that ends there.
function bestPaths(characters, tree, weights, unknown, unkId) {
  const paths = {
    starts: new Int32Array(characters.length + 1).fill(-1),
    ids: new Int32Array(characters.length + 1),
    sums: new Float32Array(characters.length + 1),
  };
  let furthest = 0;
  const reach = (start, end, id, weight) => {
    const sum = Math.fround(weight + paths.sums[start]);
    furthest = Math.max(furthest, end);
    if (paths.starts[end] >= 0 && !(sum > paths.sums[end])) return;
    paths.starts[end] = start;
    paths.ids[end] = id;
    paths.sums[end] = sum;
  };
  for (let start = 0; start < characters.length; start++) {
    if (Math.abs(paths.sums[start]) > LARGEST_SUM) beginAgain(paths, start, furthest);
    let alone = false; // whether the character is a piece by itself
    for (let end = start, node = tree.root.next.get(characters[start]); node; node = node.next?.get(characters[end])) {
      end++;
      if (node.value === undefined) continue;
      reach(start, end, node.value, weights[node.value]);
      alone ||= end === start + 1;
    }
    if (!alone) reach(start, start + 1, unkId, unknown);
  }
  return paths;
}

function beginAgain({ starts, sums }, start, furthest) {
  const offset = sums[start];
  for (let at = start; at <= furthest; at++) if (starts[at] >= 0) sums[at] -= offset;
}

function traced({ starts, ids }, length) {
  const cuts = [];
  for (let end = length; end > 0; end = starts[end]) cuts.push([starts[end], end, ids[end]]);
  return cuts.reverse();
}
