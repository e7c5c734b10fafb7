// A style sheet is imported as its text.
declare module "*.css" {
  const text: string;
  export default text;
}

interface Window {
  headsUpViews?: import("./app.js").App;
  headsup?: object; // of a published file: see transformer/publishing/js/page/run.js
}
