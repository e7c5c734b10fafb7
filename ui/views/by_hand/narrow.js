// Tells once that the window is as narrow as a telephone's.
const NARROW = 700; // px

export default function component({ parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("span");
  if (root.told) return;
  root.told = true;
  if (window.innerWidth <= NARROW) setTriggerValue("narrow", true);
}
