// What is asked of a room: what it is at since the last change that was seen, for as long as anybody listens; and what
// is sent to it. An event that is missed costs nothing: the next answer says all there is.
import { unpack } from "#view/message/message.js";

const PAUSES = [500, 1000, 2000, 4000]; // ms, after answers that did not come
const SPREAD = 0.5; // of a pause, so that a class does not come back at the same moment
const REFUSED = 10_000; // ms until somebody who is not let in asks again
const HANGS = 40_000; // ms, more than an answer may wait: nothing comes on a line that was cut
const STALE = 8_000; // ms after which a request may have been cut while the page was not looked at

export const addressOf = (code, name) => new URL(`${base()}r/${code}/${name}`, document.baseURI).href;

// Pages of phones lie a level deeper.
export const base = () => (/\/r\/[^/]*$/.test(window.location.pathname) ? "../" : "./");

export async function ask(code, name) {
  return answered(await fetch(addressOf(code, name), { cache: "no-store" }));
}

export async function send(code, name, content = {}) {
  const headers = { "Content-Type": "application/json" };
  return answered(await fetch(addressOf(code, name), { method: "POST", headers, body: JSON.stringify(content) }));
}

// Errors that the server answers with have its status, and 0 where there was no answer that could be read.
async function answered(response) {
  const content = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (response.ok) return content;
  throw Object.assign(new Error(content.error ?? "The server sent an answer that this page cannot read."), {
    status: response.status,
  });
}

// Whether a room refuses what was asked, which asking again does not change.
const refuses = ({ status }) => status === 403 || status === 404 || status === 409;

// Follows a room until `signal` ends it. query: (last state) -> the parameters of the next request; read: an answer ->
// what it says; handlers: {state, lost, refused}, one of them at a time.
export async function follow(code, { name = "state", query, read, handlers, signal }) {
  let state = null;
  let failed = 0;
  while (!signal.aborted) {
    const request = whileWanted(signal);
    try {
      const address = addressOf(code, `${name}?${new URLSearchParams(query(state))}`);
      const answer = await fetch(address, { cache: "no-store", signal: request.signal });
      if (refuses(answer)) {
        handlers.refused((await answer.json().catch(() => ({}))).error ?? "", answer.status);
        if (answer.status === 404) return;
        await rest(REFUSED * (1 - SPREAD * Math.random()), signal);
        continue;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const before = state;
      if (answer.status !== 204) state = await read(answer, before);
      failed = 0;
      handlers.state(state, before);
    } catch (error) {
      if (signal.aborted) return;
      if (request.again) continue;
      handlers.lost(error, failed);
      const pause = PAUSES[Math.min(failed, PAUSES.length - 1)];
      failed += 1;
      await rest(pause * (1 - SPREAD * Math.random()), signal);
    } finally {
      request.done();
    }
  }
}

// The signal of one request. It ends with `signal`, without a network, and when nothing has come for longer than any
// answer waits; and `again`, to be made anew, where the page is looked at after a while: a telephone cuts what sleeps.
function whileWanted(signal) {
  const ending = new AbortController();
  const listening = new AbortController();
  const begun = Date.now();
  const request = { signal: ending.signal, again: false };
  const end = () => ending.abort();
  const anew = () => {
    if (document.hidden || Date.now() - begun < STALE) return;
    request.again = true;
    end();
  };
  const timer = setTimeout(end, HANGS);
  request.done = () => {
    clearTimeout(timer);
    listening.abort();
  };
  signal.addEventListener("abort", end, { signal: listening.signal });
  window.addEventListener("offline", end, { signal: listening.signal });
  window.addEventListener("pageshow", anew, { signal: listening.signal });
  document.addEventListener("visibilitychange", anew, { signal: listening.signal });
  return request;
}

// A while, or less: where the network comes back, or the page is looked at again.
function rest(ms, signal) {
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    const listening = new AbortController();
    const done = () => {
      listening.abort();
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done, { signal: listening.signal });
    document.addEventListener("visibilitychange", () => document.hidden || done(), { signal: listening.signal });
    signal.addEventListener("abort", done, { signal: listening.signal });
  });
}

export const readJson = (answer) => answer.json();

// What a phone is sent: the state of the room, and the picture of what is shown, which stays until another comes.
// held: the revision of the picture that is here.
export async function readPacked(answer, before) {
  const { arrays, ...state } = unpack(new Uint8Array(await answer.arrayBuffer()));
  if (!arrays.picture) return { ...state, drawing: before?.drawing ?? null, held: before?.held ?? null };
  return { ...state, drawing: arrays.picture.length ? unpack(arrays.picture) : null, held: state.picture };
}

// One answer on its way: the last one that was given, sent until the room has it or refuses it.

const AGAIN = [500, 1000, 2000, 4000]; // ms between tries

const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// report({state, why, answer}): "going", "waiting" for a network, "sent" or "refused"; "forgotten": all.
export function newOutbox(code, report) {
  const box = { code, report, next: null, going: null, request: null, held: false, failed: 0, timer: 0 };
  box.put = (answer) => {
    if (!box.held && alike(answer, box.next ?? box.going)) return;
    box.next = answer;
    box.hurry();
  };
  // There is a network: what was tried without one counts for nothing.
  box.hurry = () => {
    clearTimeout(box.timer);
    const waited = box.failed;
    box.failed = 0;
    if (!box.going) sendNext(box);
    else if (waited) report({ state: "going", answer: box.going });
  };
  // Deletes what was answered here, also what is on its way: the room has it, or never gets it, before the deletion.
  // What is answered meanwhile is sent after it. Rejects where nothing could be deleted; then all goes on as before.
  box.forget = async () => {
    const before = [box.going, box.next];
    clearTimeout(box.timer);
    box.held = true;
    try {
      await box.request;
      await send(code, "forget");
      if (before.includes(box.next)) box.next = null;
      report({ state: "forgotten" });
    } finally {
      box.held = false;
      box.hurry();
    }
  };
  window.addEventListener("online", box.hurry);
  return box;
}

function sendNext(box) {
  if (box.next && !box.held) box.request = sendAnswer(box, box.next);
}

async function sendAnswer(box, answer) {
  Object.assign(box, { next: null, going: answer });
  if (!box.failed) box.report({ state: "going", answer });
  try {
    const { value } = await send(box.code, "answer", answer);
    Object.assign(box, { going: null, failed: 0 });
    if (!box.next) box.report({ state: "sent", answer: { ...answer, value } });
  } catch (error) {
    box.going = null;
    const refusal = /** @type {Error & {status: number}} */ (error);
    if (refuses(refusal)) {
      box.failed = 0;
      if (!box.next) box.report({ state: "refused", why: refusal.message, answer });
    } else {
      box.next ??= answer;
      if (!box.held) box.timer = setTimeout(() => sendNext(box), AGAIN[Math.min(box.failed, AGAIN.length - 1)]);
      box.failed += 1;
      box.report({ state: "waiting", answer: box.next });
      return;
    }
  }
  sendNext(box);
}
