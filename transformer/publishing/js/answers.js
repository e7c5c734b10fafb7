// The side that computes, as the page sees it: a worker made of text in the file. `hear` is told what it answers, by
// name: unpacking(model), opened(model), picture({view, message, place}), failed(words).
const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}${/[.?!]$/.test(words) ? "" : "."}`;

export class Answers {
  // models: what the file says of each; hear: what is done with each answer.
  constructor(models, hear) {
    Object.assign(this, { hear, view: 0, runs: new Map(), number: 0 });
    this.address = URL.createObjectURL(
      new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }),
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

  // Has the worker hold a model: its bytes go there once, and leave the page.
  hand(model) {
    const element = document.getElementById(`model-${model}`);
    if (!element) return;
    this.tell("unpack", { model, text: element.textContent });
    element.remove();
  }

  tell(name, fields) {
    this.worker.postMessage({ tell: name, ...fields });
  }

  // Of what is on the page now.
  ask(name, fields) {
    this.tell(name, { view: this.view, ...fields });
  }

  show(model, asked) {
    this.view += 1;
    this.hand(model);
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
    this.hand(model);
    this.tell("run", { number, model, text, options });
    return new Promise((resolve, reject) => this.runs.set(number, { resolve, reject }));
  }

  take({ tell, ...data }) {
    const { hear } = this;
    if (data.number !== undefined) {
      const { resolve, reject } = this.runs.get(data.number);
      this.runs.delete(data.number);
      return tell === "error" ? reject(new Error(sentence(data.message))) : resolve(data.ran);
    }
    if (tell === "unpacking" || tell === "opened") return hear[tell](data.model);
    if (data.view !== this.view) return undefined; // of a text that has gone
    return tell === "error" ? hear.failed(sentence(data.message)) : hear.picture(data);
  }
}
