// One answer on its way: the last one that was given, sent until the room has it or refuses it.
import { refuses, send } from "./api.js";

const AGAIN = [500, 1000, 2000, 4000]; // ms between tries

const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// told({state, why, answer}): "going", "waiting" for a network, "sent" or "refused".
export function newOutbox(code, told) {
  const box = { code, told, next: null, going: null, failed: 0, timer: 0 };
  box.put = (answer) => {
    if (alike(answer, box.next ?? box.going)) return;
    box.next = answer;
    box.hurry();
  };
  // There is a network: what was tried without one counts for nothing.
  box.hurry = () => {
    clearTimeout(box.timer);
    const waited = box.failed;
    box.failed = 0;
    if (!box.going && box.next) sendNext(box);
    else if (box.going && waited) told({ state: "going", answer: box.going });
  };
  box.clear = () => {
    clearTimeout(box.timer);
    box.next = null;
  };
  window.addEventListener("online", box.hurry);
  return box;
}

async function sendNext(box) {
  const answer = box.next;
  Object.assign(box, { next: null, going: answer });
  if (!box.failed) box.told({ state: "going", answer });
  try {
    const { value } = await send(box.code, "answer", answer);
    Object.assign(box, { going: null, failed: 0 });
    if (!box.next) box.told({ state: "sent", answer: { ...answer, value } });
  } catch (error) {
    box.going = null;
    if (refuses(error)) {
      box.failed = 0;
      if (!box.next) box.told({ state: "refused", why: error.message, answer });
    } else {
      box.next ??= answer;
      box.timer = setTimeout(() => sendNext(box), AGAIN[Math.min(box.failed, AGAIN.length - 1)]);
      box.failed += 1;
      box.told({ state: "waiting", answer: box.next });
      return;
    }
  }
  if (box.next) sendNext(box);
}
