// Rules as `runs` in transformer/publishing/tokenizers.py writes them: pairs of a text and its form.
/** @returns {Generator<[string, string], void>} */
export function* rulesOf(runs) {
  for (const [text, form, count = 1, step = 0, formStep = 0] of runs) {
    const texts = moving(text, step);
    const forms = moving(form, formStep);
    for (let i = 0; i < count; i++) yield [texts(i), forms(i)];
  }
}

// The text with its last character so many steps further.
function moving(text, step) {
  const characters = [...text];
  if (!characters.length) return () => "";
  const last = characters.pop().codePointAt(0);
  const stem = characters.join("");
  return (i) => stem + String.fromCodePoint(last + i * step);
}
