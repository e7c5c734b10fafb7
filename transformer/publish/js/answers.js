// The side that computes, as the page sees it: a worker made of text in the file. `hear` is told what it answers, by
// name: unpacking(model), opened(model), picture(view, message, place), failed(words).
const elementText = (id) => document.getElementById(id).textContent;

export class Answers {
  // models: what the file says of each; hear: what is done with each answer.
  constructor(models, hear) {
    Object.assign(this, { hear, view: 0, runs: new Map(), number: 0 });
    this.address = URL.createObjectURL(new Blob([elementText("worker")], { type: "text/javascript" }));
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = ({ message }) => {
      hear.failed(message ? `The model stopped: ${message}. Load the page again.` : "The model did not start.");
    };
    this.tell("models", { packed: models.map((page, at) => ({ page, text: elementText(`model-${at}`) })) });
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
    this.ask("show", { model, asked });
  }

  // A promise of what a worker makes of a text for a script.
  run(model, text, options) {
    const number = ++this.number;
    this.tell("run", { number, model, text, options });
    return new Promise((resolve, reject) => this.runs.set(number, { resolve, reject }));
  }

  take({ tell, ...data }) {
    const { hear } = this;
    if (data.number !== undefined) {
      const { resolve, reject } = this.runs.get(data.number);
      this.runs.delete(data.number);
      return tell === "error" ? reject(new Error(data.message)) : resolve(data.ran);
    }
    if (tell === "unpacking" || tell === "opened") return hear[tell](data.model);
    if (data.view !== this.view) return undefined; // of a text that has gone
    return tell === "error" ? hear.failed(data.message) : hear.picture(data);
  }
}
