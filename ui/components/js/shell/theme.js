// What is drawn in the server's colours is drawn again where light turns to dark under it, as evening comes.
const EVERY = 700; // ms

const schemeOf = () => {
  const app = document.querySelector(".stApp");
  return app && getComputedStyle(app).colorScheme;
};

export function watchTheme(signal, changed) {
  const timer = setInterval(() => {
    const now = schemeOf();
    const before = window.headsUpScheme; // there, because a theme that changes mounts everything anew
    window.headsUpScheme = now ?? before;
    if (before && now && now !== before) changed(now);
  }, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
}
