// The same cards as one SVG, below each other.
import { FONT } from "#view/canvas.js";
import { svgPart } from "#view/elements.js";

const GAP = 2; // px between heads

export function picture(view) {
  const { data } = view;
  const svg = svgPart("svg");
  const words = (x, y, string, more = {}) => {
    svg.append(svgPart("text", { x, y, fill: data.ink, "font-family": FONT, "font-size": 14, ...more }, string));
  };
  let y = 8;
  let right = 420;
  for (const card of data.cards) {
    const marks = card.scale.marks.map(({ text }) => text);
    words(10, y + 20, card.title, { "font-weight": 650, "font-size": 16 });
    words(10, y + 39, [card.unit, `from ${card.scale.low} to ${card.scale.high}`, ...marks].join(" · "));
    y += 39;
    let x = 30;
    for (const map of card.maps) {
      paintMap({ ...view, svg, words }, card, map, x, y);
      x += map.shades[0].length * (view.width + GAP) + 40;
    }
    right = Math.max(right, x);
    y += 54 + card.maps[0].shades.length * (view.height + GAP);
  }
  words(10, y + 16, data.origin);
  const bottom = y + 30;
  svg.prepend(svgPart("rect", { width: right, height: bottom, fill: data.paper }));
  const size = { viewBox: `0 0 ${right} ${bottom}`, width: right, height: bottom };
  for (const [name, value] of Object.entries(size)) svg.setAttribute(name, value);
  return new XMLSerializer().serializeToString(svg);
}

function paintMap({ data, width, height, numbered, svg, words }, card, map, x, y) {
  const scale = card.scale.diverging ? "diverging" : "ramp";
  const middle = { "text-anchor": "middle" };
  words(x, y + 20, map.caption);
  map.shades[0].forEach((_, head) => {
    words(x + (head + 0.5) * (width + GAP), y + 38, `${head}`, { ...middle, "font-size": 12 });
  });
  map.shades.forEach((row, layer) => {
    const top = y + 44 + layer * (height + GAP);
    words(x - 6, top + height / 2 + 5, `${layer}`, { "text-anchor": "end", "font-size": 12 });
    row.forEach((shade, head) => {
      const left = x + head * (width + GAP);
      const edge = map.faint?.[layer][head]
        ? { "stroke-opacity": 0.7, "stroke-dasharray": "4 3" }
        : { "stroke-opacity": 0.25 };
      const fill = shade < 0 ? "none" : data[scale][shade];
      svg.append(svgPart("rect", { x: left, y: top, width, height, rx: 3, fill, stroke: data.ink, ...edge }));
      if (!numbered || shade < 0) return;
      const options = { ...middle, fill: data.inks[scale][shade] };
      words(left + width / 2, top + height / 2 + 5, map.texts[layer][head], options);
    });
  });
}
