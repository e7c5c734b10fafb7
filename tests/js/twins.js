// What Python does as well: js/spelling.js reads texts, `{texts, spellings}`, and js/numbers.js writes `{shares}`.
import { inPercent } from "#view/numbers.js";
import { readAs, respell } from "../../transformer/publishing/js/spelling.js";
import { answering } from "./answering.js";

function read(typed, spellings) {
  const { text, found } = respell(typed, spellings);
  return [text, [...found], readAs(found)];
}

await answering(({ texts, spellings, shares }) =>
  shares ? shares.map(inPercent) : texts.map((typed) => read(typed, spellings)),
);
