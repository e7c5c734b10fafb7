// What is drawn in the server's colours is drawn again where light turns to dark under it, as evening comes. What
// stands outside the app, a box that drops down or a dialog, is told which of the two it is.
const EVERY = 700; // ms
const SOON = 50; // ms after the system has changed: the page follows it

const schemeOf = () => {
  const app = document.querySelector(".stApp");
  return app && getComputedStyle(app).colorScheme;
};

export function watchTheme(signal, changed) {
  const look = () => {
    const now = schemeOf();
    const before = window.headsUpScheme; // there, because a theme that changes mounts everything anew
    window.headsUpScheme = now ?? before;
    if (now) document.documentElement.style.colorScheme = now;
    if (before && now && now !== before) changed(now);
  };
  const timer = setInterval(look, EVERY);
  look();
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => setTimeout(look, SOON), { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}
