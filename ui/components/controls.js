// The step controls. Presses are counted here, and what is sent is the place they add up to and the candidates said on
// the way, so however fast they come, none is lost: Python answers with where it got to and the number of the request
// it answers.
export default function ({ data, parentElement, setStateValue }) {
  const bar = parentElement.querySelector(".controls");
  const state = (bar.state ??= {
    sent: data.answered, target: data.index, walk: data.walk, from: data.index, choices: [], playing: false, timer: 0,
  });
  const find = (name) => bar.querySelector(`[data-action="${name}"]`);
  const speed = bar.querySelector("input");
  if (data.large && !bar.classList.contains("large")) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  bar.classList.toggle("large", Boolean(data.large));
  bar.style.zoom = data.large && window.innerWidth > 700 ? Math.max(1, Math.min(1.6, window.innerWidth / 1000, window.innerHeight / 620)) : "";
  let { last } = data; // null until the end of the text has been found

  if (state.walk !== data.walk) { // another text: what is still under way counts from its start
    state.target -= state.from;
    for (const choice of state.choices) choice.at -= state.from;
    Object.assign(state, { walk: data.walk, from: 0 });
  } else state.from = data.index;
  state.choices = state.choices.filter((choice) => choice.number > data.answered);
  if (state.choices.length) last = null;
  if (data.answered >= state.sent) state.target = data.index; // nothing is under way: where Python says we are

  const show = () => {
    const at = state.playing ? data.index : state.target; // a press shows at once; while it plays, the number keeps to the picture
    bar.querySelector("output").textContent = last === null ? `step ${at}` : `step ${at} of ${last}`;
    find("last").title = `Last step (End)${last === null ? `: to the end of the text, at most ${data.farthest} steps further` : ""}`;
    find("first").disabled = find("back").disabled = state.target <= 0;
    find("step").disabled = find("last").disabled = last !== null && state.target >= last;
    find("play").setAttribute("aria-pressed", state.playing);
    find("play").setAttribute("aria-label", state.playing ? "Pause (P)" : "Play (P)");
    find("play").title = state.playing ? "Pause (P)" : "Play (P)";
  };
  const send = () => {
    state.sent += 1;
    setStateValue("move", {
      index: state.target, number: state.sent, walk: state.walk, from: state.from, choices: [...state.choices],
    });
    show();
  };
  const go = (target) => {
    target = Math.max(0, last === null ? target : Math.min(target, last));
    if (target === state.target) return;
    state.target = target;
    send();
  };
  const choose = (nth) => {
    state.choices.push({ number: state.sent + 1, at: state.target, nth });
    state.target += 1;
    last = null; // the text may now go on
    send();
  };
  const play = (on) => {
    clearTimeout(state.timer);
    state.playing = on;
    if (on) tick();
    show();
  };
  const tick = () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(() => {
      if (!bar.isConnected) return;
      if (bar.last !== null && state.target >= bar.last) return bar.play(false);
      if (bar.answered >= state.sent) bar.go(state.target + 1); // else the last step is still being drawn
      if (state.playing) tick();
    }, 1000 / speed.valueAsNumber);
  };
  const darken = () => {
    const black = document.body.appendChild(Object.assign(document.createElement("div"), { className: "heads-up-black" }));
    black.style.cssText = "position: fixed; inset: 0; background: #000; z-index: 1000000";
    black.onclick = () => black.remove();
  };
  // timers outlive a redraw, so they look these up anew
  Object.assign(bar, { last, answered: data.answered, go, play });

  const actions = {
    first: () => go(0), back: () => go(state.target - 1), step: () => go(state.target + 1), last: () => go(1e6),
    play: () => play(!state.playing),
  };
  for (const name in actions) find(name).onclick = () => { if (name !== "play") play(false); actions[name](); };
  find("copy").onclick = async () => {
    if (!(await copied(window.location.href, bar))) return; // it stands there, selected, to be copied by hand
    find("copy").lastChild.textContent = "Copied";
    setTimeout(() => { find("copy").lastChild.textContent = "Copy link"; }, 2500);
  };
  speed.oninput = () => { bar.querySelector(".speed output").textContent = `${speed.value}/s`; };

  const keys = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", p: "play", P: "play",
    ...(data.large && { PageDown: "step", " ": "step", PageUp: "back" }) }; // as presenter remotes send them
  const native = "input, textarea, select, canvas, [contenteditable], [role=slider], [role=tab], [role=radio], [role=option], [role=combobox], [role=listbox], [role=menu]";
  const onkeydown = (event) => {
    const at = event.composedPath()[0];
    if (event.key === "Enter" && (at.matches?.("input[type=text]") || (at.matches?.("textarea") && (event.ctrlKey || event.metaKey))))
      queueMicrotask(() => at.blur()); // the text is sent, and the next key already steps
    if (!bar.isConnected || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || at.closest?.(native)) return;
    if (event.key === " " && at.closest?.("button, a, summary")) return; // which it presses
    const black = document.querySelector(".heads-up-black");
    if (black || (data.large && event.key === ".")) { // any key brings the picture back
      event.preventDefault();
      event.stopPropagation();
      if (black) black.remove(); else darken();
    } else if (event.key in keys) {
      event.preventDefault();
      if (keys[event.key] !== "play") play(false);
      actions[keys[event.key]]();
    } else if (/^[0-9]$/.test(event.key)) {
      play(false);
      choose((Number(event.key) + 9) % 10); // 1 is the likeliest, 0 the tenth
    }
  };
  // the tokens, the text so far and the beam search keep in sight what is predicted now, however long they are
  const follow = () => {
    state.following = 0;
    for (const token of document.querySelectorAll(".chips .predicted")) {
      const row = token.parentElement, at = `${token.dataset.position} ${row.scrollHeight}`;
      if (row.followed !== at) row.scrollTop = token.offsetTop - row.offsetTop - row.clientHeight / 2;
      row.followed = at;
    }
    for (const code of document.querySelectorAll("[class*=st-key-][class*=_so_far] pre")) {
      const box = [code, code.parentElement, code.parentElement?.parentElement].find((box) => box && box.scrollHeight > box.clientHeight + 1);
      if (box && code.followed !== code.textContent) box.scrollTop = box.scrollHeight;
      code.followed = code.textContent;
    }
    for (const mark of document.querySelectorAll(".beam-here")) {
      const box = document.querySelector("[class*=_beam_box]"), to = mark.dataset.across * box?.scrollWidth, room = 90;
      if (box && mark.followed !== to) box.scrollLeft = Math.max(to + room - box.clientWidth, Math.min(to - room, box.scrollLeft));
      mark.followed = to;
    }
  };
  window.headsUpFollow?.disconnect();
  window.headsUpFollow = new MutationObserver(() => { state.following ||= requestAnimationFrame(follow); });
  const page = document.querySelector("[data-testid=stMain]");
  if (page) window.headsUpFollow.observe(page, { childList: true, subtree: true, characterData: true });
  follow();

  window.headsUpKeys?.abort(); // one listener, whatever was mounted before
  window.headsUpKeys = new AbortController();
  document.addEventListener("keydown", onkeydown, { signal: window.headsUpKeys.signal });
  document.addEventListener("click", (event) => { // a candidate on a projector
    const row = event.target.closest?.("[data-nth]");
    if (row && bar.isConnected) { play(false); choose(Number(row.dataset.nth)); }
  }, { signal: window.headsUpKeys.signal });
  // what a mouse has chosen among does not keep the arrow keys; reached by keyboard (detail is 0) it does
  // seen when the button goes down: a tab's content may move it away before the button is up
  document.addEventListener("pointerdown", (event) => {
    state.pressed = event.composedPath()[0].closest?.("[role=radio], [role=tab], canvas");
  }, { capture: true, signal: window.headsUpKeys.signal });
  document.addEventListener("click", (event) => {
    if (event.detail && (state.pressed || event.composedPath()[0].closest?.("[role=radio]"))) setTimeout(() => document.activeElement?.blur(), 0);
  }, { capture: true, signal: window.headsUpKeys.signal });
  if (last !== null && state.target >= last && state.playing) play(false);
  show();
}

// Puts a text on the clipboard. Only https and localhost have the clipboard of now; over plain http, which is what a class
// has, the old command still copies what is selected in a field, which is left standing where even that is refused.
async function copied(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* there is none, or it is not allowed */ }
  const field = document.createElement("input");
  Object.assign(field, { className: "link", value: text, readOnly: true, ariaLabel: "The link, to copy by hand" });
  beside.append(field);
  field.focus();
  field.select();
  const done = document.execCommand("copy");
  if (done) field.remove();
  else field.onblur = () => field.remove();
  return done;
}
