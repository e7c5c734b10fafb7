// Draws the cards that ui/figures/head_maps.py makes; a head clicked, or chosen with Enter, goes to Python.
const CELL = [[4, 36, 32], [8, 34, 30], [12, 19, 19], [16, 18, 18], [Infinity, 15, 17]]; // up to so many heads: width, height
const NUMBERED = 8; // heads beside each other; of more the pointer says the numbers
const FONT = "system-ui, sans-serif";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function gradient(shades) {
  return `linear-gradient(to right, ${shades.filter((_, i) => i % 8 === 0).join(",")})`;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".head-maps");
  const focused = root.getRootNode().activeElement?.dataset?.at;
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--columns", data.columns);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", data.alt);
  const chosen = data.chosen?.join(":"), crossed = new Set(data.crossed);
  const most = Math.max(...data.cards.map(({ maps }) => maps[0].shades[0].length));
  const [, width, height] = CELL.find(([upTo]) => most <= upTo);
  const wide = data.cards.some(({ maps }) => maps.length > 1) ? 2 : 1;
  root.style.setProperty("--card", `${Math.min(wide * (most * (width + 2) + 24) + (wide - 1) * 20 + 28, 620)}px`);

  const pick = (head) => {
    setTriggerValue("pick", head);
    const target = data.target && document.querySelector(`.st-key-${data.target}`);
    if (!target) return;
    target.style.scrollMarginTop = "4.5rem"; // below the bar on top
    target.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  };
  const gridOf = (card, map, number) => {
    const heads = map.shades[0].length, scale = card.scale.diverging ? "diverging" : "ramp";
    const grid = make("div", { class: "grid", role: "group", "aria-label": `${card.title} ${map.caption}` });
    grid.style.gridTemplateColumns = `auto repeat(${heads}, ${width}px)`;
    grid.style.gridAutoRows = `${height}px`;
    grid.append(make("span", { class: "down" }), ...Array.from({ length: heads }, (_, head) => make("span", {}, `${head}`)));
    grid.style.gridTemplateRows = "1.2rem";
    const cells = [];
    map.shades.forEach((row, layer) => {
      grid.append(make("span", { class: "down" }, `${layer}`));
      row.forEach((shade, head) => {
        const place = `${card.kind}:${layer}:${head}`;
        const cell = make("button", {
          type: "button", title: map.hints[layer][head], "aria-label": map.hints[layer][head], tabindex: -1, "aria-pressed": place === chosen,
          "data-kind": card.kind, "data-layer": layer, "data-head": head, "data-at": `${card.name}/${number}/${place}`,
        }, most <= NUMBERED ? map.texts[layer][head] : "");
        if (shade >= 0) Object.assign(cell.style, { background: data[scale][shade], color: data.inks[scale][shade] });
        cell.classList.toggle("none", shade < 0);
        cell.classList.toggle("long", map.texts[layer][head].length > 4);
        cell.classList.toggle("faint", !!map.faint?.[layer][head]);
        cell.classList.toggle("chosen", place === chosen);
        cell.classList.toggle("crossed", crossed.has(place));
        cell.onclick = () => pick({ card: card.name, kind: card.kind, layer, head });
        cells.push(cell);
        grid.append(cell);
      });
    });
    (cells.find((cell) => cell.classList.contains("chosen")) ?? cells[0]).tabIndex = 0; // the arrows reach the others
    grid.onkeydown = (event) => {
      const at = cells.indexOf(event.target), step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key];
      if (!step || at < 0) return;
      event.preventDefault();
      event.stopPropagation();
      const next = cells[at + step];
      if (!next || (Math.abs(step) === 1 && Math.floor(at / heads) !== Math.floor((at + step) / heads))) return;
      cells[at].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    };
    return make("div", { class: "map" }, ...(map.caption ? [make("div", { class: "caption" }, map.caption)] : []), grid);
  };

  const scaleOf = ({ scale }) => {
    const bar = make("div", { class: "bar" }), marks = make("div", { class: "mark" });
    bar.style.background = gradient(data[scale.diverging ? "diverging" : "ramp"]);
    for (const { at, text } of scale.marks) {
      const tick = make("i"), word = make("span", {}, text);
      tick.style.left = `${100 * at}%`;
      if (at > 0.6) word.style.right = `${100 - 100 * at}%`;
      else word.style.left = `${100 * at}%`;
      bar.append(tick);
      marks.append(word);
    }
    return make("div", { class: "scale" }, make("span", {}, scale.low), bar, make("span", {}, scale.high), ...(scale.marks.length ? [marks] : []));
  };

  const cardOf = (card) => {
    const box = make("section", { class: "card", "data-card": card.name, "data-kind": card.kind }, make("h4", {}, card.title), make("p", { class: "unit" }, card.unit),
      make("div", { class: "maps" }, ...card.maps.map((map, number) => gridOf(card, map, number))), scaleOf(card));
    box.classList.toggle("chosen", card.name === data.chosenCard);
    return box;
  };

  const save = make("button", { type: "button", class: "save" }, "Save as SVG");
  save.onclick = () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([picture(data, width, height)], { type: "image/svg+xml" })), download: "heads.svg" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  root.replaceChildren(...data.cards.map(cardOf), make("div", { class: "foot" }, make("span", {}, `Layers down, heads across. ${data.source}`), save));
  if (focused) [...root.querySelectorAll("[data-at]")].find((cell) => cell.dataset.at === focused)?.focus({ preventScroll: true });
}

