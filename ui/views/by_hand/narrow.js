// Reports once that the window is as narrow as a phone's.
const NARROW = 700; // px

export default function component({ parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("span");
  if (root.reported) return;
  root.reported = true;
  if (window.innerWidth <= NARROW) setTriggerValue("narrow", true);
}
