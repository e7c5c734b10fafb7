// Lets node import a style as an empty text, and a JSON file as the bundle does, by name alone:
// `node --import ./tests/js/styles.js --test ...`.
import { register } from "node:module";

const LOADER = `import { readFile } from "node:fs/promises";
const module = (source) => ({ format: "module", shortCircuit: true, source: "export default " + source });
export const load = async (url, context, next) =>
  url.endsWith(".css") ? module("''") : url.endsWith(".json") ? module(await readFile(new URL(url), "utf8"))
  : next(url, context);`;
register(`data:text/javascript,${encodeURIComponent(LOADER)}`);
