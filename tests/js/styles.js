// Lets node import a style as an empty text: `node --import ./tests/js/styles.js --test ...`.
import { register } from "node:module";

const LOADER = `export const load = async (url, context, next) =>
  url.endsWith(".css") ? { format: "module", shortCircuit: true, source: "export default ''" } : next(url, context);`;
register(`data:text/javascript,${encodeURIComponent(LOADER)}`);
