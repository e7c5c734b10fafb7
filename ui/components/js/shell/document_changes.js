// Calls back now, and in each frame in which anything in the document has changed.
export function whenDocumentChanges(signal, callback) {
  let frame = 0;
  const observer = new MutationObserver(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      callback();
    });
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  signal.addEventListener("abort", () => observer.disconnect());
  callback();
}
