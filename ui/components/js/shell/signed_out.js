// Where people sign in, a connection ends when they have signed out, and Streamlit asks again, as after every lost one.
// It is told to sign in first, and would show an error: the page is loaded anew instead, which leads to the way in.
const ASKED = "/_stcore/host-config";
const UNKNOWN = 401;

export function leaveWhenSignedOut(signal) {
  const observer = new PerformanceObserver((list) => {
    const refused = ({ name, responseStatus }) => name.endsWith(ASKED) && responseStatus === UNKNOWN;
    if (list.getEntries().some(refused)) window.location.reload();
  });
  observer.observe({ type: "resource" });
  signal.addEventListener("abort", () => observer.disconnect());
}
