// Charts that other scripts have drawn on a page, as files of their own.
import { blobOf } from "#view/figures/png.js";

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
  return "#ffffff";
}

const vegaPicture = (drawn) => (drawn.localName === "canvas" ? blobOf(drawn) : svgFile(drawn));

// [name, Blob] of every chart in sight.
export async function chartFiles() {
  const plots = [...document.querySelectorAll(".js-plotly-plot")].filter(seen);
  const vega = [...document.querySelectorAll(".vega-embed :is(canvas, svg.marks)")].filter(seen);
  const title = (plot) => plot.querySelector(".gtitle")?.textContent ?? "chart";
  const drawn = [
    ...plots.map(async (plot) => [`${title(plot)}.svg`, plotlyPicture(plot)]),
    ...vega.map(async (one) => [`chart.${one.localName === "canvas" ? "png" : "svg"}`, await vegaPicture(one)]),
  ];
  return Promise.all(drawn);
}
