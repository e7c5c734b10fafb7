// Everybody in the room, as a lecturer sees them: a task, what was handed in, texts to let through, and the phones.
import { part } from "#view/elements.js";
import { lookedAt } from "./found.js";
import { moderation } from "./moderation.js";
import { button, named, ownKeys } from "./parts.js";

export function peoplePart(desk) {
  const { state } = desk;
  lookedAt(state, "tiles");
  return part(
    "div",
    { className: "people" },
    part("h2", { textContent: "A task, and what was found" }),
    taskLine(desk),
    tiles(desk),
    ...(state.moderate ? [part("h2", { textContent: "What they wrote" }), moderation(desk)] : []),
    ...(state.asked.length ? [part("h2", { textContent: "Asked so far" }), askedSoFar(desk)] : []),
    part("h2", { textContent: state.devices.length === 1 ? "1 phone" : `${state.devices.length} phones` }),
    devices(desk),
  );
}

function taskLine({ state, act }) {
  const task = part("input", {
    className: "task",
    value: state.task,
    maxLength: 300,
    placeholder: "Find a head that looks at the verb",
    ariaLabel: "A task for everybody",
  });
  const give = named(
    button(state.task ? "Change the task" : "Set the task", () => {
      task.blur();
      return act("task", { task: task.value });
    }),
    "task",
  );
  ownKeys(task).addEventListener("keydown", ({ key }) => key === "Enter" && give.click());
  const line = part("div", { className: "line task-line" }, task, give);
  if (state.task)
    line.append(
      named(
        button("Remove the task", () => act("task", { task: "" })),
        "no task",
      ),
    );
  return line;
}

function tiles({ state, act }) {
  if (!state.tiles.length) return part("p", { className: "none", textContent: "Nobody has handed in a view yet." });
  const list = state.tiles.map(({ id, number, title, params, note, shown }) => {
    const place = [
      params.step && `step ${params.step}`,
      params.kind,
      params.layer && params.head && `layer ${params.layer}, head ${params.head}`,
    ];
    return part(
      "li",
      { className: shown ? "shown" : "" },
      part("b", { textContent: [title, ...place.filter(Boolean)].join(", ") }),
      part("q", { textContent: params.text ?? "" }),
      part("p", { textContent: note }),
      part("small", { textContent: `phone ${number + 1}` }),
      named(
        button("Open on the wall", () => act("tile", { id })),
        `tile ${id}`,
      ),
      named(
        button("Remove", () => act("drop tile", { id })),
        `drop ${id}`,
      ),
    );
  });
  return part("ul", { className: "tiles" }, ...list);
}

function askedSoFar({ state, act }) {
  const list = state.asked.map(({ id, number, ask }) => {
    const again = named(
      button("Bring it back", () => act("back to", { question: id })),
      `back ${id}`,
    );
    return part("li", {}, `${number}. ${ask} `, ...(state.question?.id === id ? [] : [again]));
  });
  return part("ul", { className: "asked" }, ...list);
}

function devices(desk) {
  const { state, act } = desk;
  const list = state.devices.map(({ number, here, out }) => {
    const way = button(out ? "Let back in" : "Remove this phone", () => act("out", { number, on: !out }));
    const where = out ? ", removed" : here ? "" : ", away";
    return part("li", {}, `phone ${number + 1}${where} `, named(way, `out ${number}`));
  });
  const all = part("details", { open: Boolean(desk.listed) });
  all.append(named(part("summary", { textContent: "All phones" }), "phones"), part("ul", {}, ...list));
  all.ontoggle = () => {
    desk.listed = all.open;
  };
  return all;
}
