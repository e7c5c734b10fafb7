// The table of forms, by the name that a kind of question has in Python: `form` in transformer/rooms/questions. A form
// is how a question is answered, and how the answers to it are shown; everything else goes through this table.
//
//   input(entry) -> {element, show(value)}: the field; calls entry.changed(value) and entry.give(value)
//   answerText(spec, choices, value): an answer in words, for those who gave it
//   verdict(spec, choices, key, value) -> {right, words}; right is null where nothing is right or wrong
//   rows(results) -> [{name, tracks: [[who, part, words]], right, mine}]; who: whose bar it is
//   lines(results) -> sentences on the votes; what is false is left out
//   hint: what a phone says before anything is given. hasChoices: whether there is something to choose from.
//   preview(spec, choices): what is seen where nobody answers
//   picture(spec, value) -> {names, values}: an answer as bars
//   more(question, face): what stands below the results
import { barsForm } from "./bars.js";
import { choiceForm } from "./choice.js";
import { numberForm } from "./number.js";
import { textForm } from "./text.js";

export const FORMS = { choice: choiceForm, number: numberForm, draw: barsForm, text: textForm };
