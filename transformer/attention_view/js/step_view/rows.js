// The tokens that are read and written, a row for each side, and the text they make.
import { app } from "#view/page/app.js";
import { part } from "#view/page/elements.js";
import { thousands } from "#view/text/numbers.js";
import { termLabel } from "#view/page/terms.js";
import { visible } from "#view/text/tokens.js";
import { weightsOf } from "#view/attention/weights.js";
import { infoOf } from "#view/attention/selection.js";

const BEFORE = 300; // tokens in a row
const AFTER = 100;
const END = 48; // px of the sign of the end, which need not be in sight

export function drawRows({ parts, data }) {
  const rows = data.rows.map((row) => rowOf(row, data.hide));
  if (data.text) rows.push(textOf(data));
  const before = scrolls(parts.rows);
  parts.rows.replaceChildren(...rows);
  for (const row of parts.rows.querySelectorAll(".tokens")) {
    row.scrollLeft = before[row.getAttribute("aria-label")] ?? 0;
    keepInSight(row);
  }
}

// What the keyboard could not scroll otherwise is reached by it: asked once the layout is known.
export function letKeyboardScroll(rows) {
  for (const one of rows.querySelectorAll(".tokens, .output")) {
    if (scrollable(one)) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}

// Whether what is written is longer than its row, and has to be read elsewhere.
export function spills(rows) {
  const written = rows.querySelector("[data-part=target] .tokens");
  return Boolean(written) && written.scrollWidth - written.clientWidth > END;
}

const scrollable = (one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight;

const scrolls = (rows) =>
  Object.fromEntries(
    [...rows.querySelectorAll(".tokens")].map((row) => [row.getAttribute("aria-label"), row.scrollLeft]),
  );

function rowOf(row, hide) {
  const tokens = hide && row.predicted !== undefined ? row.tokens.slice(0, row.predicted) : row.tokens;
  const most = row.added && Math.max(...row.added.map(Math.abs));
  const [from, until] = rowSpan(tokens.length, row.predicted);
  const chips = tokens.slice(from, until).map((token, at) => chip({ ...row, most }, token, from + at));
  if (from) chips.unshift(part("em", { textContent: `… ${thousands(from)} before` }));
  if (until < tokens.length) chips.push(part("em", { textContent: `${thousands(tokens.length - until)} more …` }));
  const list = part("div", { className: "tokens", role: "group", ariaLabel: row.name }, ...chips);
  const element = part(
    "div",
    { className: row.wraps ? "row wraps" : "row" },
    part("h2", {}, row.label === "Tokens" ? termLabel("token", "Tokens") : row.label),
    list,
  );
  element.dataset.part = row.part;
  return element;
}

// Which of many tokens stand in their row: those round the one predicted, or the first.
export function rowSpan(count, predicted = 0) {
  const from = Math.max(0, Math.min(predicted - BEFORE, count - BEFORE - AFTER));
  return [from, Math.min(count, from + BEFORE + AFTER)];
}

function chip(row, token, at) {
  const { added, unknown, predicted, picked } = row;
  const kinds = {
    unknown: unknown?.includes(at),
    predicted: at === predicted,
    picked: picked?.includes(at),
    later: predicted !== undefined && at > predicted,
  };
  const hints = [`position ${at}`];
  if (kinds.predicted) hints.push("the next token");
  if (kinds.unknown) hints.push("not in the vocabulary: the model sees only that something is here");
  if (kinds.picked) hints.push("you chose it");
  if (added) hints.push(`adds ${added[at].toFixed(4)} to the score of ${row.adds_to}`);
  const bdi = part("bdi", { textContent: visible(token, Infinity).slice(1, -1) });
  const text = app().terms[token] ? explained(token, bdi) : bdi;
  const element = part("span", { title: hints.join(", ") }, text);
  element.className = Object.keys(kinds)
    .filter((name) => kinds[name])
    .join(" ");
  element.dataset.position = at;
  if (kinds.predicted) element.ariaCurrent = "step";
  if (added) {
    element.style.setProperty("--weight", (Math.abs(added[at]) / (row.most || 1)).toFixed(3));
    element.classList.toggle("against", added[at] < 0);
  }
  return element;
}

// A token that is a term itself, such as the end of a text.
function explained(token, bdi) {
  const dressed = termLabel(token);
  dressed.replaceChildren(bdi);
  return dressed;
}

// Shades the tokens by what the newest query gives them in the head looked at, where they are its keys.
export function shadeRows({ parts, data, message }) {
  const { view } = parts.picture;
  const part = { cross: "source", decoder: "target" }[view.selection.kind];
  const { keys, queries, whole, first = [0, 0] } = infoOf(view);
  const weights = weightsOf(message, view.selection);
  const newest = weights?.subarray((queries.length - 1) * keys.length);
  for (const row of data.rows) {
    const chips = parts.rows.querySelectorAll(`[data-part=${row.part}] .tokens > span`);
    if (row.added || !message.newest) continue;
    const count = row.predicted ?? row.tokens.length;
    const shaded = newest && row.part === part && (whole?.[1] ?? keys.length) === count;
    for (const chip of chips) {
      const weight = shaded && Number(chip.dataset.position) < count ? newest[chip.dataset.position - first[1]] : null;
      // the square root, as in the pictures, so that small weights can be seen
      chip.style.setProperty("--weight", weight ? Math.sqrt(weight).toFixed(3) : 0);
      chip.dataset.weight = weight?.toFixed(3) ?? "";
    }
  }
}

function textOf({ text, hide }) {
  if (!text.label) return part("p", { className: "known", textContent: text.note });
  const written = part("bdi", { className: "written", textContent: text.written });
  const coming = part("bdi", { className: "coming", textContent: hide ? "" : text.coming });
  const said = part(
    "p",
    {
      className: "output",
      title: text.lines ? text.label : `${text.label}: ${written.textContent}${coming.textContent}`,
      role: "group",
      ariaLabel: text.label,
    },
    written,
    coming,
  );
  const line = part("div", { className: text.lines ? "text lines" : "text" }, said);
  if (text.lines) requestAnimationFrame(() => said.scrollTo(0, said.scrollHeight));
  if (text.note) line.append(part("p", { className: "reference", textContent: text.note }));
  return line;
}

// What people wrote for the same text, or null.
export function referenceOf({ text, hide }) {
  if (!text?.reference || hide) return null;
  const { label, note, texts, more } = text.reference;
  const title = [note, ...texts].join("\n");
  const bdi = part("bdi", { textContent: texts[0] });
  return part("p", { className: "reference", title }, `${label}: `, bdi, more ? ` (and ${more} more)` : "");
}

// The predicted token, or in a long source nothing: a reader scrolls that.
function keepInSight(list) {
  const to = list.querySelector(".predicted") ?? (list.querySelector(".later") ? null : undefined);
  if (!to) return;
  list.scrollTop = to.offsetTop - list.offsetTop - list.clientHeight / 2; // where they stand in several lines
  const [from, until] = [to.offsetLeft - list.offsetLeft, to.offsetLeft - list.offsetLeft + to.offsetWidth];
  if (from < list.scrollLeft || until > list.scrollLeft + list.clientWidth)
    list.scrollLeft = from - list.clientWidth / 2;
}
