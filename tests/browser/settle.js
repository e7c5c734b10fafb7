// Runs before the scripts of every page. `settled()` returns whether the page shows the result of its last rerun.
//
// Streamlit marks a page as running only when the server says so, and a busy server says it late. So this reads the
// messages themselves: the page is unsettled from a rerun request to the end of a run that began after it. FIELDS,
// defined before this file, are the field numbers of Streamlit's messages.
//
// Some requests start no run: Streamlit silently drops the rerun of a fragment that is gone, which happens when the
// front page plays while another page opens.
/* global FIELDS */
(() => {
  const DROPPED_MS = 20_000; // a live server begins a rerun within this time
  let asked = false; // when the last rerun was requested on the newest connection
  let begun = false; // whether a run has begun since
  let idleSince;

  // Returns which field of a forward message is set, and its value if that is a number. At most two other fields come
  // before it, the hash and the metadata, each with its length.
  const read = (bytes) => {
    let at = 0;
    const number = () => {
      let found = 0;
      let place = 1;
      let byte;
      do {
        byte = bytes[at++];
        found += (byte & 127) * place;
        place *= 128;
      } while (byte > 127);
      return found;
    };
    for (;;) {
      const field = number() >> 3;
      const value = number();
      if (field !== FIELDS.hash && field !== FIELDS.metadata) return [field, value];
      at += value;
    }
  };

  window.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      asked = begun = false;
      this.addEventListener("message", ({ data }) => {
        const [field, value] = read(new Uint8Array(data));
        if (field === FIELDS.new_session) begun = true;
        if (field === FIELDS.script_finished && begun && value !== FIELDS.early_for_rerun) asked = begun = false;
      });
    }

    send(data) {
      if (data[0] >> 3 === FIELDS.rerun_script) {
        asked = performance.now();
        begun = false;
      }
      super.send(data);
    }
  };

  // Short timers that are still pending: the page will do something in a moment.
  const SHORT_MS = 300;
  const waiting = new Set();
  const { setTimeout: later, clearTimeout: never } = window;
  window.setTimeout = (what, ms, ...args) => {
    const timer = later(
      (...given) => {
        waiting.delete(timer);
        if (typeof what === "function") what(...given);
      },
      ms,
      ...args,
    );
    if (ms > 0 && ms <= SHORT_MS) waiting.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => {
    waiting.delete(timer);
    never(timer);
  };

  const busy = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    // A component's script may arrive after the run has ended, and may draw nothing: `data-ran` says that it has run.
    const drawn = ({ shadowRoot, dataset }) => {
      const root = shadowRoot?.querySelector("div > div > *");
      const ran = root?.childElementCount > 0 || "ran" in dataset;
      return root && ran && !shadowRoot.querySelector(".attention-view:empty, .step-view:empty");
    };
    const components = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')];
    const dropped = asked && !begun && performance.now() - asked > DROPPED_MS;
    const running = ["running", "initial", "rerunRequested"].includes(app?.getAttribute("data-test-script-state"));
    const late = components.find((one) => !drawn(one));
    return (
      (asked && !dropped && `a rerun that was asked for has ${begun ? "begun" : "not begun"}`) ||
      (!app && "there is no app") ||
      (running && "the script runs") ||
      (late && `not drawn: ${late.closest('[class*="st-key-"]')?.className}`) ||
      document.querySelector('[data-testid="stSkeleton"], [data-testid="stSpinner"]')?.dataset.testid
    );
  };

  window.whyUnsettled = busy;

  // The page must stay idle for 60 ms, or 300 ms with timers pending, since some widgets request a rerun a moment after
  // a key; and for two frames, in which it draws what has come. A hidden page draws no frames, so 3 s are enough there.
  const HIDDEN_MS = 3_000;
  let frames = 0;
  const count = () => (frames++, idleSince === undefined || requestAnimationFrame(count));
  window.settled = (anew) => {
    if (anew || busy()) {
      idleSince = undefined;
      return false;
    }
    if (idleSince === undefined) {
      idleSince = performance.now();
      frames = 0;
      requestAnimationFrame(count);
    }
    const idle = performance.now() - idleSince;
    const still = (frames > 2 || idle > HIDDEN_MS) && idle > (waiting.size ? 300 : 60);
    if (still) idleSince = undefined;
    return still;
  };
})();
