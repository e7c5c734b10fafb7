// Put before the scripts of every page: `settled()` says whether the page shows what was last asked of its script.
//
// Streamlit marks its page as running only once the server has said that it runs, and a busy server says so late. So
// the messages themselves are looked at: between a rerun asked for and the end of a run that began after it, nothing is
// settled. FIELDS, put before this file, are the numbers of Streamlit's messages.
//
// One run never begins: what a fragment asks for that is gone by then, as the front page does where it plays while
// another page comes. Streamlit drops that without a word.
/* global FIELDS */
(() => {
  const DROPPED_MS = 20_000; // of this page's time, since a rerun was asked for: a server that is there has begun it
  let asked = false; // a rerun, of the connection opened last: when
  let begun = false; // a run, since then
  let idleSince;

  // The field of a forward message that is set, and its number where it is one. Before it stand at most two others, the
  // hash and the metadata, each with its length.
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

  // What the page does a moment from now: short timers that have not come to an end.
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
    // Its script may come after the run that asked for it has ended, and may have nothing to draw: then it says it ran.
    const drawn = ({ shadowRoot, dataset }) => {
      const root = shadowRoot?.querySelector("div > div > *");
      const ran = root?.childElementCount > 0 || "ran" in dataset;
      return root && ran && !shadowRoot.querySelector(".attention-view:empty, .stage:empty");
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

  // For 300 ms of this page's own time, or sooner where nothing waits: some widgets ask a moment after a key. What has
  // come is drawn with the next frames, which a busy machine draws late, and a page that nobody sees never.
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