// The same cards as one picture, below each other.
function picture(data, width, height) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  const add = (tag, attributes, text) => {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  const word = (x, y, text, more = {}) => add("text", { x, y, fill: data.ink, "font-family": FONT, "font-size": 14, ...more }, text);
  let y = 8, right = 420;
  for (const card of data.cards) {
    const scale = card.scale.diverging ? "diverging" : "ramp";
    word(10, y += 20, card.title, { "font-weight": 650, "font-size": 16 });
    word(10, y += 19, [card.unit, `from ${card.scale.low} to ${card.scale.high}`, ...card.scale.marks.map(({ text }) => text)].join(" · "));
    let x = 30;
    for (const map of card.maps) {
      const heads = map.shades[0].length;
      word(x, y + 20, map.caption);
      for (let head = 0; head < heads; head++) word(x + (head + 0.5) * (width + 2), y + 38, `${head}`, { "text-anchor": "middle", "font-size": 12 });
      map.shades.forEach((row, layer) => {
        const top = y + 44 + layer * (height + 2);
        word(x - 6, top + height / 2 + 5, `${layer}`, { "text-anchor": "end", "font-size": 12 });
        row.forEach((shade, head) => {
          const left = x + head * (width + 2), faint = map.faint?.[layer][head];
          add("rect", { x: left, y: top, width, height, rx: 3, fill: shade < 0 ? "none" : data[scale][shade], stroke: data.ink, "stroke-opacity": faint ? 0.7 : 0.25, ...(faint ? { "stroke-dasharray": "4 3" } : {}) });
          if (heads <= NUMBERED && shade >= 0)
            word(left + width / 2, top + height / 2 + 5, map.texts[layer][head], { "text-anchor": "middle", fill: data.inks[scale][shade] });
        });
      });
      x += heads * (width + 2) + 40;
    }
    right = Math.max(right, x);
    y += 54 + card.maps[0].shades.length * (height + 2);
  }
  word(10, y += 16, data.source);
  const paper = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ width: right, height: y + 14, fill: data.paper })) paper.setAttribute(name, value);
  svg.prepend(paper);
  svg.setAttribute("viewBox", `0 0 ${right} ${y + 14}`);
  svg.setAttribute("width", right);
  svg.setAttribute("height", y + 14);
  return new XMLSerializer().serializeToString(svg);
}
