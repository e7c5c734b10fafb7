// How much figures are enlarged while presenting (presentation.css): so that their smallest type is 4% of the window.
const SMALLEST = 13; // px, of any figure
const PART = 0.04;
const PHONE = 700; // px

export function keepEnlarged(signal) {
  const set = () => {
    const { innerWidth: width, innerHeight: height } = window;
    const by = width <= PHONE ? 1 : Math.max(1, (PART * Math.min(width, height)) / SMALLEST);
    document.documentElement.style.setProperty("--enlarged", by.toFixed(3));
  };
  window.addEventListener("resize", set, { signal });
  set();
}
