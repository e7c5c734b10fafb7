// What js/spelling.js reads texts as, and what it says of it; answers {texts, spellings}.
import { readAs, respell } from "../../transformer/publishing/js/spelling.js";
import { answering } from "./answering.js";

await answering(({ texts, spellings }) =>
  texts.map((typed) => {
    const { text, found } = respell(typed, spellings);
    return [text, [...found], readAs(found)];
  }),
);
