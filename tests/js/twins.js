// What Python does as well: js/page/spelling.js reads texts, `{texts, spellings}`, and js/text/numbers.js writes
// `{shares}`.
import { inPercent } from "#view/text/numbers.js";
import { readAs, respell } from "../../transformer/publishing/js/page/spelling.js";
import { answering } from "./answering.js";

function read(typed, spellings) {
  const { text, found } = respell(typed, spellings);
  return [text, [...found], readAs(found)];
}

await answering(({ texts, spellings, shares }) =>
  shares ? shares.map(inPercent) : texts.map((typed) => read(typed, spellings)),
);
