// Every figure of the page in one zip: our own views give their files, other charts are taken as they are drawn.
import { app } from "#view/page/app.js";
import { themeOf } from "#view/drawing/colours.js";
import { keepFile } from "#view/page/elements.js";
import { blobOf } from "#view/export/figures/png.js";
import { fileName } from "#view/text/names.js";
import { PLOTLY, VEGA } from "#view/page/streamlit.js";

const LONGEST = 80; // characters of a name

async function pageFigures() {
  const shelf = [...app().figures];
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

// Charts that other scripts have drawn on a page, as files of their own.

const SVG = "http://www.w3.org/2000/svg";
const svgFile = (svg) => new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
const seen = (element) => element.getClientRects().length > 0;

// Plotly draws several pictures over each other; here they are one.
function plotlyPicture(plot) {
  const { width, height } = plot.getBoundingClientRect();
  const whole = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
    whole.setAttribute(name, value);
  }
  const paper = plot.querySelector(".main-svg")?.style.background;
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  ground.setAttribute("fill", paper && !/(, 0\)|transparent)$/.test(paper) ? paper : pageColour(plot));
  whole.append(ground, ...[...plot.querySelectorAll(".main-svg")].map((svg) => svg.cloneNode(true)));
  return svgFile(whole);
}

// Of the nearest element that has one.
function pageColour(element) {
  for (let one = element; one; one = one.parentElement) {
    const { backgroundColor } = getComputedStyle(one);
    if (!/(, 0\)|transparent)$/.test(backgroundColor)) return backgroundColor;
  }
  return themeOf(false).page;
}

const vegaPicture = (drawn) => (drawn.localName === "canvas" ? blobOf(drawn) : svgFile(drawn));

// [name, Blob] of every chart in sight.
async function chartFiles() {
  const plots = [...document.querySelectorAll(PLOTLY)].filter(seen);
  const vega = [...document.querySelectorAll(`${VEGA} :is(canvas, svg.marks)`)].filter(seen);
  const title = (plot) => plot.querySelector(".gtitle")?.textContent ?? "chart";
  const drawn = [
    ...plots.map(async (plot) => [`${title(plot)}.svg`, plotlyPicture(plot)]),
    ...vega.map(async (one) => [`chart.${one.localName === "canvas" ? "png" : "svg"}`, await vegaPicture(one)]),
  ];
  return Promise.all(drawn);
}

// Files in one zip; the same files give the same bytes.

const PACKED = /\.(png|gif|webm|mp4|zip)$/; // smaller they do not get
const EPOCH = "1980-01-01T00:00:00"; // where the clock of a zip begins

// A second file of a name gets a number.
export function distinct(names) {
  const taken = new Set();
  return names.map((name) => {
    const [, stem, ending] = name.match(/^(.*?)(\.\w+)?$/s);
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${stem}-${n}${ending ?? ""}`;
    taken.add(free);
    return free;
  });
}

// files: {name: Blob}. Gives a Blob.
export async function zipped(files) {
  const { zipSync } = await import("#view/vendor/fflate/fflate.js");
  const entries = Object.entries(files).map(async ([name, blob]) => {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return [name, [bytes, { level: PACKED.test(name) ? 0 : 6, mtime: EPOCH }]];
  });
  return new Blob([zipSync(Object.fromEntries(await Promise.all(entries)))], { type: "application/zip" });
}
