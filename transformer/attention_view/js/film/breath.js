// Lets the page do what waits, clicks among it. A timer would be held up in a tab that is not in sight.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

export const breath = () =>
  new Promise((go) => {
    waiting.push(go);
    channel.port2.postMessage(null);
  });
