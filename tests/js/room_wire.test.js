import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const listening = {};
const target = {
  addEventListener: (name, act) => ((listening[name] ??= []), listening[name].push(act)),
};
globalThis.window = { ...target, location: { pathname: "/lab/r/K7M4Q" } };
globalThis.document = { ...target, hidden: false, baseURI: "http://host/lab/r/K7M4Q" };
const { addressOf, follow } = await import("../../ui/components/js/room/connection.js");
const { newOutbox } = await import("../../ui/components/js/room/connection.js");

let sent = [];
let answers = [];
beforeEach(() => {
  sent = [];
  answers = [];
  globalThis.fetch = async (address, { body } = {}) => {
    sent.push(body ? JSON.parse(body) : address);
    const answer = await answers.shift();
    if (!answer) throw new TypeError("no network");
    const [status, content] = answer;
    return { status, ok: status < 300, json: async () => content };
  };
});

const one = (value) => ({ question: 1, round: 1, value, sure: null });

// Puts answers -> what is reported until one of them is in `until`.
function put(values, until = "sent") {
  return new Promise((resolve) => {
    const states = [];
    const box = newOutbox("K7M4Q", (report) => {
      states.push(report);
      if (report.state === until) resolve(states);
    });
    for (const value of values) box.put(one(value));
  });
}

test("addresses are of the room, however deep the app lies", () => {
  assert.equal(addressOf("K7M4Q", "answer"), "http://host/lab/r/K7M4Q/answer");
});

test("a double tap is one answer", async () => {
  answers = [[200, { value: 2 }]];
  const states = await put([2, 2]);
  assert.deepEqual(sent, [one(2)]);
  assert.equal(states.at(-1).answer.value, 2);
});

test("of answers that were changed on the way the last one counts", async () => {
  answers = [
    [200, { value: 1 }],
    [200, { value: 3 }],
  ];
  const states = await put([1, 2, 3]);
  assert.deepEqual(sent, [one(1), one(3)]);
  assert.deepEqual(
    states.map(({ state }) => state),
    ["going", "going", "sent"],
  );
});

test("an answer without a network waits and is sent once there is one", async () => {
  answers = [null, [200, { value: 1 }]];
  const waits = put([1]);
  await new Promise(setImmediate);
  for (const act of listening.online) act();
  const states = await waits;
  assert.deepEqual(
    states.map(({ state }) => state),
    ["going", "waiting", "going", "sent"],
  );
  assert.deepEqual(sent, [one(1), one(1)]);
});

test("once there is a network again nothing says that there is none, though a try was under way", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const pending = [];
  globalThis.fetch = () => new Promise((_, reject) => pending.push(() => reject(new TypeError("no network"))));
  const states = [];
  const box = newOutbox("K7M4Q", ({ state }) => states.push(state));
  const fail = async () => {
    pending.pop()();
    await new Promise(setImmediate);
  };
  box.put(one(1));
  for (const pause of [500, 1000, 2000, 4000]) {
    await fail();
    t.mock.timers.tick(pause);
  }
  assert.equal(states.at(-1), "waiting");
  box.hurry();
  assert.equal(states.at(-1), "going");
  await fail(); // what was tried before the network was there
  t.mock.timers.tick(500);
  assert.equal(pending.length, 1); // is tried again soon
});

// An outbox whose requests are answered by hand: `box`, the `states` that it reports, the names of its `requests`, and
// `answer`, which lets the oldest of them that is open come to that status, or fail.
function byHand() {
  const states = [];
  const requests = [];
  const open = [];
  globalThis.fetch = (address) => {
    requests.push(address.split("/").pop());
    return new Promise((resolve, reject) => open.push({ resolve, reject }));
  };
  const answer = async (status) => {
    const { resolve, reject } = open.shift();
    if (status) resolve({ status, ok: status < 300, json: async () => ({ value: null, error: "no" }) });
    else reject(new TypeError("no network"));
    await new Promise(setImmediate);
  };
  return { box: newOutbox("K7M4Q", ({ state }) => states.push(state)), states, requests, answer };
}

for (const [how, status] of [
  ["fails", 0],
  ["comes late", 200],
  ["is refused", 409],
])
  test(`what is deleted is not sent again where the request under way ${how}`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { box, states, requests, answer } = byHand();
    box.put(one(1));
    const deleted = box.forget();
    box.hurry();
    await new Promise(setImmediate);
    assert.deepEqual(requests, ["answer"]); // what is on its way comes before the deletion, or not at all
    await answer(status);
    box.hurry();
    assert.deepEqual(requests, ["answer", "forget"]);
    await answer(200);
    await deleted;
    assert.equal(states.at(-1), "forgotten");
    box.hurry();
    t.mock.timers.tick(10_000);
    assert.deepEqual(requests, ["answer", "forget"]);
  });

test("what waits for its next try is deleted too", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { box, requests, answer } = byHand();
  box.put(one(1));
  await answer(0);
  const deleted = box.forget();
  await new Promise(setImmediate);
  t.mock.timers.tick(10_000);
  await answer(200);
  await deleted;
  box.hurry();
  assert.deepEqual(requests, ["answer", "forget"]);
});

test("an answer that is given while the others are deleted is sent after that, the same one too", async () => {
  const { box, states, requests, answer } = byHand();
  box.put(one(1));
  const deleted = box.forget();
  box.put(one(1));
  await answer(0);
  await answer(200);
  await deleted;
  assert.deepEqual(requests, ["answer", "forget", "answer"]);
  await answer(200);
  assert.deepEqual(states.slice(-3), ["forgotten", "going", "sent"]);
});

test("where nothing could be deleted the answers go on as before", async () => {
  const { box, states, requests, answer } = byHand();
  box.put(one(1));
  const failed = assert.rejects(box.forget());
  await answer(0);
  await answer(0);
  await failed;
  assert.deepEqual(requests, ["answer", "forget", "answer"]);
  await answer(200);
  assert.equal(states.includes("forgotten"), false);
  assert.equal(states.at(-1), "sent");
});

test("what the room refuses is not sent again, and the reason is reported", async () => {
  answers = [[409, { error: "this question is not open any more" }]];
  const states = await put([1], "refused");
  assert.equal(states.at(-1).why, "this question is not open any more");
  assert.equal(sent.length, 1);
});

// Follows a room until it ends, or until so many calls.
function followed(until) {
  return new Promise((resolve) => {
    const said = [];
    const ending = new AbortController();
    const tell = (name, ...words) => {
      said.push([name, ...words]);
      if (said.length === until) ending.abort();
    };
    const handlers = {
      state: (state) => tell("state", state),
      lost: () => {
        tell("lost");
        queueMicrotask(() => listening.online?.forEach((act) => act()));
      },
      refused: (why, status) => tell("refused", why, status),
    };
    const query = (state) => ({ rev: state?.rev ?? "" });
    follow("K7M4Q", { query, read: (answer) => answer.json(), handlers, signal: ending.signal }).then(() =>
      resolve(said),
    );
  });
}

test("a room is followed from change to change, through lost networks, until it is gone", async () => {
  answers = [[200, { rev: 1 }], null, [204], [200, { rev: 2 }], [404, { error: "there is no such room" }]];
  const said = await followed(9);
  assert.deepEqual(said, [
    ["state", { rev: 1 }],
    ["lost"],
    ["state", { rev: 1 }],
    ["state", { rev: 2 }],
    ["refused", "there is no such room", 404],
  ]);
  assert.deepEqual(
    sent.map((address) => new URL(address).searchParams.get("rev")),
    ["", "1", "1", "1", "2"],
  );
});
