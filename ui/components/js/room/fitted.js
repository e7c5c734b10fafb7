// A screen that nobody scrolls: the largest type at which all that stands on it can be seen. Everything there is sized
// in em, so one size decides; many rows of results stand in two columns where that makes them larger.
const LARGEST = 0.075; // of the screen's height
const LEAST = 0.02;
const SMALLEST = 14; // px
const FINE = 0.5; // px
const LARGE_ENOUGH = 0.04; // of the height, above which one column stays
const WORTH_IT = 1.1; // how much larger two columns have to be

export function keepFitted(screen) {
  fit(screen);
  if (screen.fitted) return;
  screen.fitted = new ResizeObserver(() => fit(screen));
  screen.fitted.observe(screen);
  document.fonts.ready.then(() => screen.fitted && fit(screen));
}

// As large as its style says.
export function leaveFitted(screen) {
  screen.fitted?.disconnect();
  screen.fitted = null;
  screen.style.fontSize = "";
}

function fit(screen) {
  const height = screen.clientHeight;
  if (!height) return;
  screen.classList.remove("columns");
  const one = largest(screen, height);
  if (one >= LARGE_ENOUGH * height) return;
  screen.classList.add("columns");
  if (largest(screen, height) >= WORTH_IT * one) return;
  screen.classList.remove("columns");
  screen.style.fontSize = `${one}px`;
}

// Leaves the screen at the size that it returns; the least where nothing fits.
function largest(screen, height) {
  let [fitting, tooLarge] = [Math.max(SMALLEST, LEAST * height), LARGEST * height];
  if (fits(screen, tooLarge)) return tooLarge;
  while (tooLarge - fitting > FINE) {
    const middle = (fitting + tooLarge) / 2;
    if (fits(screen, middle)) fitting = middle;
    else tooLarge = middle;
  }
  screen.style.fontSize = `${fitting}px`;
  return fitting;
}

function fits(screen, size) {
  screen.style.fontSize = `${size}px`;
  return screen.scrollHeight <= screen.clientHeight && screen.scrollWidth <= screen.clientWidth;
}
