// The side that computes, as the page sees it: a worker made of text in the file. `hear` is told what it answers, by
// name: unpacking(model, share), opened(model), picture({view, message, place}), failed(words).
const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}${/[.?!]$/.test(words) ? "" : "."}`;

export class Answers {
  // models: what the file says of each; hear: what is done with each answer.
  constructor(models, hear) {
    this.models = models;
    this.hear = hear;
    this.view = 0;
    /** @type {Map<number, {resolve: (ran: any) => void, reject: (error: Error) => void}>} */
    this.runs = new Map();
    this.number = 0;
    /** @type {Promise<void>[]} */
    this.handed = [];
    this.shown = Promise.resolve();
    this.address = URL.createObjectURL(
      new Blob([/** @type {HTMLElement} */ (document.getElementById("worker")).textContent], {
        type: "text/javascript",
      }),
    );
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = ({ message }) => {
      const why = message ? ` (${message})` : "";
      const words = `The model has stopped${why}. Load the page again, or in a newer browser.`;
      this.stopped = new Error(words);
      for (const { reject } of this.runs.values()) reject(this.stopped);
      this.runs.clear();
      hear.failed(words);
    };
    this.tell("models", { pages: models });
  }

  // Has the worker hold a model: its parts go there once, as the page comes to them, and leave the page. A promise that
  // it has all that there is.
  hand(model) {
    return (this.handed[model] ??= this.#handParts(model));
  }

  async #handParts(model) {
    const { bytes } = this.models[model];
    for (let sent = 0, end = false; sent < bytes && !end;) {
      end = document.readyState !== "loading";
      for (const part of document.querySelectorAll(`script[data-model="${model}"]`)) {
        if (!end && !part.nextElementSibling) break; // it may not be whole yet
        sent += Math.floor((part.textContent.length * 7) / 8);
        this.tell("part", { model, text: part.textContent });
        part.remove();
      }
      this.hear.unpacking(model, sent / bytes);
      if (sent < bytes && !end) await morePage();
    }
    this.tell("unpack", { model });
  }

  tell(name, fields) {
    this.worker.postMessage({ tell: name, ...fields });
  }

  // Of what is on the page now, once the worker has its model.
  ask(name, fields) {
    const { view } = this;
    this.shown.then(() => view === this.view && this.tell(name, { view, ...fields }));
  }

  show(model, asked) {
    this.view += 1;
    this.shown = this.hand(model);
    this.ask("show", { model, asked });
  }

  // Nothing is on the page: what is still on its way is of no use.
  leave() {
    this.view += 1;
    this.ask("leave", {});
  }

  // A promise of what a worker makes of a text for a script.
  run(model, text, options) {
    if (this.stopped) return Promise.reject(this.stopped);
    const number = ++this.number;
    this.hand(model).then(() => this.tell("run", { number, model, text, options }));
    return new Promise((resolve, reject) => this.runs.set(number, { resolve, reject }));
  }

  take({ tell, ...data }) {
    const { hear } = this;
    if (data.number !== undefined) {
      const run = this.runs.get(data.number);
      this.runs.delete(data.number);
      return tell === "error" ? run?.reject(new Error(sentence(data.message))) : run?.resolve(data.ran);
    }
    if (tell === "opened") return hear.opened(data.model);
    if (data.view !== this.view) return undefined; // of a text that has gone
    return tell === "error" ? hear.failed(sentence(data.message)) : hear.picture(data);
  }
}

// A promise that the browser has read more of the page.
function morePage() {
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    const done = () => {
      watch.disconnect();
      document.removeEventListener("DOMContentLoaded", done);
      resolve();
    };
    const watch = new MutationObserver(done);
    watch.observe(document.body, { childList: true });
    document.addEventListener("DOMContentLoaded", done);
  });
}
