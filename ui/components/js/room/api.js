// What is asked of a room: what it is at since the last change that was seen, for as long as anybody listens; and what is
// sent to it. An event that is missed costs nothing: the next answer says all there is.
import { unpack } from "#view/message.js";

const PAUSES = [500, 1000, 2000, 4000]; // ms, after answers that did not come
const SPREAD = 0.5; // of a pause, so that a class does not come back at the same moment

export const addressOf = (code, name) => new URL(`${base()}r/${code}/${name}`, document.baseURI).href;

// Pages of phones lie a level deeper.
const base = () => (/\/r\/[^/]*$/.test(window.location.pathname) ? "../" : "./");

export async function ask(code, name) {
  return answered(await fetch(addressOf(code, name), { cache: "no-store" }));
}

export async function send(code, name, content = {}) {
  const headers = { "Content-Type": "application/json" };
  return answered(await fetch(addressOf(code, name), { method: "POST", headers, body: JSON.stringify(content) }));
}

async function answered(response) {
  const content = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (response.ok) return content;
  throw Object.assign(new Error(content.error ?? "The server does not answer as it should."), {
    status: response.status,
  });
}

// Follows a room until `signal` ends it. query: (last state) -> the parameters of the next request; read: an answer ->
// what it says; told: {state, lost, refused}, one of them at a time.
export async function follow(code, { name = "state", query, read, told, signal }) {
  let state = null;
  let failed = 0;
  while (!signal.aborted) {
    try {
      const answer = await fetch(addressOf(code, `${name}?${new URLSearchParams(query(state))}`), {
        cache: "no-store",
        signal,
      });
      if (answer.status === 403 || answer.status === 404 || answer.status === 409) {
        told.refused((await answer.json().catch(() => ({}))).error ?? "", answer.status);
        if (answer.status === 404) return;
        throw new Error("refused");
      }
      if (!answer.ok) throw new Error(String(answer.status));
      failed = 0;
      if (answer.status === 204) told.state(state, state);
      else {
        const before = state;
        state = await read(answer, before);
        told.state(state, before);
      }
    } catch (error) {
      if (signal.aborted) return;
      told.lost(error, failed);
      const pause = PAUSES[Math.min(failed, PAUSES.length - 1)];
      failed += 1;
      await rest(pause * (1 - SPREAD * Math.random()), signal);
    }
  }
}

// A while, or less: where the network comes back, or the page is looked at again.
function rest(ms, signal) {
  return new Promise((resolve) => {
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

// What a phone is sent: all that the room is told, and the picture of what is shown, which stays until another comes.
export async function readPacked(answer, before) {
  const { arrays, shapes, made, ...state } = unpack(new Uint8Array(await answer.arrayBuffer()));
  if (!arrays.picture) return { ...state, drawing: before?.drawing };
  return { ...state, drawing: arrays.picture.length ? unpack(arrays.picture) : null };
}
