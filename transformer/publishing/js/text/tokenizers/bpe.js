// Sennrich, Haddow and Birch 2016: characters are joined in pairs, the pair with the highest score first, of equal ones
// the one furthest to the left.

// Cuts characters at the pieces, a map of text -> id: [start, end, id] of each. What `symbols` holds is never joined.
export function bpeCutter(pieces, { scores, unkId, symbols }) {
  return (characters) => {
    const idOf = (start, end) => pieces.get(characters.slice(start, end).join(""));
    const parts = partsOf(characters, symbols);
    joinPairs(parts, idOf, scores);
    return parts.filter(({ gone }) => !gone).map(({ start, end }) => [start, end, idOf(start, end) ?? unkId]);
  };
}

function partsOf(characters, symbols) {
  const parts = [];
  for (let start = 0; start < characters.length;) {
    const length = symbols.longest(characters, start);
    const end = start + (length || 1);
    parts.push({ start, end, whole: length > 0, left: parts.length - 1, right: parts.length + 1, gone: false });
    start = end;
  }
  return parts;
}

function joinPairs(parts, idOf, scores) {
  const pairs = new PairHeap();
  const propose = (left, right) => {
    if (!parts[left] || !parts[right] || parts[left].whole || parts[right].whole) return;
    const id = idOf(parts[left].start, parts[right].end);
    if (id !== undefined) pairs.push({ score: scores[id], left, right, end: parts[right].end });
  };
  for (let right = 1; right < parts.length; right++) propose(right - 1, right);
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [left, right] = [parts[pair.left], parts[pair.right]];
    if (left.gone || right.gone || right.end !== pair.end) continue; // since then one was joined to another
    left.end = right.end;
    left.right = right.right;
    if (parts[right.right]) parts[right.right].left = pair.left;
    right.gone = true;
    propose(left.left, pair.left);
    propose(pair.left, left.right);
  }
}

// A binary heap of pairs.
class PairHeap {
  #pairs = [];

  push(pair) {
    const pairs = this.#pairs;
    let at = pairs.push(pair) - 1;
    for (let above = (at - 1) >> 1; at && comesFirst(pair, pairs[above]); at = above, above = (at - 1) >> 1) {
      pairs[at] = pairs[above];
    }
    pairs[at] = pair;
  }

  pop() {
    const pairs = this.#pairs;
    const first = pairs[0];
    const pair = pairs.pop();
    if (!pairs.length) return first;
    let at = 0;
    for (let below = 1; below < pairs.length; below = 2 * at + 1) {
      if (below + 1 < pairs.length && comesFirst(pairs[below + 1], pairs[below])) below++;
      if (!comesFirst(pairs[below], pair)) break;
      pairs[at] = pairs[below];
      at = below;
    }
    pairs[at] = pair;
    return first;
  }
}

const comesFirst = (a, b) => a.score > b.score || (a.score === b.score && a.left < b.left);
