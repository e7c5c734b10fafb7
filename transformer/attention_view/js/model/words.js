// The parts of a model in words: what they are called, what goes in and out, and what they do to the token followed.
import { say } from "#view/page/elements.js";
import { allChanges, changedText } from "#view/model/parts/changed.js";
import { shapesOf, shareText } from "#view/model/paint/paint.js";
import { carriedOf, headEffect, headNorm, mostSeen, partEffect } from "#view/model/parts/numbers.js";
import { levelOf } from "#view/model/parts/places.js";
import { groupOf, kindName } from "#view/text/names.js";
import { plain, weightText } from "#view/text/numbers.js";
import { rowsOf } from "#view/attention/scores.js";
import { stageOf } from "#view/attention/stages.js";
import { visible } from "#view/text/tokens.js";
import { onPhone } from "#view/page/window.js";
/** @import { ModelMessage } from "#view/message/fields.js" */

const size = (value) => plain(Number(value.toPrecision(3))).replace("-", "−");
const withSign = (value) => `${value < 0 ? "−" : "+"}${size(Math.abs(value))}`;

const OF_SUM = "of the sum"; // what a norm is of, in a layer that normalises sums
const HOW_NEARER = "Zoom in with the wheel, two fingers, a double click or +."; // on the screen, not in a file

// {name, sentence} of a node, at any level, with what was changed in it.
export function describe(model, node) {
  const { message } = model.view;
  const { name, sentence } = asItIs(model, node);
  const changed = node.type === "model" ? allChanges(message) : changedText(message, node);
  return { name, sentence: changed ? `${sentence} ${changed}` : sentence };
}

function asItIs(model, node) {
  const { lengths } = model;
  const { block } = node;
  const takes = `${shapesOf(block, lengths)}; ${shareText(block)}`;
  if (node.type === "model") return { name: "Model", sentence: wholeSentence(model, block) };
  if (node.type === "stack") {
    const count = block.layers.length;
    const layers = `${count} ${count === 1 ? "layer" : "layers"}`;
    return { name: block.name, sentence: `${block.name}: ${layers}, each adds to the residual stream; ${takes}.` };
  }
  if (node.type === "layer") {
    const name = `Layer ${node.layer}`;
    const parts = model.places.partsOf(node).filter(({ type }) => ["attention", "feed_forward"].includes(type));
    const names = parts.map((one) => one.block.name).join(", then ");
    return { name, sentence: `${name} of the ${node.kind}: ${names}; ${takes}.` };
  }
  if (node.type === "head")
    return {
      name: `${kindName(node.kind)}, layer ${node.layer}, head ${node.head}`,
      sentence: headSentence(model, node),
    };
  if (node.type === "cell") return { name: pairName(model, node), sentence: cellSentence(model, node) };
  if (node.type === "number") {
    const sentence = numberSentence(model, node);
    return { name: `q[${node.feature}]`, sentence };
  }
  if (node.type === "stream") return { name: "residual stream", sentence: streamSentence(model, node) };
  if (node.type === "product") return { name: "product", sentence: productSentence(model, node) };
  return { name: block.name, sentence: partSentence(model, node) };
}

function wholeSentence({ view, places }, { note, parameters = 0 }) {
  const count = parameters.toLocaleString("en");
  const pool = places.parts.find(({ type }) => type === "pool");
  const followed =
    pool && view.message.model?.parts
      ? ` One token is followed, in orange; the class is read from all: ${pool.block.name}.`
      : "";
  return `The whole model: ${note}, ${count} parameters.${followed}`;
}

// What runs up beside the layers, at one height.
function streamSentence({ view, places }, { kind, at }) {
  const { message } = view;
  const carried = carriedOf(message, kind);
  const what = "The residual stream: each token's vector on its way up. Every part reads it and adds to it.";
  if (!carried) return what;
  const whose = carried.mean ? "on average it is" : `that of ${visible(message.model.token)} is`;
  const part = carried.parts[at];
  const [layer, name] = part.split(".");
  const by = name && places.partsOf(places.layer(kind, Number(layer))).find(({ id }) => id.endsWith(`.${name}`));
  const where = by ? `after ${by.block.name} of layer ${layer}` : "before the first layer";
  return `${what} The band is as wide as the vector is long: ${where} ${whose} ${size(carried.norms[at])} long.`;
}

const infoFor = ({ view }, { kind }) => view.message.kinds[kind];
const queryOf = (model, node) => visible(infoFor(model, node).queries[node.pair[0]]);
const pairName = (model, node) => `${queryOf(model, node)} → ${visible(infoFor(model, node).keys[node.pair[1]])}`;

function headSentence({ view, tokens, lengths }, node) {
  const { message } = view;
  const { block } = node;
  const { heads } = block;
  const name = `${kindName(node.kind)}, layer ${node.layer}, head ${node.head}`;
  const rows = shapesOf(block, lengths);
  const memory = `${lengths.S} × ${block.takes[1].toLocaleString("en")}`;
  const reads =
    node.kind === "cross"
      ? `its queries come from ${rows}, its keys and values from the memory, ${memory}`
      : `reads ${rows}`;
  const words = [`${name}: ${reads}; ${heads.width} numbers for each query and key`];
  if (heads.groups < heads.count)
    words.push(
      `shares keys and values (key-value head ${groupOf({ heads: heads.count, groups: heads.groups }, node.head).at})`,
    );
  const most = mostSeen(message, node);
  if (most) {
    const token = tokens[node.kind === "decoder" ? "decoder" : "encoder"]?.[most.at];
    const where = token === undefined ? `token ${most.place}, which is not drawn` : visible(token);
    words.push(`${visible(message.model.token)} looks most at ${where} (${weightText(most.weight, 3)})`);
  }
  return `${words.join("; ")}. ${adds(message, headNorm(message, node), headEffect(message, node), node.kind)}`;
}

