// Every figure of the page in one zip: our own views give their files, other charts are taken as they are drawn.
import { keepFile } from "#view/elements.js";
import { chartFiles } from "#view/figures/charts.js";
import { distinct, zipped } from "#view/figures/zip.js";
import { fileName } from "#view/names.js";

const LONGEST = 80; // characters of a name

export async function pageFigures() {
  const shelf = [...(window.headsUpFigures ?? [])];
  const views = shelf.filter(({ root }) => root.isConnected && root.getClientRects().length);
  const files = (await Promise.all([...views.map((view) => view.files()), chartFiles()])).flat();
  const names = distinct(files.map(([name]) => tidy(name)));
  return Object.fromEntries(files.map(([, blob], i) => [names[i], blob]));
}

function tidy(name) {
  const [, stem, ending] = name.match(/^(.*?)(\.\w+)?$/s);
  return `${fileName(stem).slice(0, LONGEST)}${ending ?? ""}`;
}

export async function keepPageFigures() {
  const files = await pageFigures();
  if (!Object.keys(files).length) throw new Error("There is no figure on this page.");
  const page = window.location.pathname.split("/").at(-1) || "home";
  keepFile(await zipped(files), `headsup-${fileName(page)}.zip`);
}
