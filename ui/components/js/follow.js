// The tokens and the beam search keep in sight what is predicted now, however long they are.
const ROOM = 90; // px beside the beam's place

export function keepInSight(signal) {
  let frame = 0;
  const observer = new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      follow();
    });
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  signal.addEventListener("abort", () => observer.disconnect());
  follow();
}

function follow() {
  for (const token of document.querySelectorAll(".chips .predicted")) toToken(token);
  for (const mark of document.querySelectorAll(".beam-here")) toPlace(mark);
}

// Each moves once for a place, so that a reader may scroll away.
function toToken(token) {
  const row = token.parentElement;
  const at = `${token.dataset.position} ${row.scrollHeight}`;
  if (row.followed !== at) row.scrollTop = token.offsetTop - row.offsetTop - row.clientHeight / 2;
  row.followed = at;
}

function toPlace(mark) {
  const box = document.querySelector("[class*=_beam_box]");
  const to = mark.dataset.across * box?.scrollWidth;
  if (box && mark.followed !== to) {
    box.scrollLeft = Math.max(to + ROOM - box.clientWidth, Math.min(to - ROOM, box.scrollLeft));
  }
  mark.followed = to;
}