// What something adds to the vector of the token followed, and to the logit of what comes next.
/** @param {ModelMessage} message */
function adds(message, norm, effect, kind) {
  const followed = (kind === "encoder" ? "encoder" : "decoder") === message.model?.stack;
  const words = [];
  const pooled = message.model?.stack === "encoder";
  if (norm !== null && norm !== undefined) {
    const whose = followed ? `the vector of ${visible(message.model.token)}` : "a token's vector";
    words.push(`${followed ? "It adds" : "On average it adds"} a vector of length ${size(norm)} to ${whose}`);
  }
  if (effect !== null && effect !== undefined) {
    const logit = `the logit of ${visible(message.model.effectOf)}`;
    const over = pooled ? "over all tokens, " : "";
    words.push(`${over}${withSign(effect)} directly to ${logit}; effects through later layers are not counted`);
  }
  return words.length ? `${words.join(pooled ? "; " : ", and ")}.` : "";
}

function cellSentence(model, node) {
  const info = infoFor(model, node);
  const [query, key] = node.pair;
  const both = `The query of ${visible(info.queries[query])} times the key of ${visible(info.keys[key])}`;
  const weight = seenWeight(model, node);
  const given = weight === null ? "" : ` The weight is ${weightText(weight, 4)}.`;
  return `${both}: ${node.block.heads.width} products, added up and scaled, make the score.${given}`;
}

// The weight of a cell of the head that is looked at; null of another, whose numbers are not here.
function seenWeight({ view }, { kind, layer, head, pair: [query, key] }) {
  const { message, selection } = view;
  if (selection.kind !== kind || selection.layer !== layer || selection.head !== head) return null;
  const { weights } = stageOf(message, { ...selection, of: "head", stage: "weights" });
  return weights ? weights[query * message.kinds[kind].keys.length + key] : null;
}

// One product of the many that a number of a query is made of.
function productSentence({ view }, { at }) {
  const { arrays } = view.message;
  const [weight, number] = [arrays["number/weights"]?.[at], arrays["number/row"]?.[at]];
  if (weight === undefined) return "";
  return `Number ${at} of the vector: weight ${size(weight)} × ${size(number)} = ${size(weight * number)}.`;
}

function numberSentence(model, node) {
  const { width } = node.block.heads;
  const { message, selection } = model.view;
  const which = `Number ${node.feature} of the ${width} of the query of ${queryOf(model, node)}`;
  const rows = rowsOf(message, { ...selection, of: "head" });
  if (!rows) return `${which}.`;
  const [q, k] = [rows.q[node.pair[0] * width + node.feature], rows.k[node.pair[1] * width + node.feature]];
  const adds = `Multiplied by ${size(k)}, number ${node.feature} of the key, it adds ${size(q * k)} to q · k`;
  return `${which}: ${size(q)}. ${adds}. It comes from a column of W_q times the token's vector.`;
}

function partSentence(model, { type, block, kind, layer, id }) {
  const { message } = model.view;
  const capital = `${block.name[0].toUpperCase()}${block.name.slice(1)}`;
  const named = type === "sum" ? "Sum" : capital;
  const shapes = shapesOf(block, model.lengths);
  if (type === "tokens") return `${shapes} ${block.name}.`;
  const about = [block.note, block.formula, shapes, block.parameters && shareText(block)].filter(Boolean);
  const sentence = `${named}${layer === undefined ? "" : `, layer ${layer}`}: ${about.join("; ")}.`;
  const [stack, , name] = id.split(".");
  const carried = carriedOf(message, stack);
  if (!carried) return sentence;
  const part = name === undefined ? id.split(".")[1] : `${layer}.${name.replace(/_(sum|norm)$/, "")}`;
  const at = carried.parts.indexOf(part);
  if (at < 0) return sentence;
  const isPost = model.places
    .partsOf(model.places.layer(stack, layer ?? 0))
    .some(({ block: one }) => one.formula === OF_SUM);
  if (type === "sum" && isPost) return sentence; // the norm of it says how long it is then
  if (type === "sum" || (type === "norm" && block.formula === OF_SUM)) {
    const whose = carried.mean ? "a token's vector is on average" : `the vector of ${visible(message.model.token)} is`;
    return `${sentence} After it ${whose} ${size(carried.norms[at])} long.`;
  }
  const effect = ["attention", "feed_forward"].includes(type)
    ? partEffect(message, { type, kind, layer, block })
    : null;
  return `${sentence} ${adds(message, carried.added[at], effect, stack)}`;
}

// The part that a token is in, for the bar.
export const inPart = ({ part, layer }) =>
  layer === undefined ? part.block.name : `layer ${layer}, ${part.block.name}`;

// A sentence for a screen reader, without the signs of tokens.
export const heard = (sentence) => sentence.replace(/\u2068␣\u2069/gu, "space").replace(/[\u2068\u2069␣]/gu, "");

// What the pointer or the keyboard is on, else what fills the picture.
export function tell(model, node) {
  const { message, selection } = model.view;
  const whose = node ?? model.path[levelOf(selection)];
  const { sentence } = describe(model, whose);
  const { why } = message.model ?? {};
  const more = model.view.large ? [] : [whose.type === "model" && !onPhone() && HOW_NEARER, !node && why];
  say(model.words, [sentence, ...more].filter(Boolean).join(" "));
}
