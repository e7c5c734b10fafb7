// The products q·k of two tokens one by one, over an axis that numbers the dimensions.
import { text, textWidth } from "#view/canvas.js";
import { css, palette } from "#view/colours.js";
import { products } from "#view/scores.js";

export function paintProducts(context, whole, { rows, pair: [query, key], theme }) {
  const values = products(rows, query, key);
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const label = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toPrecision(2);
  const margin = textWidth([label(-most)]) + 8;
  const box = { x: whole.x + margin, y: whole.y + 8, width: whole.width - margin, height: whole.height - 42 };
  const step = box.width / rows.width;
  const middle = box.y + box.height / 2;
  const bottom = box.y + box.height;
  for (const [value, y] of [
    [most, box.y + 2],
    [0, middle],
    [-most, bottom - 2],
  ]) {
    text(context, value ? label(value) : "0", box.x - 6, y, { colour: theme.ink, align: "right" });
  }
  const every = [1, 2, 4, 8, 16, 32, 64].find((n) => n * step >= 26) ?? 128;
  for (let i = 0; i < rows.width; i += every) {
    text(context, String(i), box.x + (i + 0.5) * step, bottom + 9, { colour: theme.ink, align: "center", size: 11 });
  }
  text(context, "dimension of the head", box.x, bottom + 25, { colour: theme.muted });
  context.fillStyle = theme.muted;
  context.fillRect(box.x, middle - 0.5, box.width, 1);
  values.forEach((value, i) => {
    const height = (Math.abs(value) / most) * (box.height / 2 - 2);
    context.fillStyle = css(palette(theme.dark)[value < 0 ? 40 : 472].signed);
    context.fillRect(box.x + i * step, value < 0 ? middle : middle - height, Math.max(1, step - 1), height);
  });
}
