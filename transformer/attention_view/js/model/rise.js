// A token's vector rises through the layers: by itself at each step, and by hand on a bar.
import { chooser, part, stillMotion } from "#view/page/elements.js";
import { inside } from "#view/model/parts/places.js";
import { inPart, tell } from "#view/model/words.js";

const SPEEDS = { slow: 0.35, normal: 1, fast: 2.5, "no motion": 0 };
const WHOLE_MS = 2600; // of the way through the model, at a normal pace
const LEAST_MS = 60; // of one part
const KEPT_SPEED = "heads-up-rise";

export class Rise {
  constructor(model, draw) {
    this.model = model;
    this.draw = draw;
    this.along = 0;
    this.frame = 0;
    this.speed = kept();
    this.shown = ""; // which step of which text
    /** @type {any} */
    this.told = null; // the part that was said last
    this.bar = part("input", { type: "range", min: 0, step: 0.01, ariaLabel: "How far the token has come" });
    this.bar.oninput = () => this.put(this.bar.valueAsNumber);
    this.bar.onkeydown = (event) => event.stopPropagation();
    this.again = part("button", {
      textContent: "Follow the token up",
      title: "Let the token rise through the model again",
    });
    this.again.onclick = () => this.begin();
    const entries = Object.keys(SPEEDS).map((name) => [name, name]);
    const pick = (name) => {
      this.speed = name;
      keep(name);
      if (!SPEEDS[name]) this.stop(this.stops.length);
    };
    this.chooser = chooser("Pace of the rise", entries, this.speed, pick);
    this.element = part("span", { className: "rise" }, this.again, this.bar);
  }

  /** @returns {any[]} */
  get stops() {
    return this.model.stops ?? [];
  }

  // A new message: at another step the token sets out.
  receive() {
    const { view, places } = this.model;
    const { message } = view;
    const followed = message.model?.stack;
    this.model.stops = followed ? stopsOf(places, places.stack(followed)) : [];
    this.element.hidden = !followed || !message.model?.parts;
    this.bar.max = String(this.stops.length);
    const { position, token } = message.model ?? {};
    const step = [message.about.checkpoint, message.about.text, followed, position, token].join();
    if (this.shown === step) return;
    const first = !this.shown;
    this.shown = step;
    if (first || stillMotion() || !SPEEDS[this.speed]) this.stop(this.stops.length);
    else this.begin();
  }

  begin() {
    cancelAnimationFrame(this.frame);
    const speed = SPEEDS[this.speed] || 1;
    const all = Math.max(WHOLE_MS, LEAST_MS * this.stops.length) / speed;
    const start = performance.now();
    const rise = (now) => {
      if (!this.model.canvas.isConnected) return;
      const along = Math.min(1, Math.max(0, (now - start) / all)) * this.stops.length;
      this.frame = along < this.stops.length ? requestAnimationFrame(rise) : 0;
      this.show(along);
    };
    this.show(0);
    this.frame = requestAnimationFrame(rise);
  }

  stop(along) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.show(along);
  }

  // By hand.
  put(along) {
    this.stop(Math.max(0, Math.min(this.stops.length, along)));
  }

  step(by) {
    this.put(by > 0 ? Math.floor(this.along) + 1 : Math.ceil(this.along) - 1);
  }

  show(along) {
    this.along = along;
    this.bar.value = String(along);
    const stop = this.stops[Math.min(this.stops.length - 1, Math.floor(along))];
    const words = along >= this.stops.length ? "at the top" : stop ? inPart(stop) : "";
    this.bar.setAttribute("aria-valuetext", words);
    this.bar.title = words;
    const at = along >= this.stops.length ? null : stop?.part;
    if (at?.id !== this.told?.id) tell(this.model, at ?? this.model.focus);
    this.told = at;
    this.draw();
  }

  // Where the token is, for paint.js.
  picture(along = this.along) {
    const { stops } = this;
    const over = along >= stops.length;
    const stop = over ? null : stops[Math.floor(along)];
    const place = stop ? onWay(stop.way, along % 1) : (stops.at(-1)?.way.at(-1) ?? [0, 0]);
    return {
      along,
      stops,
      at: stop?.part ?? null,
      here: stop?.part.id,
      place: over ? [place[0], 0] : place,
      moving: Boolean(stop),
    };
  }
}

// The parts that a token goes through, with the way there, in the whole.
function stopsOf(places, stack) {
  const stops = [];
  const middle = stack.box[0] + (stack.block.mirrored ? 0.875 : 0.125) * stack.box[2];
  let from = [middle, 0.925];
  const first = places.parts.find(({ id }) => id === `${stack.id}.embedding`);
  const entry = [middle, stack.box[1] + stack.box[3]];
  stops.push({ part: first, way: [from, entry] });
  from = entry;
  stack.block.layers.forEach((_, layer) => {
    const node = places.layer(stack.id, layer);
    const ways = (role) => (node.block.wires ?? []).filter((wire) => wire.role === role);
    const [reads, adds] = [ways("reads"), ways("adds")];
    places
      .partsOf(node)
      .filter(({ type }) => type === "attention" || type === "feed_forward")
      .forEach((one, at) => {
        const points = [...reads[at].points, ...adds[at].points];
        const there = points.map(([x, y]) => inside(node.box, [x, y, 0, 0]).slice(0, 2));
        stops.push({ part: one, layer, way: [from, ...there] });
        [from] = there.slice(-1);
      });
  });
  return stops;
}

function onWay(way, part) {
  const lengths = way.slice(1).map(([x, y], at) => Math.hypot(x - way[at][0], y - way[at][1]));
  let left = part * lengths.reduce((sum, one) => sum + one, 0);
  for (const [at, length] of lengths.entries()) {
    if (left <= length || at === lengths.length - 1) {
      const by = length ? Math.min(1, left / length) : 0;
      return [0, 1].map((axis) => way[at][axis] + by * (way[at + 1][axis] - way[at][axis]));
    }
    left -= length;
  }
  return way.at(-1);
}

// The speed is kept for the visit, where a browser keeps anything.
function kept() {
  try {
    const found = sessionStorage.getItem(KEPT_SPEED);
    return found !== null && found in SPEEDS ? found : "normal";
  } catch {
    return "normal";
  }
}

function keep(name) {
  try {
    sessionStorage.setItem(KEPT_SPEED, name);
  } catch {
    // a page that may keep nothing starts at a normal pace each time
  }
}
