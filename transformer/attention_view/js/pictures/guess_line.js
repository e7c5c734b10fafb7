// The line of guessing at random in a picture of losses.
import { stroke, text } from "#view/drawing/canvas.js";
import { SMALL } from "#view/drawing/type.js";

const CLEAR = 24; // px from the right edge, where a marker of the last step stands
const FAR = 1.5; // times the largest loss drawn: a line further up would press the curves together

// The upper end of an axis that holds the line too, unless that is too far above what is drawn.
export function roomForGuessing(most, guesses) {
  return Math.max(most, ...guesses.filter((loss) => loss <= FAR * most));
}

// Dashed and named; of one above the axis the name alone stands at its upper edge, with an arrow.
export function paintGuessing(context, { left, right, top, y, high }, loss, words, theme) {
  const above = loss > high;
  if (!above) {
    Object.assign(context, { strokeStyle: theme.muted, lineWidth: 1.5 }).setLineDash([2, 4]);
    stroke(context, [left, y(loss)], [right, y(loss)]);
    context.setLineDash([]);
  }
  const options = { colour: theme.muted, align: "right", size: SMALL };
  text(context, above ? `${words} ↑` : words, right - CLEAR, above ? top + 8 : y(loss) + 9, options);
}
